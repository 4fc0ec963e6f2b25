// Any text is either refused with InvalidArgument or gives times that only go forward.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/schedule/cron.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fleetmark::agent::Cron;
  static const absl::TimeZone zone = [] {
    absl::TimeZone new_york;
    return absl::LoadTimeZone("America/New_York", &new_york) ? new_york : absl::UTCTimeZone();
  }();
  const auto cron = Cron::Parse(std::string_view(reinterpret_cast<const char*>(data), size), zone);
  if (!cron.ok()) {
    if (!absl::IsInvalidArgument(cron.status())) std::abort();
    return 0;
  }
  absl::Time time = absl::FromUnixSeconds(1'741'500'000);  // just before daylight saving begins
  for (int i = 0; i < 8 && time < absl::InfiniteFuture(); ++i) {
    const absl::Time next = cron->NextAfter(time);
    if (next <= time) std::abort();
    time = next;
  }
  return 0;
}
