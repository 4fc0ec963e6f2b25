// Any bytes as the GPU probe's answer.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "agent/gpu/gpu_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> lines = absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  const auto gpus = fleetmark::agent::ParseProbe(lines);
  if (gpus.ok() && gpus->size() > lines.size()) abort();
  return 0;
}
