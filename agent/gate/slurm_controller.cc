#include "agent/gate/slurm_controller.h"

#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "common/base/status.h"
#include "common/run/cancel_token.h"

namespace fleetmark::agent {
namespace {

constexpr char kPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/slurm/bin";

}  // namespace

absl::StatusOr<std::string> StateOfNodeLine(const std::string& line) {
  for (absl::string_view field : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    if (absl::ConsumePrefix(&field, "State=") && !field.empty()) return std::string(field);
  }
  return absl::NotFoundError("the answer of scontrol has no State");
}

absl::StatusOr<std::string> SlurmController::Query() const {
  RunSpec spec;
  spec.command = {options_.scontrol, "show", "node", "-o", options_.node};
  spec.work_dir = "/";
  spec.environment = {{"PATH", kPath}, {"LC_ALL", "C"}};
  if (!options_.slurm_conf.empty()) spec.environment["SLURM_CONF"] = options_.slurm_conf;
  spec.timeout = options_.timeout;
  spec.term_grace = absl::Milliseconds(500);
  std::string line;
  std::string complaint;
  CancelToken never;
  absl::StatusOr<RunOutcome> outcome = runner_.Run(
      spec,
      [&line](std::string_view text) {
        if (absl::StrContains(absl::string_view(text.data(), text.size()), "State="))
          line = std::string(text);
        return true;
      },
      [&complaint](std::string_view text) { complaint = std::string(text); }, never);
  if (!outcome.ok()) return Annotate(outcome.status(), options_.scontrol);
  if (outcome->end == RunEnd::kTimedOut) {
    return absl::DeadlineExceededError(
        absl::StrCat("slurmctld did not answer within ", absl::FormatDuration(options_.timeout)));
  }
  if (outcome->end == RunEnd::kExited && outcome->exit_status == 0 && !line.empty()) {
    return StateOfNodeLine(line);
  }
  return absl::UnavailableError(
      absl::StrCat("slurmctld can't be asked: ", complaint.empty() ? line : complaint,
                   " (scontrol ended with ", outcome->exit_status, ")"));
}

SlurmController::Answer SlurmController::NodeState() {
  {
    MutexLock lock(mu_);
    while (asking_) done_.Wait(mu_);
    const absl::Duration left = valid_until_ - clock_.Mono();
    if (left > absl::ZeroDuration()) {
      Answer answer = last_;
      if (!answer.status.ok()) answer.retry_after = left;
      return answer;
    }
    asking_ = true;
    ++queries_;
  }
  const absl::StatusOr<std::string> state = Query();

  MutexLock lock(mu_);
  last_ = Answer{state.status(), state.ok() ? *state : "", absl::ZeroDuration()};
  if (state.ok()) {
    backoff_.Reset();
    valid_until_ = clock_.Mono() + options_.cache;
  } else {
    last_.retry_after = backoff_.Next();
    valid_until_ = clock_.Mono() + last_.retry_after;
  }
  asking_ = false;
  done_.NotifyAll();
  return last_;
}

uint64_t SlurmController::queries() const {
  MutexLock lock(mu_);
  return queries_;
}

}  // namespace fleetmark::agent
