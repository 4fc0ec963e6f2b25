// Has the kubelet handed a GPU or CPUs that the run would use to a pod?
//
// Thread-safety: all methods, any thread. Blocks: BeforeRun for Options::timeout at most; DuringRun never: it
// answers from a question that a thread of its own asks once a second, as long as DuringRun is called.
// Ownership: the lister and the clock must outlive it; destruction waits for a question under way.
#ifndef FLEETMARK_AGENT_GATE_POD_RESOURCES_SOURCE_H_
#define FLEETMARK_AGENT_GATE_POD_RESOURCES_SOURCE_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/time/time.h"

#include "agent/gate/gate_source.h"
#include "agent/gate/pod_lister.h"
#include "agent/gate/source_mode.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark::agent {

class PodResourcesSource final : public GateSource {
 public:
  struct Options {
    SourceMode mode = SourceMode::kAuto;  // auto: where the socket's folder is
    std::string socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
    absl::Duration timeout = absl::Seconds(2);
    absl::Duration interval = absl::Seconds(1);  // of the questions during a run
    std::set<std::string> ignore_namespaces;     // whose pods only watch the devices
    std::string own_pod;                         // "namespace/name"; may be empty
  };

  PodResourcesSource(Options options, PodLister& lister, Clock& clock);
  ~PodResourcesSource() override;

  std::string_view name() const override { return "kubernetes"; }
  GateAnswer BeforeRun(const GateQuery& query) override;
  GateAnswer DuringRun(const GateQuery& query, pid_t run) override;

 private:
  using Listing = absl::StatusOr<std::vector<PodUse>>;

  bool IsHere() const;
  GateAnswer Judge(const GateQuery& query, const Listing& listing) const;
  void StartQuestion(MonoTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  PodLister& lister_;
  Clock& clock_;

  Mutex mu_;
  std::thread asker_ ABSL_GUARDED_BY(mu_);  // one question, then it ends
  bool asking_ ABSL_GUARDED_BY(mu_) = false;
  MonoTime asked_ ABSL_GUARDED_BY(mu_);
  std::optional<Listing> last_ ABSL_GUARDED_BY(mu_);
  MonoTime last_at_ ABSL_GUARDED_BY(mu_);
};

// Is the device that a device plugin calls `device.id` this GPU, or a part or a replica of it?
bool IsSameGpu(const PodDevice& device, const Gpu& gpu);

// Is it a GPU at all?
bool IsGpuResource(const std::string& resource);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_POD_RESOURCES_SOURCE_H_
