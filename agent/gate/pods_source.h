// Do pods of others compute on this node? From the cgroups that the kubelet makes, v1 or v2, by systemd's
// driver or its own. Also: has an administrator set the node aside for maintenance? Then pods don't matter.
//
// Thread-safety: all methods, any thread. Blocks: BeforeRun for Options::window at most. Ownership: the
// clock outlives it.
#ifndef FLEETMARK_AGENT_GATE_PODS_SOURCE_H_
#define FLEETMARK_AGENT_GATE_PODS_SOURCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

#include "agent/gate/gate_source.h"
#include "agent/gate/source_mode.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark::agent {

class PodsSource final : public GateSource {
 public:
  struct Options {
    SourceMode mode = SourceMode::kAuto;  // auto: where there are pods' cgroups
    double pod_cpu = 0.5;                 // CPUs that all other pods may use together
    std::string own_pod_uid;              // empty: POD_UID of the environment, else from /proc/self/cgroup
    // A file that holds `maintenance_match` ("key=value") while the node is set aside, for example the labels
    // that the downward API writes, as key="value" lines. Empty: none.
    std::string maintenance_file;
    std::string maintenance_match;
    bool maintenance_required = false;  // busy whenever the node is not set aside
    absl::Duration window = absl::Milliseconds(200);
    absl::Duration interval = absl::Seconds(1);  // of the looks during a run
    std::string cgroup_root = "/sys/fs/cgroup";
  };

  PodsSource(Options options, Clock& clock);

  std::string_view name() const override { return "pods"; }
  GateAnswer BeforeRun(const GateQuery& query) override;
  GateAnswer DuringRun(const GateQuery& query, pid_t run) override;

 private:
  struct Sample {
    MonoTime at;
    std::map<std::string, int64_t> used_usec;  // by the pod's uid
  };

  // Nothing when there is no cgroup of pods.
  std::optional<Sample> Take() const;
  GateAnswer Judge(const Sample& before, const Sample& after) const;
  bool InMaintenance() const;
  // The answer where the pods need not be looked at.
  std::optional<GateAnswer> FromMaintenance() const;
  GateAnswer NoPods() const;

  const Options options_;
  Clock& clock_;

  Mutex mu_;
  std::optional<Sample> last_ ABSL_GUARDED_BY(mu_);
  GateAnswer answer_ ABSL_GUARDED_BY(mu_);  // of the last interval
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_PODS_SOURCE_H_
