// To whom an alert is told: the first route that matches its labels, and those after it while `go_on` is set.
// A route may hold only at certain hours; outside them it matches nothing, and what still fires when they
// begin is told then.
//
// Thread-safety: const methods, any thread.
#ifndef FLEETMARK_COLLECTOR_ALERT_ALERT_ROUTES_H_
#define FLEETMARK_COLLECTOR_ALERT_ALERT_ROUTES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "fleetmark/v1/alert.pb.h"

namespace fleetmark::collector {

// Hours that come again: of each day given, from `begin` for `length`, in a time zone.
struct WeeklyHours {
  std::vector<int> days;  // 0 is Monday; empty: every day
  absl::Duration begin;   // since midnight by the wall clock there
  absl::Duration length;
  absl::TimeZone zone = absl::UTCTimeZone();

  // Does it hold at this time? Hours that a change of the clock leaves out, or doubles, are as the wall clock
  // there shows them.
  bool Holds(absl::Time time) const;
};

// `days` as "mon" … "sun"; `at` as "HH:MM"; `zone` an IANA name, empty for UTC. InvalidArgument says which.
absl::StatusOr<WeeklyHours> MakeWeeklyHours(const std::vector<std::string>& days, const std::string& at,
                                            absl::Duration length, const std::string& zone);

struct AlertRoute {
  std::string name;                          // for people
  std::map<std::string, std::string> match;  // labels; values may hold * and ?
  std::vector<WeeklyHours> hours;            // any of them; empty: always
  std::vector<std::string> receivers;        // none: it is told to nobody
  absl::Duration escalate_after;             // zero: never
  std::vector<std::string> escalate_to;
  bool go_on = false;  // the routes after it are tried too
};

struct RoutedAlert {
  std::vector<std::string> routes;     // their names
  std::vector<std::string> receivers;  // each once
  absl::Duration escalate_after;       // the shortest; zero: never
  std::vector<std::string> escalate_to;
};

RoutedAlert RouteAlert(const std::vector<AlertRoute>& routes,
                       const std::map<std::string, std::string>& labels, absl::Time now);

// Whether every label of `match` is there with a value that matches its pattern.
bool MatchesLabels(const std::map<std::string, std::string>& match,
                   const std::map<std::string, std::string>& labels);

// Whether the silence holds at this time.
bool SilenceHolds(const v1::Silence& silence, absl::Time now);
// InvalidArgument names the field.
absl::Status CheckSilence(const v1::Silence& silence);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ALERT_ALERT_ROUTES_H_
