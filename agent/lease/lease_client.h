// Asks the collector for leave to start a run that it limits across the fleet (docs/configuration.md).
//
// A lease's time is counted from before the request went out, so that here it never outlives what the
// collector counts, however long the answer was under way. A lease that is lost, denied or over means: do not
// start.
//
// A request that nobody waits for any more is taken back by a release, as its answer may be a grant.
//
// Thread-safety: all methods, any thread. Ask blocks its thread, no other method does. `send` is called with
// no lock held. Ownership: the clock outlives it. Errors of Ask: ResourceExhausted (denied; the collector's
// reason, and RetryAfter), Unavailable (no connection, or it was lost), DeadlineExceeded (no answer in time),
// Cancelled (Stop).
#ifndef FLEETMARK_AGENT_LEASE_LEASE_CLIENT_H_
#define FLEETMARK_AGENT_LEASE_LEASE_CLIENT_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {

struct LeaseGrant {
  std::string request_id;  // for Release
  MonoTime start_by;       // started later, the run might outlast the lease
  MonoTime expires;

  bool MayStart(MonoTime now) const { return now < start_by; }
};

// When a denied request may be tried again; nothing for other errors.
std::optional<absl::Duration> RetryAfter(const absl::Status& status);

class LeaseClient {
 public:
  // From a run's time limit until its last process has ended.
  static constexpr absl::Duration kEnding = absl::Seconds(15);

  // `send` puts a message into the outbox; false when there is no connection.
  LeaseClient(std::function<bool(v1::AgentMessage)> send, Clock& clock)
      : send_(std::move(send)), clock_(clock) {}

  // Waits up to `timeout` for the answer. `duration` is the run's time limit.
  absl::StatusOr<LeaseGrant> Ask(const std::string& benchmark, absl::Duration duration,
                                 absl::Duration timeout);

  // The run has ended, or does not start. Without a connection the lease runs out at the collector.
  void Release(const std::string& request_id);

  void OnLease(const v1::Lease& lease);
  // Ends what waits, with Unavailable. `why` is for people.
  void Disconnected(const absl::Status& why);
  // Ends what waits, and whatever is asked from now on, with Cancelled.
  void Stop();

 private:
  struct Waiting {
    std::optional<v1::Lease> lease;
    absl::Status failed;
  };

  void FailAll(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits until there is an answer, and gives it.
  absl::StatusOr<v1::Lease> Await(const std::string& request_id, MonoTime deadline);

  const std::function<bool(v1::AgentMessage)> send_;
  Clock& clock_;
  Mutex mu_;
  CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::map<std::string, Waiting> waiting_ ABSL_GUARDED_BY(mu_);  // by request id; one for each thread in Ask
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_LEASE_LEASE_CLIENT_H_
