#include "bench/schedule/budget_week.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"

#include "agent/benchmark_set.h"
#include "agent/schedule/budget.h"
#include "bench/schedule/suite.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::bench {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);
const absl::Time kBegin = absl::FromCivil(absl::CivilDay(2026, 1, 5), absl::UTCTimeZone());

struct Run {
  absl::Time begin, end;
};

struct Job {
  std::string name;
  agent::Schedule schedule;
  absl::Time due;
  bool waits = false;
};

// How long this node's runs take.
class Durations {
 public:
  explicit Durations(const std::string& node) : dice_(StableHash64(node)), node_(0.8 + 0.4 * Uniform()) {}

  absl::Duration Draw(const std::string& benchmark) {
    constexpr double kBaseSeconds[] = {4, 12, 30, 70};
    const double base = kBaseSeconds[StableHash64(benchmark) % std::size(kBaseSeconds)];
    const double slow = Uniform() < 0.01 ? 3 : 1;
    return absl::Seconds(base * node_ * slow * (0.9 + 0.2 * Uniform()));
  }

 private:
  double Uniform() { return std::uniform_real_distribution<double>()(dice_); }

  std::mt19937_64 dice_;
  const double node_;
};

class Node {
 public:
  Node(std::vector<Job> jobs, const std::string& name, double share)
      : clock_(kBegin), budget_({share, ""}, clock_), durations_(name), jobs_(std::move(jobs)) {}

  void RunUntil(absl::Time end) {
    for (Queue(); clock_.Now() < end; Queue()) {
      if (waiting_.empty()) {
        clock_.Advance(std::min(end, NextDue()) - clock_.Now());
        continue;
      }
      const absl::Duration wait = budget_.WaitFor(waiting_.front()->name);
      if (wait > absl::ZeroDuration()) {
        clock_.Advance(std::min(wait, std::min(end, NextDue()) - clock_.Now()));
      } else {
        Begin();
      }
    }
  }

  const std::vector<Run>& runs() const { return runs_; }
  uint64_t asked() const { return asked_; }

 private:
  absl::Time NextDue() const {
    absl::Time next = absl::InfiniteFuture();
    for (const Job& job : jobs_) next = std::min(next, job.due);
    return next;
  }

  // One that waits already doesn't wait twice.
  void Queue() {
    for (Job& job : jobs_) {
      while (job.due <= clock_.Now()) {
        ++asked_;
        if (!job.waits) waiting_.push_back(&job);
        job.waits = true;
        job.due = job.schedule.NextAfter(job.due);
      }
    }
  }

  void Begin() {
    Job& job = *waiting_.front();
    waiting_.pop_front();
    job.waits = false;
    const absl::Duration took = durations_.Draw(job.name);
    const absl::Duration reserved = budget_.Begin(job.name);
    const absl::Time begin = clock_.Now();
    clock_.Advance(took);
    budget_.End(job.name, reserved, took);
    runs_.push_back({begin, begin + took});
  }

  FakeClock clock_;
  agent::Budget budget_;
  Durations durations_;
  std::vector<Job> jobs_;
  std::deque<Job*> waiting_;
  std::vector<Run> runs_;
  uint64_t asked_ = 0;
};

// The most that runs took in any 24 h. They follow one another, so that the worst ones end with a run.
absl::Duration WorstDay(const std::vector<Run>& runs) {
  absl::Duration worst, inside;
  size_t first = 0;
  for (const Run& last : runs) {
    inside += last.end - last.begin;
    const absl::Time from = last.end - kDay;
    while (runs[first].end <= from) {
      inside -= runs[first].end - runs[first].begin;
      ++first;
    }
    const absl::Duration outside = std::max(absl::ZeroDuration(), from - runs[first].begin);
    worst = std::max(worst, inside - outside);
  }
  return worst;
}

void Count(const Node& node, absl::Duration span, double share, BudgetWeek* week) {
  absl::Duration spent, longest;
  for (const Run& run : node.runs()) {
    spent += run.end - run.begin;
    longest = std::max(longest, run.end - run.begin);
  }
  const absl::Duration day = WorstDay(node.runs());
  week->runs += node.runs().size();
  week->asked += node.asked();
  week->mean_share += absl::FDivDuration(spent, span);
  week->largest_share = std::max(week->largest_share, absl::FDivDuration(spent, span));
  week->largest_day = std::max(week->largest_day, absl::FDivDuration(day, kDay));
  week->longest_run = std::max(week->longest_run, longest);
  week->nodes_over += spent > share * span ? 1 : 0;
  week->nodes_over_day += day > share * kDay + longest ? 1 : 0;
}

}  // namespace

absl::StatusOr<BudgetWeek> MeasureBudgetWeek(const std::string& suite_file, int nodes, absl::Duration span,
                                             double share) {
  if (nodes <= 0 || span < kDay || share <= 0 || share >= 1) {
    return absl::InvalidArgumentError("needs a node, a day, and a share above 0 and below 1");
  }
  FM_ASSIGN_OR_RETURN(const std::vector<BenchmarkConfig> benchmarks, ReadSuite(suite_file));
  BudgetWeek week;
  for (int i = 0; i < nodes; ++i) {
    const std::string name = NodeName(i);
    std::vector<Job> jobs;
    for (const BenchmarkConfig& config : benchmarks) {
      FM_ASSIGN_OR_RETURN(agent::Schedule schedule, agent::PrepareSchedule(config.benchmark, name));
      const absl::Time due = schedule.NextAfter(kBegin - absl::Nanoseconds(1));
      jobs.push_back({config.benchmark.name(), std::move(schedule), due});
    }
    Node node(std::move(jobs), name, share);
    node.RunUntil(kBegin + span);
    Count(node, span, share, &week);
  }
  week.mean_share /= nodes;
  return week;
}

}  // namespace fleetmark::bench
