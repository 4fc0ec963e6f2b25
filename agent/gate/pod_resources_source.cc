#include "agent/gate/pod_resources_source.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace fleetmark::agent {
namespace {

// After a failure nobody needs to ask sooner.
constexpr absl::Duration kRetryAfter = absl::Seconds(10);
// An answer during a run that is older than this says nothing any more.
constexpr int kStaleIntervals = 3;

bool IsDigits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// The 3 of "gpu3", "gpu-3" or "3"; empty for anything else.
std::string IndexOf(const std::string& name) {
  absl::string_view rest = name;
  absl::ConsumePrefix(&rest, "gpu");
  absl::ConsumePrefix(&rest, "-");
  return IsDigits(std::string(rest)) ? std::string(rest) : "";
}

}  // namespace

bool IsGpuResource(const std::string& resource) {
  const std::string name = absl::AsciiStrToLower(resource);
  return absl::StrContains(name, "gpu") || absl::StartsWith(name, "nvidia.com/mig-");
}

bool IsSameGpu(const PodDevice& device, const Gpu& gpu) {
  // Replicas of a shared GPU are "GPU-…::3".
  const std::string id = absl::AsciiStrToLower(device.id.substr(0, device.id.find("::")));
  const std::string uuid = absl::AsciiStrToLower(gpu.uuid);
  const std::string pci = absl::AsciiStrToLower(gpu.pci_address);
  if (!uuid.empty() && id == uuid) return true;
  if (!pci.empty() && (id == pci || absl::StrCat("0000:", id) == pci)) return true;
  const std::string resource = absl::AsciiStrToLower(device.resource);
  if (!IsGpuResource(resource) || !absl::StrContains(resource, gpu.vendor)) return false;
  if (const std::string index = IndexOf(id); !index.empty()) return index == IndexOf(gpu.name);
  // A part of a GPU: older MIG devices name their GPU, "MIG-GPU-…/1/0". Newer ones and AMD's partitions do
  // not tell whose they are: they may be any's.
  if (absl::StartsWith(id, "mig-gpu-")) return !uuid.empty() && absl::StartsWith(id.substr(4), uuid);
  return absl::StartsWith(id, "mig-") || absl::StrContains(id, "xcp");
}

PodResourcesSource::PodResourcesSource(Options options, PodLister& lister, Clock& clock)
    : options_(std::move(options)), lister_(lister), clock_(clock) {}

PodResourcesSource::~PodResourcesSource() {
  std::thread asker;
  {
    MutexLock lock(mu_);
    asker = std::move(asker_);
  }
  if (asker.joinable()) asker.join();
}

bool PodResourcesSource::IsHere() const {
  if (options_.mode != SourceMode::kAuto) return options_.mode == SourceMode::kOn;
  // The folder, not the socket: a kubelet that is being restarted has none for a moment.
  const std::string folder = options_.socket.substr(0, options_.socket.rfind('/') + 1);
  return access(folder.c_str(), F_OK) == 0;
}

GateAnswer PodResourcesSource::Judge(const GateQuery& query, const Listing& listing) const {
  if (!listing.ok()) {
    return GateAnswer::Unknown(std::string(listing.status().message()), kRetryAfter);
  }
  for (const PodUse& use : *listing) {
    const std::string pod = absl::StrCat(use.space, "/", use.pod);
    if (pod == options_.own_pod || options_.ignore_namespaces.count(use.space) != 0) continue;
    if (query.cpu_exclusive && use.exclusive_cpus != 0) {
      return GateAnswer::Busy(absl::StrCat("pod ", pod, " has ", use.exclusive_cpus, " CPUs of its own"));
    }
    if (!query.uses_gpu) continue;
    for (const PodDevice& device : use.devices) {
      if (query.gpus.empty() && IsGpuResource(device.resource)) {
        return GateAnswer::Busy(absl::StrCat("pod ", pod, " has ", device.resource, " ", device.id));
      }
      for (const Gpu& gpu : query.gpus) {
        if (!IsSameGpu(device, gpu)) continue;
        return GateAnswer::Busy(absl::StrCat("pod ", pod, " has ", gpu.name, " (", device.id, ")"));
      }
    }
  }
  return GateAnswer::Free();
}

GateAnswer PodResourcesSource::BeforeRun(const GateQuery& query) {
  if (!IsHere() || (!query.uses_gpu && !query.cpu_exclusive)) return GateAnswer::Free();
  Listing listing = lister_.List(options_.timeout);
  GateAnswer answer = Judge(query, listing);
  MutexLock lock(mu_);
  last_ = std::move(listing);
  last_at_ = clock_.Mono();
  return answer;
}

void PodResourcesSource::StartQuestion(MonoTime now) {
  if (asker_.joinable()) asker_.join();  // it has ended: asking_ is false
  asking_ = true;
  asked_ = now;
  asker_ = std::thread([this] {
    Listing listing = lister_.List(options_.timeout);
    MutexLock lock(mu_);
    last_ = std::move(listing);
    last_at_ = clock_.Mono();
    asking_ = false;
  });
}

GateAnswer PodResourcesSource::DuringRun(const GateQuery& query, pid_t) {
  if (!IsHere() || (!query.uses_gpu && !query.cpu_exclusive)) return GateAnswer::Free();
  MutexLock lock(mu_);
  const MonoTime now = clock_.Mono();
  if (!asking_ && now - asked_ >= options_.interval) StartQuestion(now);
  if (!last_.has_value()) return GateAnswer::Unknown("the kubelet has not answered yet");
  if (now - last_at_ > options_.timeout + options_.interval * kStaleIntervals) {
    return GateAnswer::Unknown("the kubelet's last answer is too old");
  }
  return Judge(query, *last_);
}

}  // namespace fleetmark::agent
