// Turns what a plugin writes and how it ends into a run: its metrics, log, notes, and the outcome by the
// rules of docs/plugin-protocol.md §4. Pure: no process, file or clock.
//
// Whatever it is fed, what Finish writes keeps within common/model/limits.h.
//
// Thread-safety: none; owned by one run. Ownership: the manifest must outlive it.
#ifndef FLEETMARK_COMMON_RUN_RUN_RECORDER_H_
#define FLEETMARK_COMMON_RUN_RUN_RECORDER_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"

#include "common/plugin/manifest.h"
#include "common/plugin/protocol.h"
#include "common/run/log_tail.h"
#include "common/run/runner.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark {

class RunRecorder {
 public:
  // `progress` is called for each progress line.
  RunRecorder(const PluginManifest& manifest, absl::FunctionRef<void(double, std::string_view)> progress);

  // A line of standard output. False when the run must be stopped: it exceeds a limit of the protocol.
  bool OnLine(std::string_view line);

  // A line of standard error.
  void OnLog(std::string_view line) { log_.Add(line); }

  // What the run was given, and why it was cancelled if it was.
  struct Terms {
    absl::Duration timeout;
    std::string cancel_reason;
    CancelCause cancel_cause = CancelCause::kRequest;
    RunBounds bounds;
  };

  // Sets outcome, ending, reason, metrics, exit status, signal, duration, usage, log, warnings and notes.
  void Finish(const RunOutcome& outcome, const Terms& terms, v1::Run& run);

 private:
  struct Measured {
    v1::Metric metric;
    std::vector<double> samples;  // empty: it came as one `metric`
  };

  struct Verdict {
    v1::Outcome outcome;
    v1::Ending ending;
    std::string reason;
  };

  bool Record(const PluginEvent& event);
  bool RecordMetric(const PluginEvent& event);
  void Fault(std::string_view reason);
  void Note(std::string_view message);
  Verdict Judge(const RunOutcome& outcome, const Terms& terms) const;
  Verdict JudgeStop(const RunOutcome& outcome, const Terms& terms) const;
  Verdict JudgeExit(int status) const;
  Verdict JudgeResults() const;
  std::string LastWords(std::string_view otherwise) const;
  void AddMetrics(v1::Run& run) const;
  void AddWarnings(const RunOutcome& outcome, v1::Run& run) const;

  const PluginManifest& manifest_;
  const absl::FunctionRef<void(double, std::string_view)> progress_;
  LogTail log_;
  std::map<std::string, Measured> measured_;  // by name and labels
  std::vector<std::string> notes_;
  std::string fault_;      // the first one: the run is invalid
  std::string violation_;  // of a limit: the run is stopped and failed
  bool done_ = false;
  int left_out_notes_ = 0;
  int lines_with_unknown_fields_ = 0;
  int repaired_lines_ = 0;
  int artifacts_ = 0;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_RUN_RECORDER_H_
