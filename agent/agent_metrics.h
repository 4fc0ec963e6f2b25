// What the agent tells about itself on /metrics.
//
// Thread-safety: all methods, any thread. Ownership: everything given must outlive it.
#ifndef FLEETMARK_AGENT_AGENT_METRICS_H_
#define FLEETMARK_AGENT_AGENT_METRICS_H_

#include <cstdint>
#include <string>

#include "agent/spool/spool.h"
#include "agent/upload/uploader.h"
#include "common/base/mutex.h"
#include "common/http/http_server.h"
#include "common/obs/metrics.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::agent {

class AgentMetrics {
 public:
  AgentMetrics(Metrics& metrics, Spool& spool, Uploader& uploader);

  void CountRun(const v1::Run& run);
  void CountLost() { lost_.Add(); }
  // Logs, once for each step, that the spool dropped records.
  void NoteDrops(uint64_t dropped);

 private:
  Metrics& metrics_;
  Counter& lost_;
  Counter& run_seconds_;
  Mutex mu_;
  uint64_t noted_drops_ ABSL_GUARDED_BY(mu_);
};

// /metrics, /healthz and /readyz.
void ServeAgentHttp(Metrics& metrics, HttpServer& server);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_AGENT_METRICS_H_
