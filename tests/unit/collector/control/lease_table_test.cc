#include "collector/control/lease_table.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"

namespace fleetmark::collector {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Duration kRun = absl::Minutes(2);

LeaseLimit Limit(const std::string& name, size_t max_nodes, std::vector<std::string> per = {}) {
  LeaseLimit limit;
  limit.name = name;
  limit.benchmarks = {"*"};
  limit.max_nodes = max_nodes;
  limit.per = std::move(per);
  return limit;
}

class LeaseTableTest : public ::testing::Test {
 protected:
  void Make(std::vector<LeaseLimit> limits, LeaseTable::Options options = {}) {
    options.limits = std::move(limits);
    table_ = std::make_unique<LeaseTable>(std::move(options), metrics_, clock_);
  }
  // Also past the time after a start in which nothing is granted.
  void MakeReady(std::vector<LeaseLimit> limits, LeaseTable::Options options = {}) {
    Make(std::move(limits), std::move(options));
    clock_.Advance(absl::Minutes(16));
  }
  void Connect(int count) {
    for (int i = 0; i < count; ++i) {
      table_->Connected(++session_, absl::StrCat("n", i), {{"rack", absl::StrCat("r", i / 10)}});
    }
  }
  v1::Lease Ask(const std::string& node, const std::string& id = "l", const std::string& benchmark = "gemm",
                absl::Duration duration = kRun) {
    return table_->Ask({node, id, benchmark, duration});
  }

  FakeClock clock_;
  Metrics metrics_;
  uint64_t session_ = 0;
  std::unique_ptr<LeaseTable> table_;
};

TEST_F(LeaseTableTest, WhatNothingLimitsIsGrantedAtOnce) {
  LeaseLimit limit = Limit("disks", 1);
  limit.benchmarks = {"disk*"};
  limit.node_labels = {{"rack", "r0"}};
  Make({limit});
  Connect(11);
  EXPECT_TRUE(Ask("n0", "l", "gemm").granted());
  EXPECT_TRUE(Ask("n10", "l", "disk").granted());  // another rack
  EXPECT_FALSE(Ask("n0", "m", "disk_random").granted());
  EXPECT_EQ(table_->held(), 0u);
}

TEST_F(LeaseTableTest, ADenialNamesTheLimitAndWhoHoldsIt) {
  MakeReady({Limit("one-of-a-rack", 1, {"rack"})});
  Connect(20);
  const v1::Lease lease = Ask("n1");
  EXPECT_TRUE(lease.granted());
  EXPECT_EQ(lease.request_id(), "l");
  EXPECT_DOUBLE_EQ(lease.expires_seconds(), absl::ToDoubleSeconds(kRun + LeaseTable::kMargin));
  const v1::Lease denied = Ask("n2", "x");
  EXPECT_FALSE(denied.granted());
  EXPECT_EQ(denied.request_id(), "x");
  EXPECT_THAT(denied.reason(), AllOf(HasSubstr("'one-of-a-rack' for rack=r0"), HasSubstr("1 of at most 1"),
                                     HasSubstr("n1 (gemm)")));
  EXPECT_GT(denied.retry_seconds(), 0);
  EXPECT_TRUE(Ask("n12").granted());  // the other rack
  EXPECT_THAT(metrics_.Serialize(),
              AllOf(HasSubstr("fleetmark_lease_denied_total{limit=\"one-of-a-rack\"} 1"),
                    HasSubstr("fleetmark_lease_granted_total 2"), HasSubstr("fleetmark_lease_held 2"),
                    HasSubstr("fleetmark_lease_waiting 1")));
}

TEST_F(LeaseTableTest, AllLimitsMustAllow) {
  MakeReady({Limit("rack", 1, {"rack"}), Limit("fleet", 2)});
  Connect(30);
  EXPECT_TRUE(Ask("n0").granted());
  EXPECT_THAT(Ask("n1").reason(), HasSubstr("'rack'"));
  EXPECT_TRUE(Ask("n10").granted());
  EXPECT_THAT(Ask("n20").reason(), HasSubstr("'fleet'"));
}

TEST_F(LeaseTableTest, AShareIsOfTheConnectedNodesThatItConcerns) {
  LeaseLimit limit = Limit("class", 0);
  limit.max_share = 0.05;
  MakeReady({limit});
  Connect(39);
  EXPECT_TRUE(Ask("n0").granted());  // 5 % of 39 is 1
  EXPECT_FALSE(Ask("n1").granted());
  Connect(40);  // the others a second time: they count once
  EXPECT_TRUE(Ask("n1").granted());
  EXPECT_FALSE(Ask("n2").granted());
}

TEST_F(LeaseTableTest, AShareIsAtLeastOne) {
  LeaseLimit limit = Limit("class", 0);
  limit.max_share = 0.01;
  MakeReady({limit});
  Connect(2);
  EXPECT_TRUE(Ask("n0").granted());
  EXPECT_FALSE(Ask("n1").granted());
}

TEST_F(LeaseTableTest, ALeaseEndsByReleaseOrByTime) {
  MakeReady({Limit("one", 1)});
  Connect(3);
  EXPECT_TRUE(Ask("n0").granted());
  table_->Release("n1", "l");  // not its own
  EXPECT_FALSE(Ask("n1").granted());
  table_->Release("n0", "l");
  EXPECT_TRUE(Ask("n1").granted());
  clock_.Advance(kRun + LeaseTable::kMargin - absl::Seconds(1));
  EXPECT_FALSE(Ask("n2").granted());
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(Ask("n2").granted());
}

TEST_F(LeaseTableTest, ADisconnectKeepsTheLeaseAndTheSameRequestGetsItAgain) {
  MakeReady({Limit("one", 1)});
  Connect(2);
  EXPECT_TRUE(Ask("n0", "a").granted());
  table_->Disconnected(1, "n0");
  EXPECT_THAT(Ask("n0", "a").reason(), HasSubstr("not connected"));
  EXPECT_FALSE(Ask("n1").granted());
  clock_.Advance(absl::Seconds(30));
  table_->Connected(9, "n0", {});
  const v1::Lease again = Ask("n0", "a");
  EXPECT_TRUE(again.granted());
  EXPECT_DOUBLE_EQ(again.expires_seconds(), absl::ToDoubleSeconds(kRun + LeaseTable::kMargin) - 30);
  EXPECT_FALSE(Ask("n0", "a", "other").granted());
  EXPECT_EQ(table_->held(), 1u);
}

TEST_F(LeaseTableTest, ANewerSessionOutlivesTheEndOfAnOlderOne) {
  MakeReady({Limit("one", 1)});
  table_->Connected(2, "n0", {});
  table_->Connected(1, "n0", {});  // came late
  table_->Disconnected(1, "n0");
  EXPECT_TRUE(Ask("n0").granted());
}

TEST_F(LeaseTableTest, NothingIsGrantedUntilTheLeasesOfAnEarlierProcessHaveRunOut) {
  LeaseLimit limit = Limit("one", 1);
  limit.longest = absl::Minutes(5);
  Make({limit});
  Connect(1);
  v1::Lease lease = Ask("n0");
  EXPECT_FALSE(lease.granted());
  EXPECT_THAT(lease.reason(), HasSubstr("6m"));
  EXPECT_GE(lease.retry_seconds(), 360);
  clock_.Advance(absl::Minutes(6) - absl::Seconds(1));
  EXPECT_FALSE(Ask("n0").granted());
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(Ask("n0").granted());
}

TEST_F(LeaseTableTest, ARunThatMayTakeTooLongGetsNone) {
  MakeReady({Limit("one", 1)});
  Connect(1);
  const v1::Lease lease = Ask("n0", "l", "gemm", absl::Hours(1));
  EXPECT_FALSE(lease.granted());
  EXPECT_THAT(lease.reason(), AllOf(HasSubstr("at most 15m"), HasSubstr("1h")));
  EXPECT_EQ(table_->waiting(), 0u);
}

TEST_F(LeaseTableTest, TheLongestWaitingIsFirst) {
  MakeReady({Limit("one", 1)});
  Connect(4);
  EXPECT_TRUE(Ask("n0").granted());
  EXPECT_FALSE(Ask("n1").granted());
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE(Ask("n2").granted());
  table_->Release("n0", "l");
  EXPECT_THAT(Ask("n3").reason(), HasSubstr("kept for 1"));
  EXPECT_FALSE(Ask("n2").granted());
  EXPECT_TRUE(Ask("n1").granted());
  table_->Release("n1", "l");
  EXPECT_TRUE(Ask("n2", "another").granted());
}

TEST_F(LeaseTableTest, APlaceIsNotKeptForOneThatHasGone) {
  MakeReady({Limit("one", 1)});
  Connect(3);
  EXPECT_TRUE(Ask("n0").granted());
  EXPECT_FALSE(Ask("n1").granted());
  table_->Release("n0", "l");
  table_->Disconnected(2, "n1");
  EXPECT_TRUE(Ask("n2").granted());
  table_->Release("n2", "l");
  table_->Connected(9, "n1", {});
  EXPECT_FALSE(Ask("n2").granted());  // it keeps its place while it is expected back
  clock_.Advance(absl::Minutes(1));
  EXPECT_TRUE(Ask("n2").granted());
}

TEST_F(LeaseTableTest, WhoIsBarredByAnotherLimitKeepsNobodyOut) {
  MakeReady({Limit("rack", 1, {"rack"}), Limit("fleet", 2)});
  Connect(30);
  EXPECT_TRUE(Ask("n0").granted());
  EXPECT_FALSE(Ask("n1").granted());  // its rack is taken; the fleet has a place
  EXPECT_TRUE(Ask("n10").granted());
}

TEST_F(LeaseTableTest, ANodeTakesOnePlaceHoweverMuchItRuns) {
  MakeReady({Limit("one", 1)});
  Connect(2);
  EXPECT_TRUE(Ask("n0", "a", "gemm").granted());
  EXPECT_TRUE(Ask("n0", "b", "disk").granted());
  table_->Release("n0", "a");
  EXPECT_THAT(Ask("n1").reason(), HasSubstr("n0 (disk)"));
  table_->Release("n0", "b");
  EXPECT_TRUE(Ask("n1").granted());
}

TEST_F(LeaseTableTest, TheTableIsBounded) {
  LeaseTable::Options options;
  options.max_leases = 5;
  options.max_leases_per_node = 3;
  options.max_waiting = 2;
  MakeReady({Limit("many", 4)}, options);
  Connect(20);
  for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(Ask("n0", id).granted());
  EXPECT_THAT(Ask("n0", "d").reason(), HasSubstr("a node has at most 3"));
  for (const char* node : {"n1", "n2"}) EXPECT_TRUE(Ask(node).granted());
  for (int i = 3; i < 20; ++i) EXPECT_THAT(Ask(absl::StrCat("n", i)).reason(), HasSubstr("at most 5 leases"));
  EXPECT_EQ(table_->held(), 5u);
  EXPECT_EQ(table_->waiting(), 2u);
}

TEST_F(LeaseTableTest, AFleetDoesNotComeBackAtOnce) {
  MakeReady({Limit("ten", 10)});
  Connect(1000);
  std::vector<double> retries;
  for (int i = 0; i < 1000; ++i) {
    const v1::Lease lease = Ask(absl::StrCat("n", i));
    if (!lease.granted()) retries.push_back(lease.retry_seconds());
  }
  ASSERT_EQ(retries.size(), 990u);
  EXPECT_LE(retries.front(), 7.5);  // the head of the queue comes soon
  EXPECT_LE(*std::max_element(retries.begin(), retries.end()), 180);
  std::map<int, int> by_second;
  for (const double retry : retries) ++by_second[static_cast<int>(retry)];
  for (const auto& [second, count] : by_second) EXPECT_LT(count, 50) << second;
}

// --- the property ----------------------------------------------------------------------------------------

// Nodes that ask, run, release, crash and come back at random, and a judge that knows only what the table has
// answered: a run is out from its grant until its release or its time is over.
class Fleet {
 public:
  Fleet(LeaseTable& table, FakeClock& clock, uint64_t seed) : table_(table), clock_(clock), dice_(seed) {
    for (int i = 0; i < kNodes; ++i) Connect(i);
  }

  void Step() {
    const int node = Roll(kNodes);
    switch (Roll(10)) {
      case 0:
        clock_.Advance(absl::Seconds(Roll(40)));
        break;
      case 1:
        if (connected_[node]) table_.Disconnected(sessions_[node], Name(node));
        connected_[node] = false;
        break;
      case 2:
      case 3:
        Connect(node);
        break;
      case 4:
      case 5:
        ReleaseOne();
        break;
      default:
        Ask(node);
    }
    Forget();
  }

  // The most nodes of a rack, and of all, whose run may be going on.
  std::pair<size_t, size_t> Busiest() const {
    std::map<int, std::set<std::string>> by_rack;
    std::set<std::string> all;
    for (const auto& run : out_) {
      by_rack[run.rack].insert(run.node);
      all.insert(run.node);
    }
    size_t most = 0;
    for (const auto& [rack, nodes] : by_rack) most = std::max(most, nodes.size());
    return {most, all.size()};
  }
  int grants() const { return grants_; }

 private:
  static constexpr int kNodes = 24;
  struct Out {
    std::string node;
    int rack;
    std::string id;
    MonoTime until;
  };

  int Roll(int sides) { return static_cast<int>(dice_() % static_cast<uint64_t>(sides)); }
  static std::string Name(int node) { return absl::StrCat("n", node); }
  void Connect(int node) {
    sessions_[node] = ++last_session_;
    connected_[node] = true;
    table_.Connected(last_session_, Name(node), {{"rack", absl::StrCat(node / 6)}});
  }
  void Ask(int node) {
    const std::string id = absl::StrCat("l", ++last_id_);
    const absl::Duration duration = absl::Seconds(1 + Roll(120));
    const v1::Lease lease = table_.Ask({Name(node), id, absl::StrCat("b", Roll(3)), duration});
    if (!lease.granted()) return;
    ++grants_;
    EXPECT_TRUE(connected_[node]);
    out_.push_back({Name(node), node / 6, id, clock_.Mono() + absl::Seconds(lease.expires_seconds())});
  }
  void ReleaseOne() {
    if (out_.empty()) return;
    const auto it = out_.begin() + Roll(static_cast<int>(out_.size()));
    table_.Release(it->node, it->id);
    out_.erase(it);
  }
  void Forget() {
    out_.erase(
        std::remove_if(out_.begin(), out_.end(), [&](const Out& o) { return o.until <= clock_.Mono(); }),
        out_.end());
  }

  LeaseTable& table_;
  FakeClock& clock_;
  std::mt19937_64 dice_;
  std::map<int, uint64_t> sessions_;
  std::map<int, bool> connected_;
  std::deque<Out> out_;
  uint64_t last_session_ = 0;
  int last_id_ = 0;
  int grants_ = 0;
};

TEST_F(LeaseTableTest, NeverMoreHoldersThanTheLimits) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    LeaseTable::Options options;
    options.seed = seed;
    MakeReady({Limit("rack", 2, {"rack"}), Limit("fleet", 5)}, options);
    Fleet fleet(*table_, clock_, seed);
    std::pair<size_t, size_t> most;
    for (int step = 0; step < 3000; ++step) {
      fleet.Step();
      const auto [rack, all] = fleet.Busiest();
      ASSERT_LE(rack, 2u) << step;
      ASSERT_LE(all, 5u) << step;
      most = {std::max(most.first, rack), std::max(most.second, all)};
    }
    EXPECT_EQ(most, (std::pair<size_t, size_t>{2, 5}));  // nor fewer than it could
    EXPECT_GT(fleet.grants(), 100);
  }
}

TEST_F(LeaseTableTest, ThreadsTogetherKeepTheLimit) {
  MakeReady({Limit("three", 3)});
  Connect(8);
  std::atomic<int> out{0};
  std::atomic<int> grants{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, name = absl::StrCat("n", i), session = static_cast<uint64_t>(100 + i)] {
      for (int round = 0; round < 300; ++round) {
        table_->Connected(session + static_cast<uint64_t>(round) * 8, name, {});
        if (!Ask(name).granted()) continue;
        EXPECT_LE(++out, 3);
        ++grants;
        --out;
        table_->Release(name, "l");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(grants, 0);
  EXPECT_EQ(table_->held(), 0u);
}

// Every node that comes back when it was told to gets its turn, in about the order of their coming.
TEST_F(LeaseTableTest, NobodyStarves) {
  constexpr int kNodes = 60;
  MakeReady({Limit("three", 3)});
  Connect(kNodes);
  const MonoTime began = clock_.Mono();
  std::map<MonoTime, std::pair<int, bool>> due;  // when a node acts, and whether it then ends its run
  std::map<int, int> turns;
  for (int i = 0; i < kNodes; ++i) due[began + absl::Milliseconds(i)] = {i, false};
  while (clock_.Mono() < began + absl::Hours(2)) {
    const auto next = due.begin();
    const auto [node, ends] = next->second;
    if (next->first > clock_.Mono()) clock_.Advance(next->first - clock_.Mono());
    due.erase(next);
    const std::string name = absl::StrCat("n", node);
    if (ends) table_->Release(name, "l");
    const v1::Lease lease = ends ? v1::Lease() : Ask(name);
    turns[node] += lease.granted() ? 1 : 0;
    const absl::Duration wait =
        lease.granted() ? absl::Seconds(20) : absl::Seconds(std::max(0.001, lease.retry_seconds()));
    MonoTime at = clock_.Mono() + wait;
    while (due.count(at) > 0) at = at + absl::Nanoseconds(1);
    due[at] = {node, lease.granted()};
  }
  // 3 places of 20 s for 60 nodes: a turn each 400 s at best, 18 in two hours.
  int least = 1000, most = 0, all = 0;
  for (int i = 0; i < kNodes; ++i) {
    least = std::min(least, turns[i]);
    most = std::max(most, turns[i]);
    all += turns[i];
  }
  RecordProperty("turns", all);
  EXPECT_GE(least, 11);
  EXPECT_LE(most - least, 4);
}

}  // namespace
}  // namespace fleetmark::collector
