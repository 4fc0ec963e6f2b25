#include "agent/gate/slurm_node_state.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace fleetmark::agent {
namespace {

// Marks that sinfo puts after a state, as the flag that each stands for.
const std::map<char, std::string>& Marks() {
  static const auto& marks = *new std::map<char, std::string>{
      {'*', "NOT_RESPONDING"},   {'~', "POWERED_DOWN"},  {'#', "POWERING_UP"},
      {'!', "POWER_DOWN"},       {'%', "POWERING_DOWN"}, {'$', "MAINTENANCE"},
      {'@', "REBOOT_REQUESTED"}, {'^', "REBOOT_ISSUED"}, {'-', "PLANNED"},
  };
  return marks;
}

// Other names of the same, the short ones among them. A state that is two: "DRNG" is allocated and draining.
const std::map<std::string, std::string>& Names() {
  static const auto& names = *new std::map<std::string, std::string>{
      {"ALLOC", "ALLOCATED"},
      {"MIX", "MIXED"},
      {"COMP", "IDLE+COMPLETING"},
      {"COMPLETING", "COMPLETING"},
      {"DRNG", "ALLOCATED+DRAIN"},
      {"DRAINING", "ALLOCATED+DRAIN"},
      {"DRAINED", "IDLE+DRAIN"},
      {"MAINT", "MAINTENANCE"},
      {"RESV", "RESERVED"},
      {"PLND", "PLANNED"},
      {"POW_DN", "POWERING_DOWN"},
      {"POW_UP", "POWERING_UP"},
      {"NO_RESPOND", "NOT_RESPONDING"},
      {"FAILG", "ALLOCATED+FAIL"},
      {"FAILING", "ALLOCATED+FAIL"},
      {"UNK", "UNKNOWN"},
      {"FUTR", "FUTURE"},
      {"REBOOT", "REBOOT_ISSUED"},
      {"REBOOT^", "REBOOT_ISSUED"},
      {"BOOT", "POWERING_UP"},
  };
  return names;
}

std::set<std::string> Flags(std::string_view state) {
  std::set<std::string> flags;
  std::string text = absl::AsciiStrToUpper(absl::string_view(state.data(), state.size()));
  while (!text.empty() && Marks().count(text.back()) != 0) {
    flags.insert(Marks().at(text.back()));
    text.pop_back();
  }
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(text, '+', absl::SkipEmpty()))) {
    const auto known = Names().find(name);
    const std::string& meaning = known == Names().end() ? name : known->second;
    for (const absl::string_view flag : absl::StrSplit(meaning, '+')) flags.emplace(flag);
  }
  return flags;
}

}  // namespace

GateAnswer JudgeSlurmState(std::string_view state, const SlurmJudgement& judgement) {
  static const auto& cannot_tell = *new std::set<std::string>{
      "DOWN",           "ERROR",       "FUTURE",           "UNKNOWN",       "FAIL",
      "NOT_RESPONDING", "INVALID_REG", "POWERED_DOWN",     "POWERING_DOWN", "POWERING_UP",
      "POWER_DOWN",     "POWER_UP",    "REBOOT_REQUESTED", "REBOOT_ISSUED", "BLOCKED",
  };
  static const auto& harmless = *new std::set<std::string>{
      "IDLE", "DRAIN", "MAINTENANCE", "RESERVED", "CLOUD", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "COMPLETING",
  };
  const std::set<std::string> flags = Flags(state);
  const auto has = [&](const char* flag) { return flags.count(flag) != 0; };
  const auto because = [&](const char* what) {
    return absl::StrCat("the node is ", std::string(state), ": ", what);
  };
  if (has("ALLOCATED") || has("MIXED")) return GateAnswer::Busy(because("jobs run here"));
  if (has("PLANNED")) return GateAnswer::Busy(because("a job is about to start"));
  if (has("COMPLETING") && !judgement.in_epilog) return GateAnswer::Busy(because("a job is ending"));
  for (const std::string& flag : flags) {
    if (cannot_tell.count(flag) != 0) return GateAnswer::Unknown(because("Slurm can't say what runs here"));
    if (harmless.count(flag) == 0) return GateAnswer::Unknown(because("this state is not known"));
  }
  if (has("RESERVED") && !has("MAINTENANCE") && !judgement.allow_reserved) {
    return GateAnswer::Busy(because("it is reserved"));
  }
  if (has("IDLE") || has("DRAIN") || has("MAINTENANCE") || has("RESERVED") || has("COMPLETING")) {
    return GateAnswer::Free();
  }
  return GateAnswer::Unknown(because("this state is not known"));
}

std::string_view ScontrolField(std::string_view line, std::string_view key) {
  const std::string wanted = absl::StrCat(std::string(key), "=");
  for (size_t at = line.find(wanted); at != std::string_view::npos; at = line.find(wanted, at + 1)) {
    if (at != 0 && line[at - 1] != ' ') continue;
    const std::string_view rest = line.substr(at + wanted.size());
    return rest.substr(0, rest.find_first_of(" \n"));
  }
  return "";
}

}  // namespace fleetmark::agent
