#include "agent/schedule/scheduler.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Claims kCpu{.cpu = Claim::kExclusive};
constexpr Claims kSharedCpu{.cpu = Claim::kShared};
constexpr Claims kDisk{.disk = Claim::kExclusive};

class SchedulerTest : public ::testing::Test {
 protected:
  // On a full hour, so that times are easy to read.
  SchedulerTest() : clock_(absl::FromUnixSeconds(3600 * 500'000)) {}

  static Scheduler::Job Job(const std::string& name, const std::string& schedule, Claims claims = {}) {
    Scheduler::Job job;
    job.benchmark = name;
    if (!schedule.empty()) job.schedule = *Schedule::Parse(schedule);
    job.claims = claims;
    return job;
  }

  void Run(std::vector<Scheduler::Job> jobs) {
    Scheduler::Callbacks callbacks;
    callbacks.start = [this](const Scheduler::Start& start) {
      {
        MutexLock lock(mu_);
        starts_.push_back(start);
      }
      if (!defer_why_.empty()) return scheduler_->Deferred(start, defer_why_, defer_for_);
      if (finish_at_once_) scheduler_->Finished(start.benchmark);
    };
    callbacks.missed = [this](const std::string& benchmark, absl::Time due, const std::string& why) {
      MutexLock lock(mu_);
      missed_.push_back(absl::StrCat(benchmark, "@", absl::ToUnixSeconds(due) % 3600, ": ", why));
    };
    if (budget_wait_) callbacks.budget_wait = budget_wait_;
    callbacks.refused = [this](const Scheduler::Request& request, const std::string& why) {
      MutexLock lock(mu_);
      refused_.push_back(request.request_id + ": " + why);
    };
    scheduler_ = std::make_unique<Scheduler>(std::move(jobs), callbacks, clock_);
    scheduler_->Run();
    clock_.AwaitWaiters(1);
  }

  // Goes from deadline to deadline, as time would.
  void Pass(absl::Duration duration) {
    const MonoTime end = clock_.Mono() + duration;
    while (true) {
      clock_.AwaitWaiters(1);
      const MonoTime next = clock_.NextDeadline();
      if (next > end) break;
      ++wake_ups_;
      clock_.Advance(std::max(absl::Nanoseconds(1), next - clock_.Mono()));
    }
    clock_.Advance(end - clock_.Mono());
    clock_.AwaitWaiters(1);
  }

  // For what a call brings about in the other thread.
  template <typename Predicate>
  void Await(Predicate predicate) {
    while (!predicate()) std::this_thread::yield();
    clock_.AwaitWaiters(1);
  }

  std::vector<std::string> Started() {
    MutexLock lock(mu_);
    std::vector<std::string> names;
    for (const auto& start : starts_) names.push_back(start.benchmark);
    return names;
  }
  std::vector<std::string> MissedRuns() {
    MutexLock lock(mu_);
    return missed_;
  }
  size_t Count() { return Started().size(); }
  std::vector<Scheduler::Start> Starts() {
    MutexLock lock(mu_);
    return starts_;
  }
  std::vector<std::string> Refused() {
    MutexLock lock(mu_);
    return refused_;
  }

  FakeClock clock_;
  std::string defer_why_;  // set and changed while the scheduler's thread waits
  absl::Duration defer_for_ = absl::Seconds(30);
  std::function<absl::Duration(const std::string&)> budget_wait_;
  std::vector<std::string> missed_;
  Mutex mu_;
  std::vector<Scheduler::Start> starts_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> refused_ ABSL_GUARDED_BY(mu_);
  bool finish_at_once_ = true;
  int wake_ups_ = 0;
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(SchedulerTest, StartsEachJobWhenItIsDue) {
  Run({Job("a", "every 15m"), Job("b", "every 1h")});
  Pass(absl::Hours(2));
  const auto started = Started();
  EXPECT_EQ(std::count(started.begin(), started.end(), "a"), 8);
  EXPECT_EQ(std::count(started.begin(), started.end(), "b"), 2);
  EXPECT_EQ(Starts()[0].due, absl::FromUnixSeconds(3600 * 500'000 + 900));
  EXPECT_EQ(Starts()[0].trigger, v1::TRIGGER_SCHEDULE);
}

TEST_F(SchedulerTest, DoesNotWakeBetweenDueTimes) {
  Run({Job("a", "every 1h")});
  Pass(absl::Hours(24));
  EXPECT_EQ(Count(), 24u);
  EXPECT_EQ(wake_ups_, 24);
}

TEST_F(SchedulerTest, NeverOverlapsItselfNorPilesUp) {
  finish_at_once_ = false;
  Run({Job("a", "every 10m")});
  Pass(absl::Hours(5));
  EXPECT_EQ(Count(), 1u);
  EXPECT_EQ(scheduler_->Snapshot()[0].waits_for, "its last run has not ended");
  scheduler_->Finished("a");
  Await([this] { return Count() == 2; });
  scheduler_->Finished("a");
  Pass(absl::Minutes(9));
  EXPECT_EQ(Count(), 2u) << "thirty missed runs are one";
  Pass(absl::Minutes(2));
  EXPECT_EQ(Count(), 3u);
}

TEST_F(SchedulerTest, ExclusiveClaimsExcludeAndSharedOnesOverlap) {
  finish_at_once_ = false;
  Run({Job("a", "every 1h", kCpu), Job("b", "every 1h", kCpu), Job("d", "every 1h", kDisk)});
  Pass(absl::Hours(1));
  EXPECT_THAT(Started(), ElementsAre("a", "d"));
  EXPECT_EQ(scheduler_->Snapshot()[1].waits_for, "cpu is used by a");
  scheduler_->Finished("a");
  Await([this] { return Count() == 3; });
  EXPECT_EQ(Started()[2], "b");
}

TEST_F(SchedulerTest, SharedUsersRunTogetherAndDoNotStarveAnExclusiveOne) {
  finish_at_once_ = false;
  Run({Job("s1", "0 9 * * *", kSharedCpu), Job("s2", "0 9 * * *", kSharedCpu), Job("x", "1 9 * * *", kCpu),
       Job("s3", "2 9 * * *", kSharedCpu)});
  Pass(absl::Hours(1));  // from 8:00
  ASSERT_THAT(Started(), ElementsAre("s1", "s2"));
  Pass(absl::Minutes(5));
  EXPECT_EQ(Count(), 2u);
  const auto plan = scheduler_->Snapshot();
  EXPECT_TRUE(absl::StrContains(plan[2].waits_for, "cpu is used by s")) << plan[2].waits_for;
  scheduler_->Finished("s1");
  scheduler_->Finished("s2");
  Await([this] { return Count() >= 3; });
  EXPECT_EQ(Count(), 3u);
  EXPECT_EQ(Started()[2], "x") << "the shared ones came later";
}

TEST_F(SchedulerTest, RequestGoesFirstAndCarriesItsId) {
  finish_at_once_ = false;
  Run({Job("a", "every 1h", kCpu), Job("b", "every 1h", kCpu), Job("m", "", kCpu)});
  Pass(absl::Hours(1));
  ASSERT_THAT(Started(), ElementsAre("a"));
  ASSERT_TRUE(scheduler_->RunNow({"q1", "m", v1::TRIGGER_CONFIRM, absl::Minutes(5)}).ok());
  scheduler_->Finished("a");
  Await([this] { return Count() == 2; });
  EXPECT_EQ(Starts()[1].benchmark, "m");
  EXPECT_EQ(Starts()[1].request_id, "q1");
  EXPECT_EQ(Starts()[1].trigger, v1::TRIGGER_CONFIRM);
  EXPECT_THAT(Refused(), IsEmpty());
}

TEST_F(SchedulerTest, RequestExpiresWithAReason) {
  finish_at_once_ = false;
  Run({Job("a", "every 1h", kCpu), Job("m", "", kCpu)});
  Pass(absl::Hours(1));
  ASSERT_TRUE(scheduler_->RunNow({"q1", "m", v1::TRIGGER_MANUAL, absl::Minutes(5)}).ok());
  Await([this] { return clock_.NextDeadline() == clock_.Mono() + absl::Minutes(5); });
  Pass(absl::Minutes(4));
  EXPECT_THAT(Refused(), IsEmpty());
  Pass(absl::Minutes(2));
  EXPECT_THAT(Refused(), ElementsAre("q1: not started within 5m: cpu is used by a"));
  scheduler_->Finished("a");
  Pass(absl::Minutes(1));
  EXPECT_EQ(Count(), 1u);
}

TEST_F(SchedulerTest, RequestsAreCheckedAndBounded) {
  finish_at_once_ = false;
  Run({Job("a", "")});
  EXPECT_EQ(scheduler_->RunNow({"q", "nothing"}).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(scheduler_->RunNow({"first", "a"}).ok());
  Await([this] { return Count() == 1; });
  for (size_t i = 0; i < Scheduler::kMaxRequests; ++i) {
    ASSERT_TRUE(scheduler_->RunNow({std::to_string(i), "a"}).ok());
  }
  EXPECT_EQ(scheduler_->RunNow({"more", "a"}).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(scheduler_->CancelRequest("5"));
  EXPECT_FALSE(scheduler_->CancelRequest("5"));
  EXPECT_EQ(scheduler_->RunNow({"6", "a"}).code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(SchedulerTest, ClockSetBackADayKeepsTheRhythm) {
  Run({Job("a", "every 15m")});
  Pass(absl::Hours(1));
  ASSERT_EQ(Count(), 4u);
  clock_.StepWallClock(-absl::Hours(24));
  Pass(absl::Hours(1));
  EXPECT_GE(Count(), 7u);
  EXPECT_LE(Count(), 8u);
}

TEST_F(SchedulerTest, ClockSetForwardADayMakesNoStorm) {
  Run({Job("a", "every 15m"), Job("b", "every 1h"), Job("c", "0 3 * * *")});
  Pass(absl::Hours(1));
  const size_t before = Count();
  clock_.StepWallClock(absl::Hours(24));
  Pass(absl::Hours(2));
  EXPECT_GE(Count(), before + 7 + 1);
  EXPECT_LE(Count(), before + 8 + 2 + 1);
}

TEST_F(SchedulerTest, SmallStepsOfTheClockNeitherLoseNorDoubleARun) {
  Run({Job("a", "every 15m")});
  for (int i = 0; i < 16; ++i) {
    Pass(absl::Minutes(15));
    clock_.StepWallClock(i % 2 == 0 ? -absl::Seconds(20) : absl::Seconds(20));
  }
  EXPECT_GE(Count(), 15u);
  EXPECT_LE(Count(), 16u);
}

TEST_F(SchedulerTest, LongSleepOfTheMachineIsOneRun) {
  Run({Job("a", "every 15m")});
  clock_.Advance(absl::Hours(30));  // both clocks, with no wake-up in between
  Await([this] { return Count() > 0; });
  EXPECT_EQ(Count(), 1u);
}

TEST_F(SchedulerTest, ReloadReplacesJobsAndKeepsWhatRunsAndWaits) {
  finish_at_once_ = false;
  Run({Job("a", "every 1h", kCpu), Job("b", "every 1h", kCpu), Job("c", "every 1h", kCpu)});
  Pass(absl::Hours(1));
  ASSERT_THAT(Started(), ElementsAre("a"));
  ASSERT_TRUE(scheduler_->RunNow({"q", "c"}).ok());
  scheduler_->Reload({Job("b", "every 30m", kCpu), Job("new", "every 2h", kDisk)});
  Await([this] { return !Refused().empty(); });
  EXPECT_THAT(Refused(), ElementsAre("q: the benchmark is no longer configured"));
  EXPECT_EQ(Count(), 1u) << "a still holds the processors";
  scheduler_->Finished("a");
  Await([this] { return Count() == 2; });
  EXPECT_EQ(Started()[1], "b");
  EXPECT_EQ(scheduler_->Snapshot()[0].next_due, clock_.Now() + absl::Minutes(30));
}

TEST_F(SchedulerTest, SnapshotSaysWhatComes) {
  Run({Job("a", "every 15m"), Job("m", "")});
  const auto plan = scheduler_->Snapshot();
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].next_due, clock_.Now() + absl::Minutes(15));
  EXPECT_FALSE(plan[0].running);
  EXPECT_EQ(plan[0].waits_for, "");
  EXPECT_EQ(plan[1].next_due, absl::InfiniteFuture());
}

TEST_F(SchedulerTest, StopsWhileItSleeps) {
  Run({Job("a", "every 300d")});
  scheduler_->Stop();
  EXPECT_EQ(Count(), 0u);
}

TEST_F(SchedulerTest, ADeferredRunComesBackAndStandsInNobodysWay) {
  defer_why_ = "slurm: job 12 runs here";
  Run({Job("gpu", "every 10m", kCpu), Job("disk", "every 10m", kCpu)});
  Pass(absl::Minutes(10));
  EXPECT_THAT(Started(), ElementsAre("gpu", "disk"));
  EXPECT_EQ(scheduler_->Snapshot()[0].waits_for, "slurm: job 12 runs here");
  Pass(absl::Seconds(31));
  EXPECT_EQ(Count(), 4u);
  defer_why_.clear();
  finish_at_once_ = true;
  Pass(absl::Seconds(31));
  EXPECT_EQ(Count(), 6u);
  EXPECT_EQ(Starts()[4].due, Starts()[0].due) << "the run that was due";
  EXPECT_EQ(scheduler_->Snapshot()[0].waits_for, "");
  EXPECT_THAT(MissedRuns(), IsEmpty());
}

TEST_F(SchedulerTest, ARunThatWaitedUntilTheNextOneIsDueWasMissed) {
  defer_why_ = "slurm: job 12 runs here";
  defer_for_ = absl::Minutes(3);
  Run({Job("a", "every 10m")});
  Pass(absl::Minutes(31));
  EXPECT_THAT(MissedRuns(), ElementsAre("a@600: slurm: job 12 runs here", "a@1200: slurm: job 12 runs here"));
  defer_why_.clear();
  finish_at_once_ = true;
  Pass(absl::Minutes(4));
  EXPECT_EQ(absl::ToUnixSeconds(Starts().back().due) % 3600, 1800) << "one run waits, the last one due";
  EXPECT_EQ(MissedRuns().size(), 2u);
}

TEST_F(SchedulerTest, ADeferredRequestExpiresWithTheReason) {
  defer_why_ = "pressure: 3 cores are used";
  Run({Job("a", "")});
  ASSERT_TRUE(scheduler_->RunNow({"r1", "a", v1::TRIGGER_MANUAL, absl::Minutes(1)}).ok());
  Await([&] { return Count() == 1; });
  Pass(absl::Seconds(31));
  EXPECT_EQ(Count(), 2u);
  EXPECT_EQ(Starts()[1].request_id, "r1");
  Pass(absl::Seconds(31));
  ASSERT_EQ(Refused().size(), 1u);
  EXPECT_TRUE(absl::StrContains(Refused()[0], "pressure: 3 cores are used")) << Refused()[0];
}

TEST_F(SchedulerTest, ALaterTryKnowsTheJobAndTheReasonOfTheOneBefore) {
  defer_why_ = "slurm: job 12 runs here";
  Run({Job("a", "every 1h")});
  ASSERT_TRUE(scheduler_->RunNow({"r1", "a", v1::TRIGGER_EPILOG, absl::Minutes(5), "11"}).ok());
  Await([&] { return Count() == 1; });
  EXPECT_EQ(Starts()[0].deferred_why, "");
  Pass(absl::Seconds(31));
  ASSERT_EQ(Count(), 2u);
  EXPECT_EQ(Starts()[1].job_id, "11");
  EXPECT_EQ(Starts()[1].deferred_why, defer_why_);
}

TEST_F(SchedulerTest, TheBudgetIsSpentInTurn) {
  absl::Duration wait = absl::Hours(2);
  budget_wait_ = [&](const std::string& name) { return name == "large" ? wait : absl::ZeroDuration(); };
  finish_at_once_ = true;
  Run({Job("large", "every 10m"), Job("small", "every 10m")});
  Pass(absl::Minutes(11));
  EXPECT_THAT(Started(), IsEmpty()) << "what costs less must not spend what the first one waits for";
  EXPECT_TRUE(absl::StrContains(scheduler_->Snapshot()[0].waits_for, "budget"));
  ASSERT_TRUE(scheduler_->RunNow({"r1", "large"}).ok());
  Await([&] { return Count() >= 1; });
  EXPECT_EQ(Starts()[0].request_id, "r1") << "a person's request does not wait for it";
  wait = absl::ZeroDuration();
  Pass(absl::Hours(2));
  EXPECT_GE(Count(), 3u);
}

}  // namespace
}  // namespace fleetmark::agent
