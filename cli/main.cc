// fleetmark, the command line: reads the arguments, connects where the command needs it, and turns an error
// into one line and an exit status.
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/commands.h"
#include "common/base/signals.h"
#include "common/base/status.h"
#include "common/model/labels.h"

namespace fleetmark::cli {
namespace {

constexpr const char* kFooter = R"(
Exit status:
  0    ok
  1    it worked and found a problem: the run failed, the plugin is wrong, the collector has a problem
  2    the command line is wrong
  3    the collector can't be reached
  4    not found
  5    refused by the collector or the node
  130  interrupted; a run that was started goes on

Environment: FLEETMARK_COLLECTOR is the default of --collector; FLEETMARK_TOKEN is your token; NO_COLOR turns colours off.)";

using SessionCommand = std::function<CommandResult(Session&)>;
using LocalCommand = std::function<CommandResult(const Output&)>;

// What the command line asks for.
struct Invocation {
  Client::Options client;
  std::string format = "table";
  bool no_color = false;
  double watch_seconds = 0;
  bool handles_signals = false;
  SessionCommand session_command;  // one of these two
  LocalCommand local_command;
};

// A subcommand whose `run` is called with its options once they are read.
template <typename Options>
std::shared_ptr<Options> AddCommand(CLI::App& app, const char* name, const char* summary,
                                    Invocation& invocation, CommandResult (*run)(const Options&, Session&),
                                    CLI::App*& command) {
  auto options = std::make_shared<Options>();
  command = app.add_subcommand(name, summary);
  command->callback([&invocation, options, run] {
    invocation.session_command = [options, run](Session& session) { return run(*options, session); };
  });
  return options;
}

void AddWatch(CLI::App& command, Invocation& invocation) {
  command
      .add_option("--watch", invocation.watch_seconds, "Show it again every so many seconds, until Ctrl-C")
      ->check(CLI::Range(0.5, 86400.0).description(""));
}

void AddLimit(CLI::App& command, uint32_t& limit, uint32_t most, const char* summary) {
  command.add_option("--limit", limit, summary)->check(CLI::Range(1u, most).description(""));
}

void AddStatus(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("status", "The collector and the fleet in a few lines");
  command->callback([&invocation] { invocation.session_command = ShowStatus; });
  AddWatch(*command, invocation);
}

void AddNodes(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto o = AddCommand<NodesOptions>(app, "nodes", "The nodes; with NAME everything about one", invocation,
                                    ShowNodes, command);
  command->add_option("name", o->name, "A node's name");
  command->add_option("--label", o->labels, "Only nodes with this label, key=value; may be repeated");
  AddLimit(*command, o->limit, 1000000, "At most so many");
  AddWatch(*command, invocation);
}

void AddSeries(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto o = AddCommand<SeriesOptions>(app, "series", "The series; with ID the samples of one", invocation,
                                     ShowSeries, command);
  command->add_option("id", o->id, "A series' number");
  command->add_option("--node", o->node, "Only of this node");
  command->add_option("--benchmark", o->benchmark, "Only of this benchmark");
  command->add_option("--metric", o->metric, "Only this metric");
  command->add_option("--label", o->labels, "Only with this label, key=value; may be repeated");
  command->add_option("--since", o->since,
                      "Only samples of so long ago until now, for example 24h (with ID)");
  AddLimit(*command, o->limit, 100000, "At most so many; default 1000, or the newest 50 samples");
  AddWatch(*command, invocation);
}

void AddRuns(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto o = AddCommand<RunsOptions>(app, "runs", "The runs, newest first; with RUN everything about one",
                                   invocation, ShowRuns, command);
  command->add_option("run", o->id, "A run's identifier");
  command->add_option("--node", o->node, "Only on this node");
  command->add_option("--benchmark", o->benchmark, "Only of this benchmark");
  command->add_option("--outcome", o->outcome,
                      "Only ok, failed, invalid, timeout, skipped or cancelled ones");
  command->add_option("--since", o->since, "Only of so long ago until now, for example 24h");
  AddLimit(*command, o->limit, 1000000, "At most so many; default 50");
  AddWatch(*command, invocation);
}

void AddFindings(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto o = AddCommand<FindingsOptions>(app, "findings", "What has become slower or faster, newest first",
                                       invocation, ShowFindings, command);
  auto* all = command->add_flag("--all", o->all, "Closed ones too");
  command->add_flag("--open", o->open, "Only open ones, which is the default")->excludes(all);
  command->add_flag("--worse", o->worse, "Only changes for the worse");
  command->add_flag("--members", o->members, "Also each series' own that belong to a finding about several");
  command->add_option("--node", o->node, "Only of this node");
  command->add_option("--benchmark", o->benchmark, "Only of this benchmark");
  command->add_option("--metric", o->metric, "Only of this metric");
  command->add_option("--since", o->since, "Only found so long ago until now, for example 24h");
  AddLimit(*command, o->limit, 1000000, "At most so many; default 100");
  AddWatch(*command, invocation);
}

void AddEvents(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto o =
      AddCommand<EventsOptions>(app, "events", "What happened: changed facts, starts, notes; newest first",
                                invocation, ShowEvents, command);
  command->add_option("--node", o->node, "Only of this node");
  command->add_option("--since", o->since, "Only of so long ago until now, for example 24h");
  AddLimit(*command, o->limit, 1000000, "At most so many; default 50");
  AddWatch(*command, invocation);
}

void AddOperations(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto note =
      AddCommand<NoteOptions>(app, "note", "Record that something happened, to be shown beside the results",
                              invocation, AddNote, command);
  command->add_option("node", note->node, "The node that it is about; - for none")->required();
  command->add_option("text", note->text, "What happened")->required();
  command->add_option("--kind", note->kind, "note, maintenance or deployment; default note");

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

void AddBackup(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  AddCommand<BackupOptions>(app, "backup",
                            "Copy the collector's store to the folder that its configuration names",
                            invocation, MakeBackup, command);
}

void AddAudit(CLI::App& app, Invocation& invocation) {
  CLI::App* command = nullptr;
  auto o =
      AddCommand<AuditOptions>(app, "audit", "What people did and what was refused to them, newest first",
                               invocation, ShowAudit, command);
  command->add_option("--person", o->person, "Only of this person");
  command->add_flag("--refused", o->refused, "Only what was refused");
  command->add_option("--since", o->since, "Only of so long ago until now, for example 24h");
  AddLimit(*command, o->limit, 1000000, "At most so many; default 50");
}

void AddAlerts(CLI::App& app, Invocation& invocation) {
  CLI::App* alerts =
      app.add_subcommand("alerts", "Problems that somebody is told of; without a command, the open ones");
  auto listed = std::make_shared<AlertsOptions>();
  // CLI11 calls this after a subcommand's own.
  alerts->callback([&invocation, alerts, listed] {
    if (!alerts->get_subcommands().empty()) return;
    invocation.session_command = [listed](Session& session) { return ListAlerts(*listed, session); };
  });
  alerts->require_subcommand(0, 1);
  AddWatch(*alerts, invocation);
  CLI::App* command = nullptr;
  auto list = AddCommand<AlertsOptions>(*alerts, "list", "The open ones, newest first", invocation,
                                        ListAlerts, command);
  command->add_flag("--all", list->all, "Resolved ones too");
  command->add_option("--state", list->state,
                      "Only pending, firing, acknowledged, silenced or resolved ones");
  command->add_option("--node", list->node, "Only those that this node is one of");
  AddLimit(*command, list->limit, 1000000, "At most so many; default 100");
  AddWatch(*command, invocation);

  auto show =
      AddCommand<AlertOptions>(*alerts, "show", "The whole message of one", invocation, ShowAlert, command);
  command->add_option("alert", show->id, "Its id, or the last characters of it")->required();
  auto history =
      AddCommand<AlertOptions>(*alerts, "history", "All that happened to one, and who was told when",
                               invocation, ShowAlertHistory, command);
  command->add_option("alert", history->id, "Its id, or the last characters of it")->required();
  auto ack = AddCommand<AlertOptions>(*alerts, "ack", "Say that you know: no repeats, no escalation",
                                      invocation, AcknowledgeAlert, command);
  command->add_option("alert", ack->id, "Its id, or the last characters of it")->required();
  command->add_option("--note", ack->note, "What others should know");
  command->add_flag("--undo", ack->undo, "Take the acknowledgement back");
  alerts->add_subcommand("receivers", "Who is told, what waits for them, and what is wrong")
      ->callback([&invocation] { invocation.session_command = ShowReceivers; });
}

void AddSilences(CLI::App& app, Invocation& invocation) {
  CLI::App* silence =
      app.add_subcommand("silence", "Quiet for some alerts, for a time or in maintenance windows");
  silence->require_subcommand(1);
  CLI::App* command = nullptr;
  auto listed = AddCommand<SilencesOptions>(*silence, "list", "Those that hold or will", invocation,
                                            ShowSilences, command);
  command->add_flag("--all", listed->all, "Past ones too");
  auto added = AddCommand<SilenceOptions>(*silence, "add", "Tell nobody of what matches", invocation,
                                          AddSilence, command);
  command->add_option("--match", added->match,
                      "label=value of the alert, * and ? stand for anything; may be repeated");
  command->add_option("--node", added->node, "Short for --match node=NAME");
  command->add_option("--alert", added->alert, "What this alert is about: its class and subject");
  command
      ->add_option("--for", added->duration,
                   "How long, for example 4h; of a recurring one, how long it recurs")
      ->required();
  command->add_option("--from", added->from, "From when, as 2026-05-01T22:00:00Z; default now");
  command->add_option("--note", added->note, "Why")->required();
  command->add_flag("--maintenance", added->maintenance, "It is a maintenance window");
  command->add_option("--days", added->days, "Recurring: mon, tue, …; default every day")->delimiter(',');
  command->add_option("--at", added->at, "Recurring: from this time of day, HH:MM");
  command->add_option("--length", added->length, "Recurring: for so long each time, for example 2h");
  command->add_option("--time-zone", added->time_zone, "Recurring: as Europe/Berlin; default UTC");
  auto ended = AddCommand<EndSilenceOptions>(*silence, "end", "End one now", invocation, EndSilence, command);
  command->add_option("silence", ended->id, "Its id")->required();
}

void AddImport(CLI::App& app, Invocation& invocation) {
  CLI::App* import = app.add_subcommand("import", "Other tools' records into the collector");
  import->require_subcommand(1);
  for (const char* format : {"openmetrics", "csv"}) {
    CLI::App* command = nullptr;
    const bool csv = std::string(format) == "csv";
    auto o = AddCommand<ImportOptions>(
        *import, format,
        csv ? "Rows with a header: time, node, benchmark, metric, value, unit, labels"
            : "A file in the OpenMetrics format, with times",
        invocation, ImportFile, command);
    o->format = format;
    command->add_option("file", o->file, "The file; - reads standard input")->required();
    if (csv) continue;
    command->add_option("--node", o->node, "The node of samples without a label node or instance");
    command->add_option("--benchmark", o->benchmark,
                        "The benchmark of samples without a label benchmark or job; default imported");
  }
}

void AddDetect(CLI::App& app, Invocation& invocation) {
  auto o = std::make_shared<DetectOptions>();
  CLI::App* command =
      app.add_subcommand("detect", "What changed in the series that a file holds, or a stored one");
  CLI::App* source = command->add_option_group("series", "Where the series comes from");
  source->add_option("file", o->file,
                     "CSV (value, or time,value) or JSON, - for standard input; no collector is asked");
  source->add_option("--series", o->series,
                     "A stored series' number instead of a file; its newest 100,000 samples");
  source->require_option(1);
  command
      ->add_option("--budget", o->budget,
                   "False findings in 1,000 samples of an unchanged series; default 0.1")
      ->check(CLI::Range(1e-9, 10.0).description(""));
  command->add_option("--better", o->better, "higher or lower: only what is for the worse; default both")
      ->check(CLI::IsMember({"higher", "lower", "both"}).description(""));
  command->callback([&invocation, o] {
    if (!o->series.empty()) {
      invocation.session_command = [o](Session& session) { return DetectInStore(*o, session); };
      return;
    }
    invocation.local_command = [o](const Output& output) { return DetectInFile(*o, output); };
  });
}

void AddParse(CLI::App& app, Invocation& invocation) {
  auto o = std::make_shared<ParseOptions>();
  CLI::App* command =
      app.add_subcommand("parse", "Metrics out of what another tool printed; asks no collector");
  auto list = std::make_shared<bool>(false);
  CLI::Option* listed = command->add_flag("--list", *list, "Lists the readers");
  CLI::Option* reader =
      command->add_option("--reader", o->reader, "Which reader; `fleetmark parse --list` names them");
  CLI::Option* file = command->add_option("file", o->file, "What the tool printed; - reads standard input");
  command->add_option("--options", o->options, "The reader's options: a JSON object, or @FILE with one")
      ->needs(reader);
  listed->excludes(reader)->excludes(file);
  command->callback([&invocation, o, list] {
    invocation.local_command = [o, list](const Output& output) {
      return *list ? ListReaders(output) : ParseOutput(*o, output);
    };
  });
}

void AddPlugin(CLI::App& app, Invocation& invocation) {
  CLI::App* plugin = app.add_subcommand("plugin", "Write and check plugins");
  plugin->require_subcommand(1);

  auto made = std::make_shared<PluginNewOptions>();
  CLI::App* command = plugin->add_subcommand("new", "Write a complete plugin to begin with");
  command->add_option("name", made->name, "Its name: a-z, 0-9 and _")->required();
  command->add_option("--lang", made->language, "sh, python or cpp; default sh");
  command->add_option("--dir", made->folder, "Where its folder is made; default here");
  command->callback([&invocation, made] {
    invocation.local_command = [made](const Output& output) { return MakePlugin(*made, output); };
  });

  auto checked = std::make_shared<PluginCheckOptions>();
  command = plugin->add_subcommand("check", "Check a plugin's folder and run it once");
  command->add_option("folder", checked->folder, "The plugin's folder")->required();
  command->callback([&invocation, checked] {
    invocation.local_command = [checked](const Output& output) {
      return CheckPluginFolder(*checked, output, RealClock());
    };
  });
}

void AddGlobals(CLI::App& app, Invocation& invocation) {
  invocation.client.address = "127.0.0.1:9410";
  app.add_option("--collector", invocation.client.address, "The collector's address; default 127.0.0.1:9410")
      ->envname("FLEETMARK_COLLECTOR");
  app.add_option("--tls-ca", invocation.client.tls_ca,
                 "Authorities that the collector's certificate must come from");
  app.add_option("--tls-cert", invocation.client.tls_certificate, "Your certificate");
  app.add_option("--tls-key", invocation.client.tls_key, "Its key");
  app.add_option("--token-file", invocation.client.token_file,
                 "File with your token; otherwise the environment's FLEETMARK_TOKEN");
  app.add_option("-o,--output", invocation.format, "table, wide, json or csv; default table")
      ->check(CLI::IsMember({"table", "wide", "json", "csv"}).description(""));
  app.add_flag("--no-color", invocation.no_color, "No colours, as NO_COLOR=1 does");
  app.set_version_flag("--version", "fleetmark " FM_VERSION);
  app.require_subcommand(1);
  app.fallthrough();  // global options may also follow the command
}

void DescribeCommandLine(CLI::App& app, Invocation& invocation) {
  AddGlobals(app, invocation);
  AddStatus(app, invocation);
  AddNodes(app, invocation);
  AddSeries(app, invocation);
  AddRuns(app, invocation);
  AddFindings(app, invocation);
  AddEvents(app, invocation);
  AddAlerts(app, invocation);
  AddSilences(app, invocation);
  AddOperations(app, invocation);
  AddImport(app, invocation);
  AddBackup(app, invocation);
  AddAudit(app, invocation);
  AddDetect(app, invocation);
  AddParse(app, invocation);
  AddPlugin(app, invocation);
  CLI::App* version = app.add_subcommand("version", "This program's version");
  version->callback([&invocation] {
    invocation.local_command = [](const Output& output) -> CommandResult {
      output.Say("fleetmark " FM_VERSION);
      return kExitOk;
    };
  });
  app.footer(kFooter);  // after the commands, which would inherit it
}

Format FormatNamed(const std::string& name) {
  if (name == "wide") return Format::kWide;
  if (name == "json") return Format::kJson;
  return name == "csv" ? Format::kCsv : Format::kTable;
}

Output::Options OutputOptions(const Invocation& invocation) {
  Output::Options options;
  options.format = FormatNamed(invocation.format);
  const char* no_color = getenv("NO_COLOR");
  const char* terminal = getenv("TERM");
  const bool dumb = terminal != nullptr && std::string(terminal) == "dumb";
  const bool wanted = !invocation.no_color && (no_color == nullptr || *no_color == '\0');
  options.color = wanted && !dumb && isatty(STDOUT_FILENO) == 1;
  options.live = !dumb && isatty(STDERR_FILENO) == 1;
  winsize size = {};
  const bool known =
      ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  if (known && size.ws_col > 0) options.columns = size.ws_col;
  return options;
}

ExitCode PrintError(const absl::Status& status) {
  std::cerr << "fleetmark: " << Message(status) << "\n";
  return ExitCodeOf(status);
}

ExitCode RunOnce(const SessionCommand& command, Session& session) {
  const CommandResult result = command(session);
  return result.ok() ? *result : PrintError(result.status());
}

// Until Ctrl-C. Errors don't end it: a collector that restarts comes back.
ExitCode Watch(const Invocation& invocation, Session& session) {
  while (true) {
    if (isatty(STDOUT_FILENO) == 1) std::cout << "\x1b[H\x1b[2J" << std::flush;
    RunOnce(invocation.session_command, session);
    fflush(stdout);
    if (WaitForSignal({SIGINT, SIGTERM}, absl::Seconds(invocation.watch_seconds)) != 0) return kExitOk;
  }
}

ExitCode Execute(const Invocation& invocation) {
  const Output output(OutputOptions(invocation));
  if (invocation.local_command) {
    const CommandResult result = invocation.local_command(output);
    return result.ok() ? *result : PrintError(result.status());
  }
  const bool watch = invocation.watch_seconds > 0;
  // Before the connection, whose threads must inherit this.
  if (watch || invocation.handles_signals) BlockSignals({SIGINT, SIGTERM});
  const auto client = Client::Connect(invocation.client, RealClock());
  if (!client.ok()) return PrintError(client.status());
  Session session{**client, output, RealClock(), invocation.client.address};
  return watch ? Watch(invocation, session) : RunOnce(invocation.session_command, session);
}

// CLI11's words, but for a misspelt command.
std::string ExplainUsage(const CLI::App& app, const CLI::ParseError& error) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::vector<std::string> rest = app.remaining();
  if (!app.get_subcommands().empty() || rest.empty() || rest[0][0] == '-') return error.what();
  const std::string nearest = NearestName(rest[0], names);
  return "there is no command '" + rest[0] + "'" +
         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
}

int Main(int argc, char** argv) {
  CLI::App app("Fleetmark: benchmark results and slow-downs of a fleet.", "fleetmark");
  Invocation invocation;
  DescribeCommandLine(app, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::cerr << "fleetmark: " << ExplainUsage(app, error) << "\n`fleetmark --help` lists the commands, "
              << "`fleetmark COMMAND --help` the options of one\n";
    return kExitUsage;
  }
  return Execute(invocation);
}

}  // namespace
}  // namespace fleetmark::cli

int main(int argc, char** argv) { return fleetmark::cli::Main(argc, argv); }
