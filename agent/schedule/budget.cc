#include "agent/schedule/budget.h"

#include <algorithm>

#include "common/base/file.h"
#include "common/obs/log.h"
#include "fleetmark/v1/agent_state.pb.h"

namespace fleetmark::agent {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);
constexpr double kBucketShare = 0.1;  // of a day's allowance
constexpr absl::Duration kFirstGuess = absl::Seconds(10);
constexpr double kForget = 0.3;  // how fast a shorter duration replaces a longer one
constexpr size_t kMaxFileBytes = 1 << 20;
constexpr size_t kMaxBenchmarks = 4096;

}  // namespace

Budget::Budget(const Options& options, Clock& clock)
    : options_(options),
      capacity_(kDay * options.share * kBucketShare),
      rate_(options.share * (1 - kBucketShare)),
      clock_(clock) {
  MutexLock lock(mu_);
  balance_ = capacity_;
  accrued_ = clock_.Mono();
  Load();
}

void Budget::Load() {
  if (options_.file.empty()) return;
  const absl::StatusOr<std::string> bytes = ReadFile(options_.file, kMaxFileBytes);
  if (absl::IsNotFound(bytes.status())) return;
  v1::BudgetState state;
  if (!bytes.ok() || !state.ParseFromString(*bytes)) {
    LogWarn("the budget's ledger can't be read; it begins anew", {{"file", options_.file}});
    return;
  }
  for (const auto& [benchmark, seconds] : state.cost_seconds()) {
    if (seconds >= 0 && cost_.size() < kMaxBenchmarks) cost_[benchmark] = absl::Seconds(seconds);
  }
  // A clock that was set back gives nothing, one that was set forward at most a day.
  const absl::Duration away = clock_.Now() - absl::FromUnixNanos(state.time_unix_ns());
  balance_ = absl::Seconds(state.balance_seconds()) + std::clamp(away, absl::ZeroDuration(), kDay) * rate_;
  balance_ = std::min(balance_, capacity_);
}

void Budget::Save() {
  if (options_.file.empty()) return;
  v1::BudgetState state;
  state.set_balance_seconds(absl::ToDoubleSeconds(balance_));
  state.set_time_unix_ns(absl::ToUnixNanos(clock_.Now()));
  for (const auto& [benchmark, cost] : cost_) {
    (*state.mutable_cost_seconds())[benchmark] = absl::ToDoubleSeconds(cost);
  }
  const absl::Status status = ReplaceFile(options_.file, state.SerializeAsString());
  if (!status.ok()) LogWarn("the budget's ledger can't be kept", {{"status", status}});
}

void Budget::Accrue() {
  const MonoTime now = clock_.Mono();
  balance_ = std::min(capacity_, balance_ + (now - accrued_) * rate_);
  accrued_ = now;
}

absl::Duration Budget::ExpectedLocked(const std::string& benchmark) const {
  const auto it = cost_.find(benchmark);
  return it == cost_.end() ? kFirstGuess : it->second;
}

absl::Duration Budget::Expected(const std::string& benchmark) const {
  MutexLock lock(mu_);
  return ExpectedLocked(benchmark);
}

absl::Duration Budget::WaitFor(const std::string& benchmark) {
  if (!limited()) return absl::ZeroDuration();
  MutexLock lock(mu_);
  Accrue();
  const absl::Duration missing = std::min(ExpectedLocked(benchmark), capacity_) - balance_;
  if (missing <= absl::ZeroDuration()) return absl::ZeroDuration();
  // Rounded up, so that it may begin when the time has passed.
  return rate_ > 0 ? missing / rate_ + absl::Milliseconds(1) : absl::InfiniteDuration();
}

absl::Duration Budget::Begin(const std::string& benchmark) {
  MutexLock lock(mu_);
  Accrue();
  const absl::Duration reserved = ExpectedLocked(benchmark);
  balance_ -= reserved;
  return reserved;
}

void Budget::Keep() {
  MutexLock lock(mu_);
  Accrue();
  if (limited()) Save();
}

void Budget::End(const std::string& benchmark, absl::Duration reserved, absl::Duration took) {
  MutexLock lock(mu_);
  Accrue();
  balance_ = std::min(capacity_, balance_ + reserved - took);
  if (took <= absl::ZeroDuration()) return;
  spent_ += took;
  const auto it = cost_.find(benchmark);
  if (it != cost_.end()) {
    it->second = std::max(took, it->second * (1 - kForget) + took * kForget);
  } else if (cost_.size() < kMaxBenchmarks) {
    cost_.emplace(benchmark, took);
  }
  if (limited()) Save();
}

absl::Duration Budget::spent() const {
  MutexLock lock(mu_);
  return spent_;
}

double Budget::used() {
  if (!limited()) return 0;
  MutexLock lock(mu_);
  Accrue();
  if (capacity_ <= absl::ZeroDuration()) return 1;
  return std::clamp(1 - absl::FDivDuration(balance_, capacity_), 0.0, 1.0);
}

}  // namespace fleetmark::agent
