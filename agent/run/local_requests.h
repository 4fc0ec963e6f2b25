// Runs that were asked for on this node, by `fleetmark-agent run`, and who waits for them.
//
// Thread-safety: all methods, any thread. Await blocks. Ownership: the clock outlives it.
#ifndef FLEETMARK_AGENT_RUN_LOCAL_REQUESTS_H_
#define FLEETMARK_AGENT_RUN_LOCAL_REQUESTS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {

class LocalRequests {
 public:
  static constexpr size_t kMaxWaiting = 16;

  explicit LocalRequests(Clock& clock) : clock_(clock) {}

  // Before the run is asked for. ResourceExhausted when as many as allowed wait.
  absl::Status Add(const std::string& request_id);

  // False when the request is none of these.
  bool OnProgress(const v1::RunProgress& progress);

  // The last word on the request: finished or refused. DeadlineExceeded when there is none by `deadline`.
  // Forgets the request.
  absl::StatusOr<v1::RunProgress> Await(const std::string& request_id, MonoTime deadline);

  // Wakes those that wait; their answer is Cancelled.
  void Stop();

 private:
  Clock& clock_;
  Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::map<std::string, std::optional<v1::RunProgress>> requests_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_RUN_LOCAL_REQUESTS_H_
