#include <utility>

#include "cli/commandline/declare.h"

namespace fleetmark::cli {
namespace {

// How records are written, and what they are.
constexpr std::pair<const char*, const char*> kImports[] = {
    {"openmetrics", "The OpenMetrics format, with times"},
    {"csv", "Rows with a header: time, node, benchmark, metric, value, unit, labels"},
    {"reframe", "ReFrame's run reports and performance logs"},
    {"superbench", "SuperBench's results-summary.jsonl"},
    {"googlebenchmark", "Google Benchmark's JSON and CSV"}};

void AddOperations(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto note =
      AddCommand<NoteOptions>(app, "note", "Record that something happened, to be shown beside the results",
                              invocation, AddNote, command);
  command->add_option("node", note->node, "The node that it is about; - for none")->required();
  command->add_option("text", note->text, "What happened")->required();
  Choose(command->add_option("--kind", note->kind, "What kind of event; default note"),
         {"note", "maintenance", "deployment"});

  auto run = AddCommand<RunOptions>(app, "run", "Run a benchmark on a node now and follow it", invocation,
                                    RunBenchmark, command);
  command->add_option("node", run->node, "The node's name")->required();
  command->add_option("benchmark", run->benchmark, "One of its benchmarks (`fleetmark nodes NAME`)")
      ->required();
  command->add_option("--expires", run->expires, "Refused if it can't start within this time; default 60s");
  command->preparse_callback([&invocation](size_t) { invocation.handles_signals = true; });

  auto cancel = AddCommand<CancelOptions>(app, "cancel", "Stop a run", invocation, CancelRun, command);
  command->add_option("node", cancel->node, "The node that it runs on")->required();
  command->add_option("run", cancel->run_id, "The run's identifier")->required();
  command->add_option("--reason", cancel->reason, "Recorded with the run");
}

void AddImport(CLI::App& app, Invocation& invocation) {
  CLI::App* import = app.add_subcommand("import", "Other tools' records into the collector");
  import->require_subcommand(1);
  for (const auto& [format, summary] : kImports) {
    CLI::App* command = nullptr;
    auto o = AddCommand<ImportOptions>(*import, format, summary, invocation, ImportRecords, command);
    o->format = format;
    command->add_option("file", o->files, "Files, and folders with such; - reads standard input")->required();
    if (o->format == "csv") continue;
    command->add_option("--node", o->node, "The node of records that name none");
    command->add_option("--benchmark", o->benchmark, "The benchmark of records that name none");
    if (o->format == "openmetrics") continue;
    command->add_option("--time", o->time, "When records without a time were measured");
    command->add_option("--time-zone", o->time_zone, "The zone of times that name none; default UTC");
    if (o->format != "reframe") continue;
    command->add_option(
        "--references", o->references,
        "Write the tests' references to this file, as the collector's configuration takes them");
  }
}

void AddBackup(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  AddCommand<BackupOptions>(app, "backup",
                            "Copy the collector's store to the folder that its configuration names",
                            invocation, MakeBackup, command);
}

}  // namespace

void DeclareOperations(CLI::App& app, Invocation& invocation) {
  AddOperations(app, invocation);
  AddImport(app, invocation);
  AddBackup(app, invocation);
}

}  // namespace fleetmark::cli
