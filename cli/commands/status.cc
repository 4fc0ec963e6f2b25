#include "common/base/status.h"

#include <string>

#include "absl/strings/str_cat.h"

#include "cli/commands/commands.h"
#include "cli/output/format.h"

namespace fleetmark::cli {
namespace {

std::string RunsByOutcome(const v1::GetStatusResponse& status) {
  std::string text;
  for (int i = v1::Outcome_MIN + 1; i <= v1::Outcome_MAX; ++i) {
    const std::string name = NameOf(static_cast<v1::Outcome>(i));
    const auto found = status.runs_by_outcome().find(name);
    if (found == status.runs_by_outcome().end() || found->second == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", found->second, " ", name);
  }
  return text.empty() ? "" : absl::StrCat(" (", text, ")");
}

Cell NodesCell(const v1::GetStatusResponse& status) {
  if (status.nodes() == 0) return "none yet; start an agent that names this collector";
  return Cell(absl::StrCat(status.nodes_connected(), " connected of ", status.nodes()),
              status.nodes_connected() < status.nodes() ? Look::kWarn : Look::kGood);
}

Cell FindingsCell(const v1::GetStatusResponse& status) {
  if (status.open_findings() == 0) return Cell("none open", Look::kGood);
  return Cell(absl::StrCat(status.open_findings(), " open, ", status.open_findings_worse(), " for the worse"),
              status.open_findings_worse() > 0 ? Look::kBad : Look::kWarn);
}

}  // namespace

CommandResult ShowStatus(Session& session) {
  FM_ASSIGN_OR_RETURN(const v1::GetStatusResponse status, session.client.GetStatus({}));
  const ExitCode exit = status.problems().empty() ? kExitOk : kExitProblem;
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(status));
    return exit;
  }
  const double up_seconds = static_cast<double>(status.time_unix_ns() - status.started_unix_ns()) * 1e-9;
  const std::string up = status.started_unix_ns() == 0 ? "" : ", up " + FormatSeconds(up_seconds);
  Table table({{session.output.csv() ? "field" : ""}, {session.output.csv() ? "value" : ""}});
  table.AddRow(
      {"Collector", absl::StrCat("version ", status.collector_version(), " at ", session.address, up)});
  table.AddRow({"Nodes", NodesCell(status)});
  table.AddRow({"Series", absl::StrCat(status.series(), " with ", status.samples(), " samples")});
  table.AddRow({"Runs", absl::StrCat(status.runs(), RunsByOutcome(status))});
  table.AddRow({"Findings", FindingsCell(status)});
  table.AddRow({"Store", BytesCell(status.store_bytes())});
  for (const std::string& problem : status.problems()) {
    table.AddRow({Cell("Problem", Look::kBad), Cell(problem, Look::kBad)});
  }
  session.output.Print(table, "");
  return exit;
}

}  // namespace fleetmark::cli
