// Values as people read them.
//
// Thread-safety: functions without state. Times are shown in UTC.
#ifndef FLEETMARK_CLI_OUTPUT_FORMAT_H_
#define FLEETMARK_CLI_OUTPUT_FORMAT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

#include "fleetmark/v1/alert.pb.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::cli {

// Four significant digits: "12.34", "1234", "0.00012", "1.2e+16".
std::string FormatNumber(double value);

// The shortest text that reads back as the same double.
std::string FormatExact(double value);

// "+3.1 %", "-12.0 %".
std::string FormatChange(double fraction);

// "12.3 s", "2 m 10 s", "3 h 5 m".
std::string FormatSeconds(double seconds);

// "1.5 GiB".
std::string FormatHumanBytes(uint64_t bytes);

// "3 m ago", "in 2 h", "now"; "never" for 0.
std::string FormatAge(int64_t unix_ns, absl::Time now);

// RFC 3339 to the second; "" for 0.
std::string FormatTime(int64_t unix_ns);

// `device=gpu0,kernel=triad`.
std::string FormatLabels(const std::map<std::string, std::string>& labels);
template <typename ProtoMap>
std::string FormatLabels(const ProtoMap& labels) {
  return FormatLabels(std::map<std::string, std::string>(labels.begin(), labels.end()));
}

// `name{device=gpu0}`.
std::string FormatMetric(const v1::Metric& metric);

// "ok", "failed", …: the enumerator's name without its prefix, in lower case.
std::string NameOf(v1::Outcome outcome);
std::string NameOf(v1::Trigger trigger);
std::string NameOf(v1::NodeState state);
std::string NameOf(v1::Finding::Kind kind);
std::string NameOf(v1::Finding::Direction direction);
std::string NameOf(v1::Finding::State state);
std::string NameOf(v1::Event::Kind kind);
std::string NameOf(v1::AlertLife::State state);
std::string NameOf(v1::AlertClass alert_class);
std::string NameOf(v1::AlertSeverity severity);
std::string NameOf(v1::AlertChange::Kind kind);

// One character a value, from low to high; at most `columns`, neighbours then share one (their median).
// Empty for no values.
std::string Sparkline(const std::vector<double>& values, size_t columns);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_OUTPUT_FORMAT_H_
