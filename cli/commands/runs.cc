#include <string>

#include "absl/strings/str_cat.h"

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "cli/commands/run_report.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

// What a run gave, in a few words: its first metric, or why there is none.
Cell ResultCell(const v1::Run& run, size_t columns) {
  if (run.outcome() != v1::OUTCOME_OK)
    return Cell(FitColumns(run.reason(), columns), run.reason(), run.reason());
  if (run.metrics().empty()) return "";
  const v1::Metric& first = run.metrics(0);
  std::string text = absl::StrCat(FormatMetric(first), " ", FormatNumber(first.value()), " ", first.unit());
  if (run.metrics_size() > 1) absl::StrAppend(&text, " and ", run.metrics_size() - 1, " more");
  return text;
}

void PrintList(const v1::ListRunsResponse& response, Session& session) {
  const absl::Time now = session.clock.Now();
  Table table({{"STARTED"},
               {"NODE"},
               {"BENCHMARK"},
               {"OUTCOME"},
               {"TOOK", true},
               {"TRIGGER", false, true},
               {"PLUGIN", false, true},
               {"PLUGIN VERSION", false, true},
               {"SUITE", false, true},
               {"RUN"},
               {"RESULT"}});
  for (const v1::NodeRun& item : response.runs()) {
    const v1::Run& run = item.run();
    table.AddRow({TimeCell(RunTime(run), now), item.node(), run.benchmark(),
                  Cell(NameOf(run.outcome()), LookOf(run.outcome())), SecondsCell(run.duration_seconds()),
                  NameOf(run.trigger()), run.plugin(), run.plugin_version(), run.suite(), run.run_id(),
                  ResultCell(run, 60)});
  }
  session.output.Print(table,
                       "no run yet that matches; `fleetmark run NODE BENCHMARK` makes one now, "
                       "`fleetmark nodes` says what is due");
}

void AddUsage(const v1::Usage& usage, Table& table) {
  table.AddRow({"CPU time", SecondsCell(usage.cpu_seconds())});
  table.AddRow({"Peak memory", BytesCell(static_cast<uint64_t>(usage.max_rss_bytes()))});
  table.AddRow({"Read", BytesCell(static_cast<uint64_t>(usage.read_bytes()))});
  table.AddRow({"Written", BytesCell(static_cast<uint64_t>(usage.written_bytes()))});
}

std::string ExitText(const v1::Run& run) {
  return run.signal() != 0 ? absl::StrCat("signal ", run.signal())
                           : absl::StrCat("status ", run.exit_status());
}

Table DetailsTable(const v1::NodeRun& item, absl::Time now) {
  const v1::Run& run = item.run();
  Table table({{""}, {""}});
  table.AddRow({"Run", run.run_id()});
  table.AddRow({"Benchmark", absl::StrCat(run.benchmark(), " on ", item.node())});
  table.AddRow({"Outcome", Cell(OutcomeLine(run), LookOf(run.outcome()))});
  table.AddRow({"Started", absl::StrCat(FormatTime(RunTime(run)), " (", FormatAge(RunTime(run), now), ")")});
  table.AddRow({"Took", SecondsCell(run.duration_seconds())});
  table.AddRow({"Trigger", NameOf(run.trigger())});
  table.AddRow({"Plugin", absl::StrCat(run.plugin(), " ", run.plugin_version())});
  table.AddRow({"Parameters", run.params_json()});
  if (!run.suite().empty()) table.AddRow({"Suite", run.suite()});
  if (run.started_unix_ns() != 0) table.AddRow({"Ended with", ExitText(run)});
  if (run.has_usage()) AddUsage(run.usage(), table);
  for (const auto& [name, value] :
       std::map<std::string, std::string>(run.conditions().begin(), run.conditions().end())) {
    table.AddRow({Cell(name, Look::kDim), value});
  }
  for (const std::string& warning : run.warnings()) table.AddRow({Cell("Warning", Look::kWarn), warning});
  for (const std::string& note : run.notes()) table.AddRow({"Note", note});
  return table;
}

CommandResult ShowRun(const std::string& id, Session& session) {
  v1::GetRunRequest request;
  request.set_run_id(id);
  FM_ASSIGN_OR_RETURN(const v1::GetRunResponse response, session.client.GetRun(request));
  const Output& output = session.output;
  if (output.json()) {
    FM_RETURN_IF_ERROR(output.Json(response));
    return kExitOk;
  }
  const v1::Run& run = response.run().run();
  if (!output.csv()) output.Print(DetailsTable(response.run(), session.clock.Now()), "");
  if (output.csv() || !run.metrics().empty()) {
    output.Say("");
    output.Print(MetricsTable(run), "");
  }
  if (!run.log_tail().empty()) {
    output.Say(run.log_truncated() ? "\nThe end of its log:" : "\nIts log:");
    output.Say(Printable(run.log_tail(), /*keep_lines=*/true));
  }
  return kExitOk;
}

}  // namespace

CommandResult ShowRuns(const RunsOptions& options, Session& session) {
  if (!options.id.empty()) return ShowRun(options.id, session);
  v1::ListRunsRequest request;
  request.set_node(options.node);
  request.set_benchmark(options.benchmark);
  FM_ASSIGN_OR_RETURN(const v1::Outcome outcome, ParseOutcome(options.outcome));
  request.set_outcome(outcome);
  FM_ASSIGN_OR_RETURN(*request.mutable_range(), RangeSince(options.since, session.clock.Now()));
  request.set_limit(options.limit);
  FM_ASSIGN_OR_RETURN(const v1::ListRunsResponse response, session.client.ListRuns(request));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
  } else {
    PrintList(response, session);
  }
  if (!response.next_page_token().empty()) session.output.Note("there are older ones; --limit shows them");
  return kExitOk;
}

}  // namespace fleetmark::cli
