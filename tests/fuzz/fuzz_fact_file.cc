// Any bytes as a file with facts: read or refused, and what is read keeps the rules of facts.
#include <cstdint>
#include <cstdlib>

#include "agent/facts/fact_file.h"
#include "common/model/labels.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto facts = fleetmark::agent::ParseFactFile({reinterpret_cast<const char*>(data), size});
  if (!facts.ok()) return 0;
  for (const auto& [key, value] : *facts) {
    if (key.empty() || key.size() > 100 || !fleetmark::IsValidUtf8(value)) abort();
  }
  return 0;
}
