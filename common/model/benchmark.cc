#include "common/model/benchmark.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/model/labels.h"
#include "common/model/limits.h"

namespace fleetmark {
namespace {

constexpr int kMaxDevices = 64;

absl::Status CheckSeconds(std::string_view what, double seconds, absl::Duration longest) {
  if (seconds >= 0 && seconds <= absl::ToDoubleSeconds(longest)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(std::string(what), ": must be from 0 to ",
                                                 absl::ToInt64Seconds(longest), " s, not ", seconds));
}

}  // namespace

absl::Status CheckDevice(std::string_view device) {
  const bool good = absl::StartsWith(absl::string_view(device.data(), device.size()), "gpu") &&
                    device.size() > 3 && device.size() <= 6 &&
                    device.find_first_not_of("0123456789", 3) == std::string_view::npos;
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", std::string(device.substr(0, limits::kNameBytes)),
                                                 "' is no GPU's name, such as gpu0"));
}

absl::Status CheckBenchmark(const v1::Benchmark& b) {
  FM_RETURN_IF_ERROR(CheckBenchmarkName("benchmark name", b.name()));
  FM_RETURN_IF_ERROR(CheckIdentifier("plugin name", b.plugin()));
  if (!b.suite().empty()) FM_RETURN_IF_ERROR(CheckBenchmarkName("suite name", b.suite()));
  FM_RETURN_IF_ERROR(CheckSeconds("timeout", b.timeout_seconds(), kLongestTimeout));
  FM_RETURN_IF_ERROR(CheckSeconds("splay", b.splay_seconds(), absl::Hours(24 * 366)));
  if (b.devices_size() > kMaxDevices) {
    return absl::InvalidArgumentError(absl::StrCat("devices: at most ", kMaxDevices));
  }
  for (const std::string& device : b.devices()) FM_RETURN_IF_ERROR(CheckDevice(device));
  return absl::OkStatus();
}

}  // namespace fleetmark
