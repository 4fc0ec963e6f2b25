// Any text is a manifest or an error, and the parameters of a manifest that is taken resolve to something
// within the limits.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/model/limits.h"
#include "common/plugin/manifest.h"
#include "common/plugin/params.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = fleetmark::ParseManifest(text, "fuzz");
  if (!manifest.ok()) {
    if (manifest.status().message().empty()) abort();
    return 0;
  }
  if (manifest->command.empty()) abort();
  const auto params = fleetmark::ResolveParams(*manifest, manifest->self_check.params_json);
  if (!params.ok()) return 0;
  if (params->json.size() > fleetmark::limits::kParamsJsonBytes) abort();
  // What was resolved once resolves to itself.
  const auto again = fleetmark::ResolveParams(*manifest, params->json);
  if (!again.ok() || again->digest != params->digest) abort();
  return 0;
}
