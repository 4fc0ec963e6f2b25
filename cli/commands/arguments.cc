#include "cli/commands/arguments.h"

#include <pwd.h>
#include <unistd.h>

#include <climits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "cli/output/format.h"
#include "common/base/status.h"
#include "common/config/quantities.h"

namespace fleetmark::cli {

absl::StatusOr<std::map<std::string, std::string>> ParseLabels(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> labels;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--label ", argument, ": write key=value, for example --label rack=r12"));
    }
    if (!labels.emplace(argument.substr(0, equals), argument.substr(equals + 1)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--label ", argument.substr(0, equals), " is given twice"));
    }
  }
  return labels;
}

absl::StatusOr<uint64_t> ParseSeriesId(const std::string& text) {
  uint64_t id = 0;
  if (absl::SimpleAtoi(text, &id)) return id;
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not the number of a series; `fleetmark series` lists them under ID"));
}

absl::StatusOr<v1::TimeRange> RangeSince(const std::string& since, absl::Time now) {
  v1::TimeRange range;
  if (since.empty()) return range;
  const absl::StatusOr<absl::Duration> duration = ParseDuration(since);
  if (!duration.ok()) return Annotate(duration.status(), "--since");
  range.set_from_unix_ns(absl::ToUnixNanos(now - *duration));
  return range;
}

absl::StatusOr<v1::Outcome> ParseOutcome(const std::string& text) {
  if (text.empty()) return v1::OUTCOME_UNSPECIFIED;
  std::vector<std::string> names;
  for (int i = v1::Outcome_MIN + 1; i <= v1::Outcome_MAX; ++i) {
    const auto outcome = static_cast<v1::Outcome>(i);
    names.push_back(NameOf(outcome));
    if (names.back() == text) return outcome;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--outcome ", text, ": choose from ", absl::StrJoin(names, ", ")));
}

std::string AskedBy() {
  const passwd* user = getpwuid(geteuid());
  char host[HOST_NAME_MAX + 1] = "";
  gethostname(host, sizeof(host) - 1);
  const std::string name = user == nullptr ? absl::StrCat("uid", geteuid()) : std::string(user->pw_name);
  return absl::StrCat(name, "@", host);
}

}  // namespace fleetmark::cli
