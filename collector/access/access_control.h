// The one place that lets a request of a person in, over HTTP and gRPC: who is it, how often did they come,
// may they do that; and that tells what was done and what was refused.
//
// Thread-safety: any thread. Ownership: `people`, `clock` and `metrics` must outlive it.
// Errors of Admit: Unauthenticated (show who you are), PermissionDenied (you may not), ResourceExhausted (too
// often), Unavailable (who you are can't be found out now). Their words are for the caller and hold nothing
// that only the operator should know.
#ifndef FLEETMARK_COLLECTOR_ACCESS_ACCESS_CONTROL_H_
#define FLEETMARK_COLLECTOR_ACCESS_ACCESS_CONTROL_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/access/access_rules.h"
#include "collector/access/people.h"
#include "collector/access/rate_limiter.h"
#include "common/base/clock.h"

namespace fleetmark {
class Metrics;
class Counter;
}  // namespace fleetmark

namespace fleetmark::collector {

// Something that was done or refused.
struct AccessEvent {
  Person person;
  std::string address;
  std::string action;   // "POST /api/fleetmark/v1/silences", "/fleetmark.v1.FleetService/RunNow"
  absl::Status status;  // how it ended
  std::string reason;   // of a refusal, for the operator
  bool refused = false;
};

class AccessControl {
 public:
  struct Options {
    const People* people = nullptr;
    Clock* clock = nullptr;
    Metrics* metrics = nullptr;
    double requests_per_second = 0;  // of each person, or address where nobody is asked; 0: no bound
    std::function<void(const AccessEvent&)> on_event;
  };
  explicit AccessControl(Options options);

  // May the caller do what `rule` (null: there is none) is about? `action` is what they ask for.
  absl::StatusOr<Person> Admit(const Caller& caller, const AccessRule* rule, const std::string& action);

  // Tells that what was admitted is refused after all, with `status`, which it returns.
  absl::Status Refuse(const Person& person, const Caller& caller, const std::string& action,
                      const absl::Status& status, const std::string& reason);

  // To be called when what was admitted has ended.
  void Ended(const Person& person, const Caller& caller, const AccessRule& rule, const std::string& action,
             const absl::Status& status);

  // Of what goes on for long: may the caller, who was admitted, still? Counts as no request.
  bool StillMay(const Caller& caller, const AccessRule& rule) const;

  const People& people() const { return *options_.people; }

 private:
  absl::Status Check(const Caller& caller, const AccessRule* rule, const std::string& action, Person* person,
                     std::string* reason);

  const Options options_;
  RateLimiter requests_;
  RateLimiter strangers_;  // attempts that showed nothing good, by address
  RateLimiter refusals_;   // that are told, by address
  RateLimiter records_;    // of Effect::kRecords, by person
  Counter& refused_;
  Counter& untold_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACCESS_ACCESS_CONTROL_H_
