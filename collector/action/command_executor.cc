#include "collector/action/command_executor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "collector/action/action_text.h"
#include "common/base/quote_json.h"

namespace fleetmark::collector {
namespace {

constexpr char kPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr int kTryAgain = 75;  // EX_TEMPFAIL
constexpr int kInHand = 76;
constexpr size_t kMaxTextBytes = 500;
constexpr size_t kMaxLines = 1000;
constexpr size_t kMaxBytes = 256 * 1024;

std::string Call(const char* step, const v1::Action& action) {
  std::vector<std::string> findings;
  for (const std::string& id : action.finding_ids()) findings.push_back(QuoteJson(id));
  const auto text = [](const char* key, const std::string& value) {
    return absl::StrCat(",\"", key, "\":", QuoteJson(value));
  };
  return absl::StrCat("{\"api\":1,\"step\":\"", step, "\"", text("action_id", action.action_id()),
                      text("rule", action.rule()), text("node", action.node()),
                      text("target", action.target()), text("node_class", action.node_class()),
                      text("alert_id", action.alert_id()), ",\"finding_ids\":[", absl::StrJoin(findings, ","),
                      "]", text("evidence", action.evidence()), text("reason", action.reason()), "}\n");
}

// Why the program gave no exit status; empty when it did.
std::string WhyNoStatus(const RunOutcome& outcome, absl::Duration timeout) {
  if (outcome.end == RunEnd::kTimedOut)
    return absl::StrCat("did not end within ", absl::FormatDuration(timeout));
  if (outcome.end == RunEnd::kCancelled) return "stopped with the collector";
  if (outcome.end == RunEnd::kOutputTooLong || outcome.end == RunEnd::kLineTooLong) return "printed too much";
  if (outcome.end == RunEnd::kExited && outcome.signal == 0) return "";
  return absl::StrCat("was ended by signal ", outcome.signal);
}

}  // namespace

ActionResult CommandExecutor::Run(const char* step, const v1::Action& action, ActionResult::Kind otherwise) {
  RunSpec spec;
  spec.command = options_.command;
  spec.work_dir = "/";
  spec.environment = {{"PATH", kPath}, {"LC_ALL", "C.UTF-8"}};
  spec.stdin_text = Call(step, action);
  spec.timeout = options_.timeout;
  spec.term_grace = absl::Milliseconds(500);
  spec.limits.lines = kMaxLines;
  spec.limits.total_bytes = kMaxBytes;
  std::string said;
  const auto take = [&said](std::string_view line) {
    if (said.empty()) said = PlainText(line, kMaxTextBytes);
    return true;
  };
  std::string complaint;
  const absl::StatusOr<RunOutcome> outcome = runner_.Run(
      spec, take,
      [&complaint](std::string_view line) {
        if (complaint.empty()) complaint = PlainText(line, kMaxTextBytes);
      },
      cancel_);
  const std::string& program = options_.command.front();
  // Nothing was started, so nothing was done; but it may be another time.
  if (!outcome.ok())
    return {ActionResult::kAgain, absl::StrCat(program, ": ", outcome.status().message()), {}};
  if (const std::string why = WhyNoStatus(*outcome, options_.timeout); !why.empty()) {
    return {ActionResult::kAgain, absl::StrCat(program, " ", why), {}};
  }
  if (said.empty()) said = complaint;
  switch (outcome->exit_status) {
    case 0:
      return {ActionResult::kDone, said, {}};
    case kInHand:
      return {ActionResult::kLeft,
              said.empty() ? absl::StrCat(program, " says that others have the node") : said,
              {}};
    case kTryAgain:
      return {ActionResult::kAgain, said.empty() ? absl::StrCat(program, " asks to try again") : said, {}};
    default:
      return {otherwise,
              absl::StrCat(program, " ended with ", outcome->exit_status, said.empty() ? "" : ": ", said),
              {}};
  }
}

}  // namespace fleetmark::collector
