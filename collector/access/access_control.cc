#include "collector/access/access_control.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

constexpr double kBurstSeconds = 10;        // of requests that may come at once after a rest
constexpr double kStrangersPerSecond = 5;   // of one address; guessing is hopeless anyway, this saves work
constexpr double kRefusalsPerSecond = 0.2;  // that are told of one address; the others are counted
constexpr double kRefusalsAtOnce = 20;
constexpr double kRecordsPerSecond = 1.0 / 3600;

std::string KeyOf(const Person& person, const Caller& caller) {
  return person.name.empty() ? caller.address : absl::StrCat(person.means, "\n", person.name);
}

}  // namespace

AccessControl::AccessControl(Options options)
    : options_(std::move(options)),
      requests_({.per_second = options_.requests_per_second,
                 .at_once = options_.requests_per_second * kBurstSeconds + 1},
                *options_.clock),
      strangers_({.per_second = options_.requests_per_second > 0 ? kStrangersPerSecond : 0,
                  .at_once = kStrangersPerSecond * kBurstSeconds},
                 *options_.clock),
      refusals_({.per_second = kRefusalsPerSecond, .at_once = kRefusalsAtOnce}, *options_.clock),
      records_({.per_second = kRecordsPerSecond, .at_once = 1}, *options_.clock),
      refused_(options_.metrics->AddCounter("fleetmark_access_refused_total",
                                            "Requests of people that were refused")),
      untold_(options_.metrics->AddCounter("fleetmark_access_refused_untold_total",
                                           "Refusals beyond those of one address that are recorded")) {}

absl::Status AccessControl::Check(const Caller& caller, const AccessRule* rule, const std::string& action,
                                  Person* person, std::string* reason) {
  if (rule == nullptr) {
    *reason = "there is no rule for it";
    return absl::PermissionDeniedError(absl::StrCat(action, " is not open to anybody"));
  }
  if (rule->least == Role::kNobody) return absl::OkStatus();
  absl::StatusOr<Person> found = options_.people->Identify(caller, reason);
  if (!found.ok()) {
    if (strangers_.Take(caller.address)) return found.status();
    *reason = "too many attempts";
    return absl::ResourceExhaustedError("too many attempts without a good token; wait some seconds");
  }
  *person = *std::move(found);
  if (!requests_.Take(KeyOf(*person, caller))) {
    *reason = "too many requests";
    return absl::ResourceExhaustedError("too many requests; wait some seconds");
  }
  if ((person->areas & rule->area) == 0) {
    *reason = absl::StrCat("the token is for ", AreasText(person->areas));
    return absl::PermissionDeniedError(
        absl::StrCat("your token is for ", AreasText(person->areas), ", not for ", AreasText(rule->area)));
  }
  if (person->role < rule->least) {
    *reason = absl::StrCat("it needs ", RoleName(rule->least));
    return absl::PermissionDeniedError(
        absl::StrCat("you are ", RoleName(person->role), "; this needs ", RoleName(rule->least)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Person> AccessControl::Admit(const Caller& caller, const AccessRule* rule,
                                            const std::string& action) {
  Person person;
  std::string reason;
  const absl::Status status = Check(caller, rule, action, &person, &reason);
  if (status.ok()) return person;
  return Refuse(person, caller, action, status, reason);
}

absl::Status AccessControl::Refuse(const Person& person, const Caller& caller, const std::string& action,
                                   const absl::Status& status, const std::string& reason) {
  refused_.Add();
  if (!refusals_.Take(caller.address)) {
    untold_.Add();
  } else if (options_.on_event) {
    options_.on_event({person, caller.address, action, status, reason, true});
  }
  return status;
}

bool AccessControl::StillMay(const Caller& caller, const AccessRule& rule) const {
  std::string reason;
  const absl::StatusOr<Person> person = options_.people->Identify(caller, &reason);
  return person.ok() && person->role >= rule.least && (person->areas & rule.area) != 0;
}

void AccessControl::Ended(const Person& person, const Caller& caller, const AccessRule& rule,
                          const std::string& action, const absl::Status& status) {
  if (rule.effect == AccessRule::Effect::kReads || !options_.on_event) return;
  if (rule.effect == AccessRule::Effect::kRecords && !records_.Take(KeyOf(person, caller))) return;
  options_.on_event({person, caller.address, action, status, "", false});
}

}  // namespace fleetmark::collector
