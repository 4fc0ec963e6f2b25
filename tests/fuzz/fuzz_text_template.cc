// Templates of messages: any text is refused or can be rendered.
#include <cstddef>
#include <cstdint>
#include <string>

#include "collector/notify/text_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto parsed = fleetmark::collector::TextTemplate::Parse(text);
  if (parsed.ok()) (void)parsed->Render(fleetmark::v1::Notice(), absl::UnixEpoch());
  return 0;
}
