// What the agent tells about itself on /metrics; docs/operations.md lists it.
//
// Thread-safety: all methods, any thread. Ownership: everything given must outlive it.
#ifndef FLEETMARK_AGENT_AGENT_METRICS_H_
#define FLEETMARK_AGENT_AGENT_METRICS_H_

#include <cstdint>
#include <string>

#include "agent/gate/gate.h"
#include "agent/schedule/budget.h"
#include "agent/spool/spool.h"
#include "agent/upload/uploader.h"
#include "common/base/mutex.h"
#include "common/http/http_server.h"
#include "common/obs/metrics.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::agent {

class AgentMetrics {
 public:
  // Whose state is looked at when /metrics is asked for.
  struct Parts {
    Spool& spool;
    Uploader& uploader;
    Gate& gate;
    Budget& budget;
  };

  AgentMetrics(Metrics& metrics, const Parts& parts);

  void CountRun(const v1::Run& run);
  // A run could not begin and is put off; `cause` as BenchmarkRunner::NotNow has it.
  void CountDeferred(const std::string& cause);
  // A scheduled run that was put off until its next time came.
  void CountMissed() { missed_.Add(); }
  void CountLost() { lost_.Add(); }
  // Logs, once for each step, that the spool dropped records.
  void NoteDrops(uint64_t dropped);

 private:
  void FollowSpool(Spool& spool);
  void FollowUploader(Uploader& uploader);
  void FollowGate(Gate& gate);
  void FollowBudget(Budget& budget);

  Metrics& metrics_;
  Counter& lost_;
  Counter& missed_;
  Counter& run_seconds_;
  Mutex mu_;
  uint64_t noted_drops_ ABSL_GUARDED_BY(mu_);
};

// /metrics, /healthz and /readyz.
void ServeAgentHttp(Metrics& metrics, HttpServer& server);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_AGENT_METRICS_H_
