// Who may run a benchmark that is limited across the fleet: at most so many nodes at once, in all or in each
// group of nodes that agree in some labels. Several limits may concern a run; all must allow it.
//
// A limit counts nodes, not leases: a node that holds one lease under a limit takes no second place by
// another. A lease lasts for the run's longest duration and kMargin. It ends when it is released or has run
// out, not when its node disconnects, since the run may go on; the node gets the same lease again by the same
// request id.
//
// Who is denied is remembered, and the longest waiting is granted first. A place is kept free for one that is
// expected back within kPatience, unless another limit bars it anyway; so a place is not idle for one that
// has gone away. Denials carry a delay that grows with the place in the queue and is spread at random.
//
// Leases are in memory only. After a start nothing is granted under a limit until all leases that an earlier
// process may have given under it have run out: its `longest` and kMargin.
//
// Thread-safety: all methods, any thread; none blocks. Ownership: clock and metrics outlive it, and nobody
// scrapes the metrics after its end.
// Errors: a denial is an answer, with its reason; there are no others.
#ifndef FLEETMARK_COLLECTOR_CONTROL_LEASE_TABLE_H_
#define FLEETMARK_COLLECTOR_CONTROL_LEASE_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/model/labels.h"
#include "common/obs/metrics.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::collector {

struct LeaseLimit {
  std::string name;
  std::vector<std::string> benchmarks;  // names, or patterns with * and ?
  Labels node_labels;                   // it concerns the nodes that have all of these
  size_t max_nodes = 0;                 // 0: max_share instead
  double max_share = 0;                 // of the connected nodes that it concerns, rounded down, at least one
  std::vector<std::string> per;         // it holds for each group of nodes with equal values of these labels
  absl::Duration longest = absl::Minutes(15);  // runs that may take longer get no lease
};

class LeaseTable {
 public:
  // From the request to the run's start, and from its time limit until its last process has ended.
  static constexpr absl::Duration kMargin = absl::Minutes(1);
  static constexpr absl::Duration kPatience = absl::Seconds(15);

  struct Options {
    std::vector<LeaseLimit> limits;
    size_t max_leases = 20'000;
    size_t max_leases_per_node = 64;
    size_t max_waiting = 4096;
    uint64_t seed = 0;  // of the delays
  };

  struct Request {
    std::string node;
    std::string request_id;
    std::string benchmark;
    absl::Duration duration;  // the run's time limit
  };

  LeaseTable(Options options, Metrics& metrics, Clock& clock);

  // Of a node's sessions the one with the highest id counts.
  void Connected(uint64_t session_id, const std::string& node, const Labels& labels);
  void Disconnected(uint64_t session_id, const std::string& node);

  v1::Lease Ask(const Request& request);
  // An unknown lease is none.
  void Release(const std::string& node, const std::string& request_id);

  size_t held();
  size_t waiting();

 private:
  // The nodes for which a limit holds together.
  struct Group {
    size_t limit = 0;
    std::string shown;  // "rack=r7"; empty without `per`
    size_t connected = 0;
    std::map<std::string, std::vector<std::string>> holders;  // benchmarks that run, by node
  };
  using Groups = std::vector<std::string>;  // keys of groups_

  struct Node {
    uint64_t session_id = 0;
    std::vector<std::optional<std::string>> groups;  // by limit; none: it does not concern the node
  };
  using LeaseKey = std::pair<std::string, std::string>;  // node, request id
  struct HeldLease {
    std::string benchmark;
    Groups groups;
    MonoTime expires;
  };
  struct Waiter {
    std::string node;
    std::string benchmark;
    Groups groups;
    MonoTime due_back;
  };
  using Place = std::pair<MonoTime, uint64_t>;  // since when; the second only tells equal ones apart
  using Waiters = std::map<Place, Waiter>;
  struct Denial {
    std::string limit;
    std::string reason;
    absl::Duration retry;
    bool waits = true;
  };
  using Extra = std::map<std::string, size_t, std::less<>>;  // nodes beside the holders, by group

  Groups GroupsOf(const Node& node, std::string_view benchmark) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t Capacity(const Group& group) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Fits(const std::string& node, const std::string& group, const Extra& extra) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The first group that has no place left for the node.
  const std::string* Obstacle(const std::string& node, const Groups& groups, const Extra& extra) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Extra KeptForOthers(Waiters::const_iterator end, MonoTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  v1::Lease Decide(const Request& request, const Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<Denial> CheckLimits(const Request& request, const Groups& groups)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<Denial> CheckBounds(const Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<Denial> CheckPlaces(const Request& request, const Groups& groups)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Duration RetryAfter(const std::string& group, Waiters::const_iterator end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string Describe(const std::string& group) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  v1::Lease Grant(const Request& request, Groups groups) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  v1::Lease Deny(const Request& request, const Groups& groups, const Denial& denial)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Waiters::iterator FindWaiter(const std::string& node, const std::string& benchmark)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EraseWaiter(Waiters::iterator it) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EraseLease(const LeaseKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Expire() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EraseIfIdle(const std::string& group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Leave(const Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Duration Spread(absl::Duration mean) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  Clock& clock_;
  const MonoTime started_;
  Counter& granted_;
  std::map<std::string, Counter*> denied_;  // by limit; empty: the table's own bounds

  Mutex mu_;
  std::mt19937_64 rng_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Node> nodes_ ABSL_GUARDED_BY(mu_);  // connected
  absl::flat_hash_map<std::string, Group> groups_ ABSL_GUARDED_BY(mu_);
  std::map<LeaseKey, HeldLease> leases_ ABSL_GUARDED_BY(mu_);
  std::set<std::pair<MonoTime, LeaseKey>> by_expiry_ ABSL_GUARDED_BY(mu_);
  Waiters waiters_ ABSL_GUARDED_BY(mu_);
  std::map<std::pair<std::string, std::string>, Place> places_ ABSL_GUARDED_BY(mu_);  // by node, benchmark
  uint64_t last_place_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_CONTROL_LEASE_TABLE_H_
