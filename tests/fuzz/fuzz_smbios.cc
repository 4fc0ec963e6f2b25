// Any bytes as the firmware's table.
#include <cstdint>
#include <cstdlib>

#include "agent/facts/smbios.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto modules = fleetmark::agent::ReadMemoryModules({reinterpret_cast<const char*>(data), size});
  if (modules.count > modules.slots) abort();
  return 0;
}
