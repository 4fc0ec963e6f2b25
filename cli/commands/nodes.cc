#include <string>

#include "absl/strings/str_cat.h"

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "cli/output/format.h"
#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

Cell StateCell(v1::NodeState state) {
  return Cell(NameOf(state), state == v1::NODE_STATE_CONNECTED ? Look::kGood : Look::kBad);
}

Cell FindingsCell(uint64_t open) {
  Cell cell = CountCell(open);
  if (open > 0) cell.look = Look::kWarn;
  return cell;
}

std::string Doing(const v1::Node& node, absl::Time now) {
  if (node.state() != v1::NODE_STATE_CONNECTED) return "";
  const v1::Heartbeat& heartbeat = node.heartbeat();
  if (!heartbeat.running_benchmark().empty()) return "running " + heartbeat.running_benchmark();
  if (heartbeat.next_due_unix_ns() == 0) return "idle";
  return absl::StrCat("idle, ", heartbeat.next_benchmark(), " ",
                      FormatAge(heartbeat.next_due_unix_ns(), now));
}

void PrintList(const v1::ListNodesResponse& response, Session& session) {
  const absl::Time now = session.clock.Now();
  Table table({{"NAME"},
               {"STATE"},
               {"LAST SEEN"},
               {"LAST RUN"},
               {"FINDINGS", true},
               {"NOW"},
               {"AGENT", false, true},
               {"FIRST SEEN", false, true},
               {"CLOCK OFF", true, true},
               {"SPOOLED", true, true},
               {"LABELS"}});
  for (const v1::Node& node : response.nodes()) {
    table.AddRow({node.identity().name(), StateCell(node.state()), TimeCell(node.last_seen_unix_ns(), now),
                  TimeCell(node.last_run_unix_ns(), now), FindingsCell(node.open_findings()),
                  Doing(node, now), node.agent_version(), TimeCell(node.first_seen_unix_ns(), now),
                  SecondsCell(node.clock_offset_seconds()), CountCell(node.heartbeat().spool_records()),
                  FormatLabels(node.identity().labels())});
  }
  session.output.Print(table,
                       "no node has reported yet; start fleetmark-agent on one with this collector in its "
                       "`collectors:` (docs/operations.md)");
}

void PrintBenchmarks(const v1::Node& node, const Output& output) {
  if (node.benchmarks().empty()) return;
  Table table({{"BENCHMARK"}, {"PLUGIN"}, {"SCHEDULE"}, {"SUITE"}, {"PARAMETERS"}});
  for (const v1::Benchmark& benchmark : node.benchmarks()) {
    table.AddRow({benchmark.name(), benchmark.plugin(),
                  benchmark.enabled() ? Cell(benchmark.schedule()) : Cell("disabled", Look::kDim),
                  benchmark.suite(), benchmark.params_json()});
  }
  output.Say("");
  output.Print(table, "");
}

void PrintPluginProblems(const v1::Node& node, Table& table) {
  for (const v1::Plugin& plugin : node.plugins()) {
    if (plugin.problem().empty()) continue;
    table.AddRow({Cell("Plugin problem", Look::kBad), absl::StrCat(plugin.name(), ": ", plugin.problem())});
  }
}

void PrintPlan(const v1::PlanStatus& plan, Table& table) {
  if (plan.plan_version().empty()) return;
  table.AddRow({"Plan", plan.accepted() ? Cell(plan.plan_version())
                                        : Cell(plan.plan_version() + ", refused by the node", Look::kBad)});
  for (const std::string& problem : plan.problems())
    table.AddRow({Cell("Plan problem", Look::kBad), problem});
}

void PrintDetails(const v1::Node& node, Session& session) {
  const absl::Time now = session.clock.Now();
  const bool csv = session.output.csv();
  Table table({{csv ? "field" : ""}, {csv ? "value" : ""}});
  table.AddRow({"Node", node.identity().name()});
  table.AddRow({"State", StateCell(node.state())});
  table.AddRow({"Labels", FormatLabels(node.identity().labels())});
  table.AddRow({"Last seen", TimeCell(node.last_seen_unix_ns(), now)});
  table.AddRow({"First seen", TimeCell(node.first_seen_unix_ns(), now)});
  table.AddRow({"Last run", TimeCell(node.last_run_unix_ns(), now)});
  table.AddRow({"Doing", Doing(node, now)});
  table.AddRow({"Open findings", FindingsCell(node.open_findings())});
  table.AddRow({"Agent", node.agent_version()});
  table.AddRow({"Clock off", SecondsCell(node.clock_offset_seconds())});
  table.AddRow({"Spooled records", CountCell(node.heartbeat().spool_records())});
  table.AddRow({"Dropped records", CountCell(node.heartbeat().dropped_records())});
  PrintPlan(node.plan(), table);
  PrintPluginProblems(node, table);
  for (const v1::Fact& fact : node.facts()) table.AddRow({Cell(fact.name(), Look::kDim), fact.value()});
  session.output.Print(table, "");
  if (!csv) PrintBenchmarks(node, session.output);
}

}  // namespace

CommandResult ShowNodes(const NodesOptions& options, Session& session) {
  v1::ListNodesRequest request;
  request.set_name(options.name);
  request.set_limit(options.limit);
  FM_ASSIGN_OR_RETURN(const auto labels, ParseLabels(options.labels));
  request.mutable_labels()->insert(labels.begin(), labels.end());
  FM_ASSIGN_OR_RETURN(const v1::ListNodesResponse response, session.client.ListNodes(request));
  if (!options.name.empty() && response.nodes().empty()) {
    return absl::NotFoundError(
        absl::StrCat("no node is called ", options.name, "; `fleetmark nodes` lists them"));
  }
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
  } else if (!options.name.empty()) {
    PrintDetails(response.nodes(0), session);
  } else {
    PrintList(response, session);
  }
  if (!response.next_page_token().empty()) session.output.Note("there are more; --limit shows them");
  return kExitOk;
}

}  // namespace fleetmark::cli
