#include "collector/action/slurm_client.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr char kPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/slurm/bin";
constexpr size_t kMaxLines = 200'000;
constexpr size_t kMaxBytes = 256u << 20;
// Nodes in these take jobs or run them; marks like "PLANNED" change nothing of that.
constexpr std::array kAtWork = {"IDLE",     "MIXED",    "ALLOCATED", "COMPLETING",   "PLANNED",
                                "RESERVED", "BLOCKED",  "CLOUD",     "DYNAMIC_NORM", "DYNAMIC_FUTURE",
                                "UNDRAIN",  "PERFCTRS", "RESUME"};
constexpr std::array kTakenOut = {"DRAIN",         "DRAINED",    "DRAINING",      "FAIL",
                                  "FAILING",       "FAILG",      "REBOOT",        "REBOOT_REQUESTED",
                                  "REBOOT_ISSUED", "POWER_DOWN", "POWERING_DOWN", "POWERED_DOWN",
                                  "POWER_DRAIN"};

// What follows " KEY=", up to the next blank; the line's first key has no blank before it.
std::optional<std::string> Field(std::string_view line, std::string_view key) {
  const std::string wanted = absl::StrCat(" ", std::string(key), "=");
  const std::string text = absl::StrCat(" ", std::string(line));
  const size_t at = text.find(wanted);
  if (at == std::string::npos) return std::nullopt;
  const size_t begin = at + wanted.size();
  return text.substr(begin, text.find(' ', begin) - begin);
}

absl::Time ParseSlurmTime(const std::string& text) {
  absl::Time time;
  std::string error;
  return absl::ParseTime("%Y-%m-%dT%H:%M:%S", text, &time, &error) ? time : absl::InfinitePast();
}

// "Reason=the words [user@time]", which may hold blanks and is followed by other fields.
void ParseReason(const std::string& line, SlurmNode* node) {
  constexpr absl::string_view kKey = " Reason=";
  const size_t at = line.find(kKey.data());
  if (at == std::string::npos) return;
  const std::string rest = line.substr(at + kKey.size());
  const size_t open = rest.find(" [");
  const size_t close = rest.find(']', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) {
    node->reason = std::string(absl::StripAsciiWhitespace(rest));
    return;
  }
  node->reason = rest.substr(0, open);
  node->stamp = rest.substr(open + 2, close - open - 2);
  const size_t by = node->stamp.rfind('@');
  if (by != std::string::npos) node->reason_time = ParseSlurmTime(node->stamp.substr(by + 1));
}

absl::Status ToStatus(const std::string& complaint, int exit_status) {
  const std::string text = complaint.empty() ? absl::StrCat("scontrol ended with ", exit_status) : complaint;
  const std::string lower = absl::AsciiStrToLower(text);
  if (absl::StrContains(lower, "not found") || absl::StrContains(lower, "invalid node name")) {
    return absl::NotFoundError(text);
  }
  if (absl::StrContains(lower, "permission denied") || absl::StrContains(lower, "invalid user id"))
    return absl::PermissionDeniedError(text);
  return absl::UnavailableError(text);
}

}  // namespace

bool SlurmNode::Drained() const {
  for (const char* state : kTakenOut) {
    if (states.contains(state)) return true;
  }
  return false;
}

bool SlurmNode::AtWork() const {
  for (const std::string& state : states) {
    if (std::find(kAtWork.begin(), kAtWork.end(), state) == kAtWork.end()) return false;
  }
  return !states.empty();
}

std::string SlurmNode::Text() const {
  return absl::StrCat("Slurm: ", absl::StrJoin(states, "+"), stamp.empty() ? "" : " by ", stamp,
                      reason.empty() ? "" : ": ", reason);
}

absl::StatusOr<SlurmNode> ParseSlurmNode(std::string_view text) {
  const std::string line(text);
  SlurmNode node;
  const std::optional<std::string> name = Field(line, "NodeName");
  const std::optional<std::string> state = Field(line, "State");
  if (!name.has_value() || !state.has_value() || name->empty() || state->empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no line of scontrol show node: ", line.substr(0, 200)));
  }
  node.name = *name;
  for (absl::string_view part : absl::StrSplit(*state, '+', absl::SkipEmpty())) {
    std::string word = absl::AsciiStrToUpper(part);
    bool silent = false;
    while (!word.empty() && !absl::ascii_isalpha(static_cast<unsigned char>(word.back()))) {
      silent = silent || word.back() == '*';
      word.pop_back();
    }
    node.states.insert(word);
    if (silent) node.states.insert("NOT_RESPONDING");
  }
  node.boot_time = ParseSlurmTime(Field(line, "BootTime").value_or(""));
  ParseReason(line, &node);
  return node;
}

absl::StatusOr<SlurmReservation> ParseSlurmReservation(std::string_view text) {
  const std::string line(text);
  SlurmReservation out;
  const std::optional<std::string> name = Field(line, "ReservationName");
  const std::optional<std::string> flags = Field(line, "Flags");
  if (!name.has_value() || !flags.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no line of scontrol show reservation: ", line.substr(0, 200)));
  }
  out.name = *name;
  out.nodes = Field(line, "Nodes").value_or("");
  if (out.nodes == "(null)") out.nodes.clear();
  for (absl::string_view flag : absl::StrSplit(*flags, ','))
    out.maintenance = out.maintenance || flag == "MAINT";
  out.active = Field(line, "State").value_or("") == "ACTIVE";
  const absl::Time end = ParseSlurmTime(Field(line, "EndTime").value_or(""));
  if (end != absl::InfinitePast()) out.end = end;
  return out;
}

absl::StatusOr<std::vector<std::string>> SlurmClient::Run(const std::vector<std::string>& arguments) {
  RunSpec spec;
  spec.command = {options_.scontrol};
  spec.command.insert(spec.command.end(), arguments.begin(), arguments.end());
  spec.work_dir = "/";
  spec.environment = {{"PATH", kPath}, {"LC_ALL", "C"}, {"TZ", "UTC"}, {"SLURM_TIME_FORMAT", "standard"}};
  if (!options_.slurm_conf.empty()) spec.environment["SLURM_CONF"] = options_.slurm_conf;
  spec.timeout = options_.timeout;
  spec.term_grace = absl::Milliseconds(500);
  spec.limits.lines = kMaxLines;
  spec.limits.total_bytes = kMaxBytes;
  std::vector<std::string> lines;
  std::string complaint;
  absl::StatusOr<RunOutcome> outcome = runner_.Run(
      spec,
      [&lines](std::string_view line) {
        lines.emplace_back(line);
        return true;
      },
      [&complaint](std::string_view line) {
        if (complaint.empty()) complaint = std::string(line);
      },
      cancel_);
  if (!outcome.ok()) return Annotate(outcome.status(), options_.scontrol);
  if (outcome->end == RunEnd::kTimedOut) {
    return absl::DeadlineExceededError(
        absl::StrCat("slurmctld did not answer within ", absl::FormatDuration(options_.timeout)));
  }
  if (outcome->end == RunEnd::kCancelled) return absl::CancelledError("stopped");
  if (outcome->end == RunEnd::kExited && outcome->exit_status == 0) return lines;
  if (complaint.empty() && !lines.empty()) complaint = lines.front();
  return ToStatus(complaint, outcome->exit_status);
}

absl::StatusOr<std::vector<SlurmNode>> SlurmClient::Nodes() {
  FM_ASSIGN_OR_RETURN(const std::vector<std::string> lines, Run({"show", "node", "-o"}));
  std::vector<SlurmNode> out;
  for (const std::string& line : lines) {
    if (line.empty()) continue;
    FM_ASSIGN_OR_RETURN(out.emplace_back(), ParseSlurmNode(line));
  }
  return out;
}

absl::StatusOr<SlurmNode> SlurmClient::Node(const std::string& name) {
  FM_ASSIGN_OR_RETURN(const std::vector<std::string> lines, Run({"show", "node", "-o", name}));
  for (const std::string& line : lines) {
    if (!absl::StartsWith(line, "NodeName=")) continue;
    FM_ASSIGN_OR_RETURN(SlurmNode node, ParseSlurmNode(line));
    if (node.name == name) return node;
  }
  return absl::NotFoundError(absl::StrCat("Slurm tells nothing of node ", name));
}

absl::Status SlurmClient::Drain(const std::string& name, const std::string& reason) {
  return Run({"update", absl::StrCat("nodename=", name), "state=drain", absl::StrCat("reason=", reason)})
      .status();
}

absl::Status SlurmClient::Resume(const std::string& name) {
  return Run({"update", absl::StrCat("nodename=", name), "state=undrain"}).status();
}

absl::StatusOr<std::vector<SlurmReservation>> SlurmClient::Reservations() {
  FM_ASSIGN_OR_RETURN(const std::vector<std::string> lines, Run({"show", "reservation", "-o"}));
  std::vector<SlurmReservation> out;
  for (const std::string& line : lines) {
    // "No reservations in the system"
    if (!absl::StartsWith(line, "ReservationName=")) continue;
    FM_ASSIGN_OR_RETURN(out.emplace_back(), ParseSlurmReservation(line));
  }
  return out;
}

absl::StatusOr<std::vector<std::string>> SlurmClient::HostNames(const std::string& list) {
  return Run({"show", "hostnames", list});
}

}  // namespace fleetmark::collector
