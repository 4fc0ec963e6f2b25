// Numbers as Prometheus writes them.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_PROMQL_NUMBER_TEXT_H_
#define FLEETMARK_COLLECTOR_PROMQL_NUMBER_TEXT_H_

#include <cstdint>
#include <string>

namespace fleetmark::collector::promql {

// The shortest text that reads back as the same number, without an exponent: Go's FormatFloat(v, 'f', -1,
// 64).
std::string PlainNumber(double value);

// The same with an exponent where it is below 1e-6 or from 1e21 on, as the JSON answers have it.
std::string JsonNumber(double value);

// Milliseconds as seconds, with three decimals where there are any.
std::string SecondsText(int64_t ms);

// "1h30m", as Prometheus prints durations; "0s" for none.
std::string DurationText(int64_t ms);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_NUMBER_TEXT_H_
