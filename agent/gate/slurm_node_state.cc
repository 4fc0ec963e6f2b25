#include "agent/gate/slurm_node_state.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace fleetmark::agent {
namespace {

// What a part of a state says about the node.
enum class Sign {
  kNothing,
  kIdle,
  kJobs,
  kCompleting,
  kDrain,  // no new job may start
  kMaintenance,
  kReserved,
  kPlanned,
  kPower,    // it is about to go down, or is coming up
  kUnknown,  // the controller does not know what happens on the node
};

constexpr std::pair<std::string_view, Sign> kSigns[] = {
    {"IDLE", Sign::kIdle},
    {"ALLOCATED", Sign::kJobs},
    {"ALLOC", Sign::kJobs},
    {"MIXED", Sign::kJobs},
    {"MIX", Sign::kJobs},
    {"PERFCTRS", Sign::kJobs},  // a job reads the network's counters
    {"NPC", Sign::kJobs},
    {"BLOCKED", Sign::kJobs},  // a job has the whole topology for itself
    {"BLOCK", Sign::kJobs},
    {"COMPLETING", Sign::kCompleting},
    {"COMP", Sign::kCompleting},
    {"DRAIN", Sign::kDrain},
    {"DRAINED", Sign::kDrain},
    {"MAINTENANCE", Sign::kMaintenance},
    {"MAINT", Sign::kMaintenance},
    {"RESERVED", Sign::kReserved},
    {"RESV", Sign::kReserved},
    {"PLANNED", Sign::kPlanned},
    {"PLND", Sign::kPlanned},
    {"POWERING_UP", Sign::kPower},
    {"POWERING_DOWN", Sign::kPower},
    {"POWER_DOWN", Sign::kPower},
    {"POWER_UP", Sign::kPower},
    {"POWER_DRAIN", Sign::kPower},
    {"POW_UP", Sign::kPower},
    {"POW_DN", Sign::kPower},
    {"REBOOT", Sign::kPower},
    {"REBOOT_ISSUED", Sign::kPower},
    {"REBOOT_REQUESTED", Sign::kPower},
    {"BOOT", Sign::kPower},
    {"POWERED_DOWN", Sign::kUnknown},
    {"DOWN", Sign::kUnknown},
    {"NOT_RESPONDING", Sign::kUnknown},
    {"NO_RESPOND", Sign::kUnknown},
    {"UNKNOWN", Sign::kUnknown},
    {"UNK", Sign::kUnknown},
    {"ERROR", Sign::kUnknown},
    {"FAIL", Sign::kUnknown},
    {"FAILING", Sign::kUnknown},
    {"FAILG", Sign::kUnknown},
    {"FUTURE", Sign::kUnknown},
    {"FUTR", Sign::kUnknown},
    {"INVALID_REG", Sign::kUnknown},
    {"INVALID", Sign::kUnknown},
    {"INVAL", Sign::kUnknown},
    {"CLOUD", Sign::kNothing},
    {"DYNAMIC_NORM", Sign::kNothing},
    {"DYNAMIC_FUTURE", Sign::kNothing},
    {"EXTERNAL", Sign::kNothing},
    {"RESUME", Sign::kNothing},
    {"UNDRAIN", Sign::kNothing},
};

// The signs that sinfo puts behind a state.
std::optional<Sign> SuffixSign(char c) {
  switch (c) {
    case '*':  // does not respond
    case '~':  // switched off to save power
      return Sign::kUnknown;
    case '#':  // is switched on
    case '!':  // will be switched off
    case '%':  // is switched off
    case '@':  // will be rebooted
    case '^':  // is rebooted
      return Sign::kPower;
    case '$':
      return Sign::kMaintenance;
    case '-':
      return Sign::kPlanned;
    default:
      return std::nullopt;
  }
}

// False when a part of `state` is not known.
bool ReadSigns(const std::string& state, std::set<Sign>& signs) {
  std::string names = state;
  for (; !names.empty(); names.pop_back()) {
    if (names.back() == '+') continue;
    const std::optional<Sign> sign = SuffixSign(names.back());
    if (!sign.has_value()) break;
    signs.insert(*sign);
  }
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(names, '+', absl::SkipEmpty()))) {
    // sinfo's one word for "drain, and jobs still run".
    if (name == "DRAINING" || name == "DRNG") {
      signs.insert({Sign::kDrain, Sign::kJobs});
      continue;
    }
    const auto* found = std::find_if(std::begin(kSigns), std::end(kSigns),
                                     [&name](const auto& known) { return known.first == name; });
    if (found == std::end(kSigns)) return false;
    signs.insert(found->second);
  }
  return !names.empty();
}

}  // namespace

GateAnswer JudgeSlurmState(std::string_view state, const SlurmStateRules& rules) {
  const std::string text = absl::AsciiStrToUpper(absl::StripAsciiWhitespace({state.data(), state.size()}));
  std::set<Sign> signs;
  if (!ReadSigns(text, signs)) {
    return GateAnswer::Unknown(absl::StrCat("Slurm's state '", text, "' of this node is not known here"));
  }
  const auto has = [&signs](Sign sign) { return signs.count(sign) != 0; };
  const auto busy = [&text](const char* why) {
    return GateAnswer::Busy(absl::StrCat(why, " (Slurm: ", text, ")"));
  };
  if (has(Sign::kUnknown)) {
    return GateAnswer::Unknown(absl::StrCat("Slurm does not know what runs here (", text, ")"));
  }
  if (has(Sign::kJobs)) return busy("jobs are on this node");
  if (has(Sign::kCompleting) && !rules.own_epilog) return busy("a job is completing on this node");
  if (has(Sign::kPower)) return busy("the node is about to be rebooted or switched");
  // From here on no job is there, and on these two none can start.
  if (has(Sign::kDrain) || has(Sign::kMaintenance)) return GateAnswer::Free();
  if (has(Sign::kPlanned)) return busy("a job is planned on this node");
  if (has(Sign::kReserved) && !rules.allow_reserved) return busy("the node is reserved");
  if (has(Sign::kIdle) || has(Sign::kCompleting) || has(Sign::kReserved)) return GateAnswer::Free();
  return GateAnswer::Unknown(absl::StrCat("Slurm's state '", text, "' does not say what runs here"));
}

}  // namespace fleetmark::agent
