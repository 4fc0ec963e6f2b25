// The agents that are connected: how each is doing, and what is asked of it.
//
// A session is one stream of one agent. A second agent for the same node takes the node over; the first
// one's link is closed. Messages go out through the session's link, whatever carries it.
//
// Thread-safety: all methods, any thread. Callbacks run in the calling thread with no lock held.
// Ownership: holds a session's link until Disconnect, and a follower until its run has ended.
// Errors: Unavailable (the node's agent is not connected, or its outbox is full), ResourceExhausted (too
// many runs are followed), InvalidArgument (CancelRun: not exactly one id).
#ifndef FLEETMARK_COLLECTOR_CONTROL_SESSIONS_H_
#define FLEETMARK_COLLECTOR_CONTROL_SESSIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "fleetmark/v1/agent.pb.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

class Sessions {
 public:
  struct Options {
    size_t max_followed_runs = 1024;
  };

  // A session's way to its agent.
  struct Link {
    std::function<bool(const v1::CollectorMessage&)> send;  // false when its outbox is full or closed
    std::function<void(const absl::Status&)> close;
  };

  // Who follows a run. Calls for one run come one after another; `on_end` comes once and last: OK after a
  // finished or refused run, Unavailable when the agent has gone away.
  struct Follower {
    std::function<void(const v1::RunProgress&)> on_progress;
    std::function<void(const absl::Status&)> on_end;
  };

  Sessions(const Options& options, Clock& clock) : options_(options), clock_(clock) {}

  // --- what a stream reports; for one session one call at a time, and Disconnect last -------------------

  // The new session's id, never 0. Closes the link of an older session of this node (AlreadyExists).
  uint64_t Connect(const std::string& node, Link link);
  // Ends the runs that are followed through it. True when the node has no session now.
  bool Disconnect(uint64_t session_id);
  void OnHeartbeat(uint64_t session_id, const v1::Heartbeat& heartbeat);
  void OnProgress(uint64_t session_id, const v1::RunProgress& progress);

  // --- what others ask ---------------------------------------------------------------------------------

  // Asks the node to run a benchmark now; the request's id. Progress comes to `follower`, perhaps before
  // this returns.
  absl::StatusOr<std::string> RunNow(const v1::RunNowRequest& request, v1::Trigger trigger,
                                     Follower follower);
  // Nobody wants the progress any more; the run goes on. A call that is under way may still come.
  void Unfollow(const std::string& request_id);
  absl::Status CancelRun(const v1::CancelRunRequest& request);

  // Sets state, and of a connected node heartbeat and last_seen_unix_ns.
  void FillLive(v1::Node* node) const;
  size_t connected() const;

 private:
  struct Session {
    std::string node;
    std::shared_ptr<const Link> link;
    v1::Heartbeat heartbeat;
    absl::Time last_seen;
  };
  struct Followed {
    uint64_t session_id = 0;
    std::shared_ptr<const Follower> follower;
  };

  std::shared_ptr<const Link> LinkOf(const std::string& node) const;

  const Options options_;
  Clock& clock_;
  mutable Mutex mu_;
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<uint64_t, Session> sessions_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, uint64_t> by_node_ ABSL_GUARDED_BY(mu_);   // the one that speaks now
  absl::flat_hash_map<std::string, Followed> followed_ ABSL_GUARDED_BY(mu_);  // by request id
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_CONTROL_SESSIONS_H_
