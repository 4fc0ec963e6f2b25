#include "agent/run/run_history.h"

#include "absl/strings/str_cat.h"

namespace fleetmark::agent {

void RunHistory::Note(const v1::Run& run, absl::Time now) {
  if (run.outcome() == v1::OUTCOME_SKIPPED || run.outcome() == v1::OUTCOME_CANCELLED) return;
  MutexLock lock(mu_);
  if (last_.size() >= kMaxBenchmarks && last_.count(run.benchmark()) == 0) return;
  Last& last = last_[run.benchmark()];
  last.benchmark = run.benchmark();
  last.outcome = run.outcome();
  last.reason = run.reason();
  last.ended = now;
  last.failures = run.outcome() == v1::OUTCOME_OK ? 0 : last.failures + 1;
}

std::optional<RunHistory::Last> RunHistory::Newest() const {
  MutexLock lock(mu_);
  const Last* newest = nullptr;
  for (const auto& [benchmark, last] : last_) {
    if (newest == nullptr || last.ended > newest->ended) newest = &last;
  }
  if (newest == nullptr) return std::nullopt;
  return *newest;
}

std::vector<std::string> RunHistory::Problems() const {
  MutexLock lock(mu_);
  std::vector<std::string> problems;
  for (const auto& [benchmark, last] : last_) {
    if (last.failures < kFailuresInARow) continue;
    problems.push_back(absl::StrCat(benchmark, " failed ", last.failures, " times in a row: ", last.reason));
  }
  return problems;
}

}  // namespace fleetmark::agent
