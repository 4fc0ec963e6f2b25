#include "agent/gate/pods_source.h"

#include <stdlib.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "agent/gate/proc_reader.h"
#include "common/base/file.h"
#include "common/run/cgroup.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kFileBytes = 1 << 20;
// What was measured over a longer time than this says little about now.
constexpr absl::Duration kLongestGap = absl::Seconds(5);

// The uid in the name of a pod's cgroup: "pod<uid>", "kubepods-burstable-pod<uid, with _>.slice". Empty for
// any other.
std::string PodUid(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "pod")) {
    const size_t at = name.find("-pod");
    if (at == absl::string_view::npos) return "";
    name.remove_prefix(at + 4);
  }
  absl::ConsumeSuffix(&name, ".slice");
  return absl::StrReplaceAll(name, {{"_", "-"}});
}

std::optional<int64_t> UsedUsec(const std::string& folder) {
  if (const std::optional<uint64_t> usec = CgroupCount(folder + "/cpu.stat", "usage_usec")) {
    return static_cast<int64_t>(*usec);
  }
  const absl::StatusOr<std::string> v1 = ReadFile(folder + "/cpuacct.usage", kFileBytes);
  int64_t nanoseconds = 0;
  if (v1.ok() && absl::SimpleAtoi(*v1, &nanoseconds)) return nanoseconds / 1000;
  return std::nullopt;
}

void AddPods(const std::string& folder, bool descend, std::map<std::string, int64_t>& out) {
  for (const std::string& name : FolderNames(folder).value_or(std::vector<std::string>())) {
    const std::string path = absl::StrCat(folder, "/", name);
    if (const std::string uid = PodUid(name); !uid.empty()) {
      if (const std::optional<int64_t> used = UsedUsec(path)) out[uid] = *used;
    } else if (descend && (absl::StrContains(name, "burstable") || absl::StrContains(name, "besteffort"))) {
      AddPods(path, false, out);
    }
  }
}

std::string OwnPodUid() {
  if (const char* uid = getenv("POD_UID"); uid != nullptr && *uid != '\0') return uid;
  const absl::StatusOr<std::string> text = ReadFile("/proc/self/cgroup", kFileBytes);
  for (absl::string_view part : absl::StrSplit(text.ok() ? *text : "", absl::ByAnyChar("/\n"))) {
    if (const std::string uid = PodUid(part); uid.size() == 36) return uid;
  }
  return "";
}

}  // namespace

PodsSource::PodsSource(Options options, Clock& clock)
    : options_([&] {
        if (options.own_pod_uid.empty()) options.own_pod_uid = OwnPodUid();
        return std::move(options);
      }()),
      clock_(clock) {}

bool PodsSource::InMaintenance() const {
  if (options_.maintenance_file.empty()) return false;
  const absl::StatusOr<std::string> text = ReadFile(options_.maintenance_file, kFileBytes);
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(text.ok() ? *text : "", '\n', absl::SkipWhitespace()))) {
    std::string plain = absl::StrReplaceAll(line, {{"\"", ""}, {"\r", ""}});
    if (absl::StripAsciiWhitespace(plain) == options_.maintenance_match) return true;
  }
  return false;
}

std::optional<GateAnswer> PodsSource::FromMaintenance() const {
  if (InMaintenance()) return GateAnswer::Free();
  if (!options_.maintenance_required) return std::nullopt;
  return GateAnswer::Busy(absl::StrCat("the node is not set aside: ", options_.maintenance_file, " has no ",
                                       options_.maintenance_match));
}

std::optional<PodsSource::Sample> PodsSource::Take() const {
  Sample sample;
  sample.at = clock_.Mono();
  bool found = false;
  for (const char* controller : {"", "/cpu,cpuacct", "/cpuacct"}) {
    for (const char* top : {"/kubepods.slice", "/kubepods"}) {
      const std::string folder = absl::StrCat(options_.cgroup_root, controller, top);
      if (!FolderNames(folder, 1).has_value()) continue;
      found = true;
      AddPods(folder, true, sample.used_usec);
    }
  }
  if (!found) return std::nullopt;
  return sample;
}

GateAnswer PodsSource::Judge(const Sample& before, const Sample& after) const {
  const double elapsed_usec = absl::ToDoubleMicroseconds(after.at - before.at);
  if (elapsed_usec <= 0) return GateAnswer::Free();
  double cpus = 0, most = 0;
  std::string who;
  for (const auto& [uid, used] : after.used_usec) {
    const auto known = before.used_usec.find(uid);
    if (known == before.used_usec.end() || uid == options_.own_pod_uid) continue;
    const double use = static_cast<double>(std::max<int64_t>(0, used - known->second)) / elapsed_usec;
    cpus += use;
    if (use > most) {
      most = use;
      who = uid;
    }
  }
  if (cpus <= options_.pod_cpu) return GateAnswer::Free();
  return GateAnswer::Busy(absl::StrFormat("other pods use %.1f CPUs (limit %.1f), most of all pod %s", cpus,
                                          options_.pod_cpu, who));
}

GateAnswer PodsSource::NoPods() const {
  if (options_.mode != SourceMode::kOn) return GateAnswer::Free();
  return GateAnswer::Unknown(absl::StrCat("there are no cgroups of pods in ", options_.cgroup_root));
}

GateAnswer PodsSource::BeforeRun(const GateQuery&) {
  if (options_.mode == SourceMode::kOff) return GateAnswer::Free();
  if (std::optional<GateAnswer> answer = FromMaintenance()) return *std::move(answer);
  const std::optional<Sample> before = Take();
  if (!before.has_value()) return NoPods();
  if (before->used_usec.empty()) return GateAnswer::Free();
  WaitFor(clock_, options_.window);
  const std::optional<Sample> after = Take();
  return after.has_value() ? Judge(*before, *after) : NoPods();
}

GateAnswer PodsSource::DuringRun(const GateQuery&, pid_t) {
  if (options_.mode == SourceMode::kOff) return GateAnswer::Free();
  std::optional<Sample> before;
  {
    MutexLock lock(mu_);
    if (last_.has_value() && clock_.Mono() - last_->at < options_.interval) return answer_;
    before = last_;
  }
  GateAnswer answer;
  std::optional<Sample> after;
  if (std::optional<GateAnswer> maintenance = FromMaintenance()) {
    answer = *std::move(maintenance);
    after = Sample{clock_.Mono(), {}};
  } else if (after = Take(); !after.has_value()) {
    answer = NoPods();
    after = Sample{clock_.Mono(), {}};
  } else if (before.has_value() && after->at - before->at <= kLongestGap) {
    answer = Judge(*before, *after);
  }
  MutexLock lock(mu_);
  last_ = std::move(after);
  answer_ = answer;
  return answer;
}

}  // namespace fleetmark::agent
