#include <signal.h>

#include <optional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "cli/commands/progress_view.h"
#include "cli/commands/run_report.h"
#include "cli/output/format.h"
#include "common/base/mutex.h"
#include "common/base/signals.h"
#include "common/base/status.h"
#include "common/config/quantities.h"

namespace fleetmark::cli {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
// After a first Ctrl-C, a second one within this time cancels the run.
constexpr absl::Duration kSecondChance = absl::Seconds(3);

// Follows one run: a thread reads what the collector tells, the main thread draws and waits for signals.
class Follower {
 public:
  Follower(const v1::RunNowRequest& request, Session& session)
      : request_(request),
        session_(session),
        start_(session.clock.Mono()),
        view_(absl::StrCat(request.benchmark(), " on ", request.node()), session.output.live(),
              session.output.columns()) {}

  // The last that was told. Cancelled: the user left, and the run goes on.
  absl::StatusOr<v1::RunProgress> Follow() {
    std::thread reader([this] { Read(); });
    while (!Ended()) {
      const int signal = WaitForSignal({SIGINT, SIGTERM}, kTick);
      if (signal != 0) OnSignal(signal);
      if (leave_at_.has_value() && session_.clock.Mono() >= *leave_at_) session_.client.StopFollowing();
      MutexLock lock(mu_);
      if (!ended_) view_.Tick(session_.clock.Mono() - start_);
    }
    reader.join();
    MutexLock lock(mu_);
    view_.Clear();
    FM_RETURN_IF_ERROR(status_);
    return last_;
  }

  v1::RunProgress last() {
    MutexLock lock(mu_);
    return last_;
  }

 private:
  void Read() {
    const absl::Status status = session_.client.Follow(request_, [this](const v1::RunProgress& progress) {
      MutexLock lock(mu_);
      if (progress.state() < last_.state()) return;  // overtaken on its way: "queued" after "running"
      view_.Update(progress);
      last_ = progress;
    });
    MutexLock lock(mu_);
    status_ = status;
    ended_ = true;
  }

  bool Ended() {
    MutexLock lock(mu_);
    return ended_;
  }

  void OnSignal(int signal) {
    if (signal == SIGTERM) {
      leave_at_ = session_.clock.Mono();
    } else if (!leave_at_.has_value() && !cancelled_) {
      leave_at_ = session_.clock.Mono() + kSecondChance;
      Say(absl::StrCat("leaving the run to go on; press Ctrl-C again within ", DurationText(kSecondChance),
                       " to cancel it"));
    } else if (!cancelled_) {
      Cancel();
    }
  }

  void Cancel() {
    const v1::RunProgress told = last();
    v1::CancelRunRequest cancel;
    cancel.set_node(request_.node());
    cancel.set_request_id(told.request_id());
    cancel.set_run_id(told.run_id());
    cancel.set_reason(absl::StrCat("cancelled by ", request_.asked_by()));
    const auto response = session_.client.CancelRun(cancel);
    if (!response.ok()) {
      Say(absl::StrCat("can't cancel the run: ", Message(response.status())));
      return;  // it is left, as was said, when its time comes
    }
    cancelled_ = true;
    leave_at_.reset();
    Say("cancelling the run; waiting for its end");
  }

  void Say(const std::string& text) {
    MutexLock lock(mu_);
    view_.Clear();
    session_.output.Note(text);
  }

  const v1::RunNowRequest request_;
  Session& session_;
  const MonoTime start_;
  bool cancelled_ = false;            // main's thread
  std::optional<MonoTime> leave_at_;  // main's thread
  Mutex mu_;
  ProgressView view_ ABSL_GUARDED_BY(mu_);
  v1::RunProgress last_ ABSL_GUARDED_BY(mu_);
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

ExitCode Leave(const v1::RunProgress& told, const RunOptions& options, const Output& output) {
  if (told.run_id().empty()) {
    output.Note(absl::StrCat("the run is queued on ", options.node, "; `fleetmark runs --node ", options.node,
                             "` shows it when it has ended"));
  } else {
    output.Note(absl::StrCat("the run goes on; `fleetmark runs ", told.run_id(),
                             "` shows it when it has ended, `fleetmark cancel ", options.node, " ",
                             told.run_id(), "` stops it"));
  }
  return kExitInterrupted;
}

ExitCode Report(const v1::RunProgress& end, const RunOptions& options, const Output& output) {
  const v1::Run& run = end.run();
  const std::string line = absl::StrCat(options.benchmark, " on ", options.node, ": ", OutcomeLine(run), ", ",
                                        FormatSeconds(run.duration_seconds()), ", run ", run.run_id());
  output.Say(output.color() ? Colored(line, LookOf(run.outcome())) : line);
  if (!run.metrics().empty() || output.csv()) output.Print(MetricsTable(run), "");
  for (const std::string& warning : run.warnings()) output.Note("warning: " + warning);
  if (run.outcome() == v1::OUTCOME_OK) return kExitOk;
  output.Note(absl::StrCat("`fleetmark runs ", run.run_id(), "` shows its log"));
  return kExitProblem;
}

}  // namespace

CommandResult RunBenchmark(const RunOptions& options, Session& session) {
  v1::RunNowRequest request;
  request.set_node(options.node);
  request.set_benchmark(options.benchmark);
  request.set_asked_by(AskedBy());
  const absl::StatusOr<absl::Duration> expires = ParseDuration(options.expires);
  if (!expires.ok()) return Annotate(expires.status(), "--expires");
  request.set_expires_seconds(absl::ToDoubleSeconds(*expires));

  Follower follower(request, session);
  const absl::StatusOr<v1::RunProgress> end = follower.Follow();
  if (absl::IsCancelled(end.status())) return Leave(follower.last(), options, session.output);
  FM_RETURN_IF_ERROR(end.status());
  if (session.output.json()) FM_RETURN_IF_ERROR(session.output.Json(*end));
  if (end->state() == v1::RunProgress::STATE_REFUSED) {
    return absl::FailedPreconditionError(
        absl::StrCat(options.node, " refused to run ", options.benchmark, ": ", end->message()));
  }
  if (end->state() != v1::RunProgress::STATE_FINISHED) {
    return absl::UnavailableError(
        "the collector stopped telling of the run before its end; `fleetmark runs` shows "
        "it when it has ended");
  }
  if (!session.output.json()) return Report(*end, options, session.output);
  return end->run().outcome() == v1::OUTCOME_OK ? kExitOk : kExitProblem;
}

}  // namespace fleetmark::cli
