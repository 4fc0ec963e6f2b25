#include "common/run/run_recorder.h"

#include <string.h>

#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/config/quantities.h"
#include "common/model/labels.h"
#include "common/model/limits.h"
#include "common/run/repetitions.h"

namespace fleetmark {
namespace {

// Exit statuses with a meaning (docs/plugin-protocol.md §4).
constexpr int kExitTryLater = 75;
constexpr int kExitSkipped = 77;
constexpr int kExitWrongParameters = 78;

std::string SeriesName(const v1::Metric& metric) {
  const std::map<std::string, std::string> labels(metric.labels().begin(), metric.labels().end());
  std::string name = metric.name();
  for (const auto& [label, value] : labels)
    absl::StrAppend(&name, std::string(1, '\0'), label, std::string(1, '\0'), value);
  return name;
}

// One clean line of bounded length.
std::string Reason(std::string_view text) {
  bool repaired = false;
  std::string clean = RepairUtf8(text, &repaired);
  for (char& c : clean) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return ClipUtf8(clean, limits::kReasonBytes);
}

void SetUsage(const RunUsage& usage, v1::Usage& out) {
  out.set_cpu_seconds(absl::ToDoubleSeconds(usage.cpu));
  out.set_max_rss_bytes(usage.max_rss_bytes);
  out.set_read_bytes(usage.read_bytes);
  out.set_written_bytes(usage.written_bytes);
  out.set_involuntary_switches(usage.involuntary_switches);
}

}  // namespace

RunRecorder::RunRecorder(const PluginManifest& manifest,
                         absl::FunctionRef<void(double, std::string_view)> progress)
    : manifest_(manifest), progress_(progress), log_(limits::kLogTailBytes) {}

bool RunRecorder::OnLine(std::string_view line) {
  absl::StatusOr<PluginEvent> event = ParseLine(line, manifest_);
  if (event.ok()) return Record(*event);
  log_.Add(line.substr(0, limits::kReasonBytes));
  if (absl::IsResourceExhausted(event.status())) {
    violation_ = Message(event.status());
    return false;
  }
  Fault(Message(event.status()));
  return true;
}

bool RunRecorder::Record(const PluginEvent& event) {
  if (done_ && event.kind != PluginEvent::Kind::kLog) Fault("the plugin wrote a line after 'done'");
  if (event.unknown_fields) ++lines_with_unknown_fields_;
  if (event.repaired) ++repaired_lines_;
  switch (event.kind) {
    case PluginEvent::Kind::kMetric:
    case PluginEvent::Kind::kSample:
      return RecordMetric(event);
    case PluginEvent::Kind::kProgress:
      progress_(event.fraction, ClipUtf8(event.message, limits::kReasonBytes));
      break;
    case PluginEvent::Kind::kEvent:
      Note(event.message);
      break;
    case PluginEvent::Kind::kLog:
      log_.Add(event.message);
      break;
    case PluginEvent::Kind::kArtifact:
      ++artifacts_;
      break;
    case PluginEvent::Kind::kInvalid:
      Fault(event.message.empty() ? "the plugin's own check of its result failed" : event.message);
      break;
    case PluginEvent::Kind::kDone:
      done_ = true;
      break;
  }
  return true;
}

bool RunRecorder::RecordMetric(const PluginEvent& event) {
  const auto [found, is_new] = measured_.try_emplace(SeriesName(event.metric));
  if (is_new && measured_.size() > limits::kMetricsPerRun) {
    measured_.erase(found);
    violation_ = absl::StrCat("more than ", limits::kMetricsPerRun, " different metric and label sets");
    return false;
  }
  Measured& measured = found->second;
  const bool is_sample = event.kind == PluginEvent::Kind::kSample;
  if (is_new) {
    measured.metric = event.metric;
  } else if (!is_sample || measured.samples.empty()) {
    Fault(absl::StrCat("metric '", event.metric.name(),
                       "' came twice with the same labels; several values of one metric are of type sample"));
    return true;
  } else if (event.metric.unit() != measured.metric.unit()) {
    Fault(absl::StrCat("samples of metric '", event.metric.name(), "' have different units"));
    return true;
  }
  if (is_sample) measured.samples.push_back(event.metric.value());
  return true;
}

void RunRecorder::Fault(std::string_view reason) {
  if (fault_.empty()) fault_ = std::string(reason);
}

void RunRecorder::Note(std::string_view message) {
  if (notes_.size() < limits::kNotesPerRun) {
    notes_.push_back(Reason(message));
  } else {
    ++left_out_notes_;
  }
}

std::string RunRecorder::LastWords(std::string_view otherwise) const {
  return log_.last_line().empty() ? std::string(otherwise) : log_.last_line();
}

RunRecorder::Verdict RunRecorder::Judge(const RunOutcome& outcome, const Terms& terms) const {
  switch (outcome.end) {
    case RunEnd::kExited: {
      Verdict verdict = JudgeExit(outcome.exit_status);
      if (verdict.outcome == v1::OUTCOME_OK && outcome.throttling.periods > 0) {
        verdict = {v1::OUTCOME_INVALID, v1::ENDING_THROTTLED,
                   absl::StrCat("throttled in ", outcome.throttling.periods, " periods by the CPU quota of ",
                                outcome.throttling.cgroup, " or of a cgroup above it")};
      }
      return verdict;
    }
    case RunEnd::kSignaled:
      return {v1::OUTCOME_FAILED, v1::ENDING_SIGNAL,
              absl::StrCat("killed by signal ", outcome.signal, " (", strsignal(outcome.signal), ")")};
    case RunEnd::kTimedOut:
      return {v1::OUTCOME_TIMEOUT, v1::ENDING_TIMEOUT,
              absl::StrCat("reached its time limit of ", DurationText(terms.timeout))};
    case RunEnd::kCancelled:
      return {v1::OUTCOME_CANCELLED,
              terms.cancel_cause == CancelCause::kGate ? v1::ENDING_GATE : v1::ENDING_CANCELLED,
              terms.cancel_reason.empty() ? "cancelled" : terms.cancel_reason};
    case RunEnd::kReaperLost:
      return {v1::OUTCOME_FAILED, v1::ENDING_SIGNAL, "the process that watched over the run was killed"};
    default:
      return JudgeStop(outcome, terms);
  }
}

// Of a run that was stopped because it took too much.
RunRecorder::Verdict RunRecorder::JudgeStop(const RunOutcome& outcome, const Terms& terms) const {
  const auto over = [](std::string what) {
    return Verdict{v1::OUTCOME_FAILED, v1::ENDING_OVER_LIMIT, absl::StrCat("stopped: ", what)};
  };
  const auto bytes = [](auto n) { return BytesText(static_cast<int64_t>(n)); };
  const RunLimits limits;
  switch (outcome.end) {
    case RunEnd::kOutputTooLong:
      return over(absl::StrCat("its output exceeds ", limits.lines, " lines or ", bytes(limits.total_bytes)));
    case RunEnd::kLineTooLong:
      return over(absl::StrCat("a line of its output exceeds ", bytes(limits.line_bytes)));
    case RunEnd::kWorkFolderFull:
      return over(absl::StrCat("its working folder exceeds ", bytes(terms.bounds.work_dir_bytes),
                               ", 100,000 entries or 64 levels"));
    case RunEnd::kTooManyProcesses:
      return over(absl::StrCat("it asked for more than ", terms.bounds.processes, " processes and threads"));
    case RunEnd::kOutOfMemory:
      return {v1::OUTCOME_FAILED, v1::ENDING_OUT_OF_MEMORY,
              outcome.at_memory_limit
                  ? absl::StrCat("out of memory: the kernel killed it at its limit of ",
                                 bytes(terms.bounds.memory_bytes))
                  : "out of memory: the kernel killed it because the machine had none left"};
    default:
      return over(violation_);
  }
}

RunRecorder::Verdict RunRecorder::JudgeExit(int status) const {
  const auto failed = [](std::string reason) {
    return Verdict{v1::OUTCOME_FAILED, v1::ENDING_EXIT_STATUS, std::move(reason)};
  };
  const auto skipped = [](std::string reason) {
    return Verdict{v1::OUTCOME_SKIPPED, v1::ENDING_SKIPPED, std::move(reason)};
  };
  // Seen only after the program had ended, so that nothing was left to stop.
  if (!violation_.empty()) return {v1::OUTCOME_FAILED, v1::ENDING_OVER_LIMIT, violation_};
  switch (status) {
    case 0:
      if (done_) return JudgeResults();
      return failed("incomplete: it exited with 0 but without 'done'");
    case kExitSkipped:
      return skipped(LastWords("the plugin can't measure here; it gave no reason"));
    case kExitTryLater:
      return skipped(absl::StrCat("try again later: ", LastWords("the plugin gave no reason")));
    case kExitWrongParameters:
      return failed(absl::StrCat("wrong parameters: ", LastWords("the plugin gave no reason")));
    default:
      return failed(absl::StrCat("exit status ", status, ": ", LastWords("it wrote no log")));
  }
}

RunRecorder::Verdict RunRecorder::JudgeResults() const {
  const auto invalid = [](std::string reason) {
    return Verdict{v1::OUTCOME_INVALID, v1::ENDING_INVALID, std::move(reason)};
  };
  if (!fault_.empty()) return invalid(fault_);
  std::set<std::string> names;
  for (const auto& [series, measured] : measured_) names.insert(measured.metric.name());
  for (const MetricSpec& spec : manifest_.metrics) {
    if (spec.required && names.count(spec.name) == 0)
      return invalid(absl::StrCat("the required metric '", spec.name, "' is missing"));
  }
  return {v1::OUTCOME_OK, v1::ENDING_DONE, ""};
}

void RunRecorder::AddMetrics(v1::Run& run) const {
  for (const auto& [series, measured] : measured_) {
    v1::Metric& metric = *run.add_metrics();
    metric = measured.metric;
    if (measured.samples.empty()) continue;
    const Repetitions repetitions = Summarize(measured.samples);
    metric.set_value(repetitions.median);
    metric.set_relative_spread(repetitions.relative_spread);
    metric.set_repetitions(static_cast<uint32_t>(measured.samples.size()));
  }
}

void RunRecorder::AddWarnings(const RunOutcome& outcome, v1::Run& run) const {
  if (lines_with_unknown_fields_ > 0) {
    run.add_warnings(
        absl::StrCat(lines_with_unknown_fields_, " lines have fields that are not known; ignored"));
  }
  if (repaired_lines_ > 0 || log_.repaired()) {
    run.add_warnings("text that was not UTF-8, or had control characters, was repaired");
  }
  if (left_out_notes_ > 0) {
    run.add_warnings(absl::StrCat(left_out_notes_, " events left out, above ", limits::kNotesPerRun));
  }
  if (artifacts_ > 0) run.add_warnings(absl::StrCat(artifacts_, " artifacts were not kept"));
  if (outcome.leftovers_killed) run.add_warnings("it left processes running, which were killed");
  if (outcome.unkillable > 0) {
    run.add_warnings(absl::StrCat(outcome.unkillable, " of its processes could not be killed"));
  }
}

void RunRecorder::Finish(const RunOutcome& outcome, const Terms& terms, v1::Run& run) {
  const Verdict verdict = Judge(outcome, terms);
  run.set_outcome(verdict.outcome);
  run.set_ending(verdict.ending);
  run.set_reason(Reason(verdict.reason));
  AddMetrics(run);
  for (const std::string& note : notes_) run.add_notes(note);
  AddWarnings(outcome, run);
  run.set_exit_status(outcome.exit_status);
  run.set_signal(outcome.signal);
  run.set_duration_seconds(absl::ToDoubleSeconds(outcome.elapsed));
  SetUsage(outcome.usage, *run.mutable_usage());
  run.set_log_tail(log_.Text());
  run.set_log_truncated(log_.truncated());
}

}  // namespace fleetmark
