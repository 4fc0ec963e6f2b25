#include "agent/gate/pressure_source.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace fleetmark::agent {
namespace {

// avg10 halves in seven seconds: after this it has forgotten what a run of ours caused.
constexpr absl::Duration kPressureForgets = absl::Seconds(20);
// A watch that was interrupted for longer begins anew.
constexpr absl::Duration kLongestGap = absl::Seconds(2);
constexpr absl::Duration kForgetRun = absl::Seconds(10);

std::string Percent(double share) { return absl::StrFormat("%.0f %%", 100 * share); }

}  // namespace

PressureSource::PressureSource(Options options, Clock& clock)
    : options_([&] {
        if (options.self == 0) options.self = getpid();
        return std::move(options);
      }()),
      clock_(clock),
      proc_(options_.root),
      meter_(proc_) {}

bool PressureSource::AsksCpu(const GateQuery& query) const {
  return options_.cpu_busy < 1 && (query.cpu_exclusive || !options_.exclusive_only);
}

std::string PressureSource::TooMuch(const GateQuery& query, const ForeignCpu& use) const {
  // A run that does not need the CPU for itself, as one of the disk, makes the kernel's threads work.
  const double share = query.cpu_exclusive ? use.all : use.user;
  if (share <= options_.cpu_busy) return "";
  return absl::StrCat("other processes use ", Percent(share), " of the CPUs (limit ",
                      Percent(options_.cpu_busy), ")");
}

GateAnswer PressureSource::CheckPressure() const {
  const std::pair<const char*, double> limits[] = {{"memory", options_.memory}, {"io", options_.io}};
  for (const auto& [resource, limit] : limits) {
    const std::optional<double> pressure = limit < 1 ? proc_.Pressure(resource) : std::nullopt;
    if (!pressure.has_value() || *pressure <= limit) continue;
    return GateAnswer::Busy(absl::StrCat("processes wait for ", resource, " ", Percent(*pressure),
                                         " of the time (limit ", Percent(limit), ")"));
  }
  return GateAnswer::Free();
}

GateAnswer PressureSource::CheckCpu(const GateQuery& query) {
  const std::vector<pid_t> own = {options_.self};
  const std::optional<CpuSample> before = meter_.Take(own);
  if (!before.has_value()) return GateAnswer::Unknown("/proc/stat can't be read");
  WaitFor(clock_, options_.window);
  const std::optional<CpuSample> after = meter_.Take(own, &*before);
  if (!after.has_value()) return GateAnswer::Unknown("/proc/stat can't be read");
  const std::optional<ForeignCpu> use = CpuMeter::Between(*before, *after);
  if (!use.has_value()) return GateAnswer::Unknown("the CPU times in /proc/stat stand still");
  std::string reason = TooMuch(query, *use);
  return reason.empty() ? GateAnswer::Free() : GateAnswer::Busy(std::move(reason));
}

GateAnswer PressureSource::BeforeRun(const GateQuery& query) {
  bool pressure_is_ours = false;
  {
    MutexLock lock(mu_);
    DropOld(clock_.Mono());
    pressure_is_ours = last_run_.has_value() && clock_.Mono() - *last_run_ < kPressureForgets;
  }
  if (!pressure_is_ours) {
    const GateAnswer answer = CheckPressure();
    if (!answer.free()) return answer;
  }
  return AsksCpu(query) ? CheckCpu(query) : GateAnswer::Free();
}

GateAnswer PressureSource::DuringRun(const GateQuery& query, pid_t run) {
  const MonoTime now = clock_.Mono();
  std::optional<Watched> before;
  {
    MutexLock lock(mu_);
    last_run_ = now;
    if (const auto it = watched_.find(run); it != watched_.end()) before = it->second;
  }
  if (!AsksCpu(query)) return GateAnswer::Free();
  if (before.has_value() && now - before->at < options_.window * 0.9) return before->answer;
  if (before.has_value() && now - before->at > kLongestGap) before.reset();

  Watched after;
  after.at = now;
  std::optional<CpuSample> sample =
      meter_.Take({options_.self, run}, before.has_value() ? &before->sample : nullptr);
  if (!sample.has_value()) return GateAnswer::Unknown("/proc/stat can't be read");
  after.sample = *std::move(sample);
  if (before.has_value()) {
    const std::optional<ForeignCpu> use = CpuMeter::Between(before->sample, after.sample);
    const std::string reason = use.has_value() ? TooMuch(query, *use) : "";
    if (!reason.empty()) {
      after.over = before->over + (now - before->at);
      if (after.over >= options_.lasting) after.answer = GateAnswer::Busy(reason);
    }
  }
  GateAnswer answer = after.answer;
  MutexLock lock(mu_);
  watched_[run] = std::move(after);
  return answer;
}

void PressureSource::DropOld(MonoTime now) {
  std::erase_if(watched_, [now](const auto& entry) { return now - entry.second.at > kForgetRun; });
}

}  // namespace fleetmark::agent
