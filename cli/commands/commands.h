// The commands, one file each. main.cc turns the command line into these options; nothing here knows how
// they were written.
//
// Each prints its result and returns the exit status, or an error that main prints as one line.
//
// Thread-safety: one command at a time, in main's thread.
#ifndef FLEETMARK_CLI_COMMANDS_COMMANDS_H_
#define FLEETMARK_CLI_COMMANDS_COMMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "cli/commands/client.h"
#include "cli/output/exit_code.h"
#include "cli/output/output.h"
#include "common/base/clock.h"

namespace fleetmark::cli {

// What every command that asks the collector works with.
struct Session {
  Client& client;
  const Output& output;
  Clock& clock;
  std::string address;  // of the collector, for messages
};

using CommandResult = absl::StatusOr<ExitCode>;

CommandResult ShowStatus(Session& session);

struct NodesOptions {
  std::string name;                 // one node with all details; empty: a list
  std::vector<std::string> labels;  // "key=value", as written
  uint32_t limit = 1000;
};
CommandResult ShowNodes(const NodesOptions& options, Session& session);

struct SeriesOptions {
  std::string id;  // the samples of one series; empty: a list
  std::string node, benchmark, metric;
  std::vector<std::string> labels;  // "key=value"
  std::string since;                // of the samples; a duration
  uint32_t limit = 0;               // 0: 1,000 series, or the newest 50 samples
};
CommandResult ShowSeries(const SeriesOptions& options, Session& session);

struct RunsOptions {
  std::string id;  // one run with all details; empty: a list
  std::string node, benchmark, outcome, since;
  uint32_t limit = 50;
};
CommandResult ShowRuns(const RunsOptions& options, Session& session);

struct FindingsOptions {
  bool all = false;      // closed ones too
  bool open = false;     // the default, said explicitly
  bool worse = false;    // only those for the worse
  bool members = false;  // also those that belong to a finding about several
  std::string node, benchmark, metric, since;
  uint32_t limit = 100;
};
CommandResult ShowFindings(const FindingsOptions& options, Session& session);

struct EventsOptions {
  std::string node, since;
  uint32_t limit = 50;
};
CommandResult ShowEvents(const EventsOptions& options, Session& session);

struct AuditOptions {
  std::string person, since;
  bool refused = false;
  uint32_t limit = 50;
};
CommandResult ShowAudit(const AuditOptions& options, Session& session);

struct AlertsOptions {
  bool all = false;  // resolved ones too
  std::string state, node;
  uint32_t limit = 100;
};
CommandResult ListAlerts(const AlertsOptions& options, Session& session);

struct AlertOptions {
  std::string id;    // or its last characters
  std::string note;  // of an acknowledgement
  bool undo = false;
};
CommandResult ShowAlert(const AlertOptions& options, Session& session);
CommandResult ShowAlertHistory(const AlertOptions& options, Session& session);
CommandResult AcknowledgeAlert(const AlertOptions& options, Session& session);

CommandResult ShowReceivers(Session& session);

struct ActionsOptions {
  bool all = false;  // those that are over too
  std::string node;
  uint32_t limit = 100;
};
CommandResult ListActions(const ActionsOptions& options, Session& session);

struct ActionCommandOptions {
  std::string id;    // or its last characters
  std::string note;  // of a stop
};
CommandResult ShowAction(const ActionCommandOptions& options, Session& session);
CommandResult StopActions(const ActionCommandOptions& options, Session& session);
CommandResult ResumeActions(const ActionCommandOptions& options, Session& session);
CommandResult UndoAction(const ActionCommandOptions& options, Session& session);

struct SilencesOptions {
  bool all = false;  // past ones too
};
CommandResult ShowSilences(const SilencesOptions& options, Session& session);

struct SilenceOptions {
  std::vector<std::string> match;  // "label=value", * and ? stand for anything
  std::string node;                // short for node=NAME
  std::string alert;               // the labels that tell this alert apart
  std::string duration;            // from now, or from `from` on
  std::string from;                // RFC 3339; empty: now
  std::string note;
  bool maintenance = false;
  std::vector<std::string> days;  // recurring
  std::string at, length, time_zone;
};
CommandResult AddSilence(const SilenceOptions& options, Session& session);

struct EndSilenceOptions {
  std::string id;
};
CommandResult EndSilence(const EndSilenceOptions& options, Session& session);

struct NoteOptions {
  std::string node;  // "-": about no single node
  std::string text;
  std::string kind = "note";  // note, maintenance or deployment
};
CommandResult AddNote(const NoteOptions& options, Session& session);

struct ImportOptions {
  std::string format;              // csv, openmetrics, or a tool of common/history/history.h
  std::vector<std::string> files;  // and folders; "-": standard input
  std::string node, benchmark;     // for records that name none
  std::string time, time_zone;     // for records without a time, for times without a zone
  std::string references;          // the file to write the references to that the records hold
};
CommandResult ImportRecords(const ImportOptions& options, Session& session);

struct RunOptions {
  std::string node, benchmark;
  std::string expires = "60s";  // not started by then: refused
};
// SIGINT and SIGTERM must be blocked (common/base/signals.h): the first leaves the run going.
CommandResult RunBenchmark(const RunOptions& options, Session& session);

struct BackupOptions {};
CommandResult MakeBackup(const BackupOptions& options, Session& session);

struct CancelOptions {
  std::string node, run_id, reason;
};
CommandResult CancelRun(const CancelOptions& options, Session& session);

struct PluginNewOptions {
  std::string name;
  std::string language = "sh";  // sh, python or cpp
  std::string folder = ".";     // where the plugin's folder is made
};
CommandResult MakePlugin(const PluginNewOptions& options, const Output& output);

struct DetectOptions {
  std::string file;             // CSV or JSON; series_file.h says what may be in it
  std::string series;           // instead of a file: the number of a stored series
  double budget = 0.1;          // false findings per 1,000 samples of a series that does not change
  std::string better = "both";  // higher, lower: only what is for the worse
};
CommandResult DetectInFile(const DetectOptions& options, const Output& output);
CommandResult DetectInStore(const DetectOptions& options, Session& session);

struct ParseOptions {
  std::string reader;   // plugins/parse/reader.h lists them
  std::string file;     // "-": standard input
  std::string options;  // of the reader: a JSON object, or "@FILE" with one
};
// Exit status 1 when the outcome is not ok.
CommandResult ParseOutput(const ParseOptions& options, const Output& output);
CommandResult ListReaders(const Output& output);

struct PluginCheckOptions {
  std::string folder;
};
CommandResult CheckPluginFolder(const PluginCheckOptions& options, const Output& output, Clock& clock);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDS_COMMANDS_H_
