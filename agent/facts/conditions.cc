#include "agent/facts/conditions.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace fleetmark::agent {
namespace {

using States = std::map<std::string, std::string>;
using Counters = std::map<std::string, double>;

constexpr const char* kCpus = "/sys/devices/system/cpu";
constexpr size_t kMaxCpus = 4096;
constexpr size_t kMaxSensors = 256;
// Kernels before 5.18 may wait 10 ms for each processor whose clock is asked for.
constexpr size_t kMaxClocks = 16;

// --- reading ---------------------------------------------------------------------------------------------

std::optional<double> Number(std::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(absl::string_view(text.data(), text.size()), &value)) return std::nullopt;
  return value;
}

std::optional<double> NumberIn(const FactSources& sources, const std::string& path) {
  return Number(sources.Line(path).value_or(""));
}

// The first number after `key` at the start of a line.
std::optional<double> NumberAfter(std::string_view text, std::string_view key) {
  for (absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    if (!absl::StartsWith(line, absl::string_view(key.data(), key.size()))) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line.substr(key.size()), ' ', absl::SkipEmpty());
    if (!words.empty()) return Number({words[0].data(), words[0].size()});
  }
  return std::nullopt;
}

std::vector<std::string> Numbered(const FactSources& sources, const std::string& folder,
                                  const std::string& prefix) {
  std::vector<std::string> paths;
  for (const std::string& name : sources.List(folder)) {
    const bool is_one = absl::StartsWith(name, prefix) && name.size() > prefix.size() &&
                        name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
    if (is_one) paths.push_back(absl::StrCat(folder, "/", name));
  }
  return paths;
}

void Raise(std::optional<double> value, std::optional<double>* highest) {
  if (value.has_value() && (!highest->has_value() || *value > **highest)) *highest = value;
}

void Put(const std::string& name, std::optional<double> value, States& states) {
  if (!value.has_value()) return;
  // Bytes keep all their digits.
  const bool is_whole = *value == std::floor(*value) && std::abs(*value) < 1e15;
  states[name] = is_whole ? absl::StrCat(static_cast<int64_t>(*value)) : absl::StrCat(*value);
}

// --- states ----------------------------------------------------------------------------------------------

// Others' sensors are left alone: asking a disk's sends it a command, and what it says is not the
// processor's.
bool IsProcessorSensor(const std::string& name) {
  for (const char* known : {"coretemp", "k10temp", "k8temp", "zenpower", "cpu_thermal", "soc_thermal"}) {
    if (name == known) return true;
  }
  return false;
}

// In degrees Celsius. Thermal zones where no processor's sensor is known.
std::optional<double> HighestTemperature(const FactSources& sources) {
  std::optional<double> highest;
  size_t sensors = 0;
  for (const std::string& chip : Numbered(sources, "/sys/class/hwmon", "hwmon")) {
    if (!IsProcessorSensor(sources.Line(chip + "/name").value_or(""))) continue;
    for (const std::string& name : sources.List(chip)) {
      if (!absl::StartsWith(name, "temp") || !absl::EndsWith(name, "_input")) continue;
      if (++sensors <= kMaxSensors) Raise(NumberIn(sources, absl::StrCat(chip, "/", name)), &highest);
    }
  }
  if (!highest.has_value()) {
    for (const std::string& zone : Numbered(sources, "/sys/class/thermal", "thermal_zone")) {
      if (++sensors <= kMaxSensors) Raise(NumberIn(sources, zone + "/temp"), &highest);
    }
  }
  if (highest.has_value()) *highest /= 1000;
  return highest;
}

void AddClocks(const FactSources& sources, States& states) {
  const auto policies = Numbered(sources, absl::StrCat(kCpus, "/cpufreq"), "policy");
  const size_t step = std::max<size_t>(1, (policies.size() + kMaxClocks - 1) / kMaxClocks);
  double sum = 0;
  double lowest = 0;
  int count = 0;
  for (size_t i = 0; i < policies.size(); i += step) {
    const auto khz = NumberIn(sources, policies[i] + "/scaling_cur_freq");
    if (!khz.has_value()) continue;
    sum += *khz;
    lowest = count == 0 ? *khz : std::min(lowest, *khz);
    ++count;
  }
  if (count == 0) return;
  Put("cpu_clock_mean_mhz_after", sum / count / 1000, states);
  Put("cpu_clock_min_mhz_after", lowest / 1000, states);
}

void AddMemory(const FactSources& sources, States& states) {
  const auto kib = NumberAfter(sources.Text("/proc/meminfo").value_or(""), "MemAvailable:");
  if (kib.has_value()) Put("memory_available_bytes_before", *kib * 1024, states);
}

// --- counters --------------------------------------------------------------------------------------------

// A package's count is shown by each of its processors; hence the highest of these, and the sum of cores'.
void AddThrottling(const FactSources& sources, Counters& counters) {
  std::optional<double> cores;
  std::optional<double> package;
  size_t cpus = 0;
  for (const std::string& cpu : Numbered(sources, kCpus, "cpu")) {
    if (++cpus > kMaxCpus) break;
    const std::string folder = cpu + "/thermal_throttle";
    const auto core = NumberIn(sources, folder + "/core_throttle_count");
    if (core.has_value()) cores = cores.value_or(0) + *core;
    Raise(NumberIn(sources, folder + "/package_throttle_count"), &package);
  }
  if (cores.has_value()) counters["throttle_core_count"] = *cores;
  if (package.has_value()) counters["throttle_package_count"] = *package;
}

void AddPressure(const FactSources& sources, const std::string& resource, Counters& counters) {
  const std::string text = sources.Text("/proc/pressure/" + resource).value_or("");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() < 5 || !absl::StartsWith(words[4], "total=")) continue;
    if (words[0] == "full" && resource == "cpu") continue;  // means nothing for the whole machine
    const absl::string_view total = words[4].substr(6);
    const auto microseconds = Number({total.data(), total.size()});
    if (microseconds.has_value())
      counters[absl::StrCat("psi_", resource, "_", words[0], "_percent")] = *microseconds;
  }
}

void AddMemoryEvents(const FactSources& sources, Counters& counters) {
  const std::string text = sources.Text("/proc/vmstat").value_or("");
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  const struct {
    const char* key;
    const char* name;
    double factor;
  } events[] = {{"pswpin ", "swap_in_bytes", page},
                {"pswpout ", "swap_out_bytes", page},
                {"pgmajfault ", "major_faults", 1},
                {"oom_kill ", "oom_kills", 1}};
  for (const auto& event : events) {
    const auto value = NumberAfter(text, event.key);
    if (value.has_value()) counters[event.name] = *value * event.factor;
  }
}

void AddHardwareErrors(const FactSources& sources, Counters& counters) {
  for (const std::string& controller : Numbered(sources, "/sys/devices/system/edac/mc", "mc")) {
    const auto corrected = NumberIn(sources, controller + "/ce_count");
    const auto uncorrected = NumberIn(sources, controller + "/ue_count");
    if (corrected.has_value()) counters["edac_corrected_errors"] += *corrected;
    if (uncorrected.has_value()) counters["edac_uncorrected_errors"] += *uncorrected;
  }
  const std::string text = sources.Text("/proc/interrupts").value_or("");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::string_view rest = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&rest, "MCE:")) continue;
    double sum = 0;  // of all processors; the name follows
    for (const absl::string_view word : absl::StrSplit(rest, ' ', absl::SkipEmpty())) {
      const auto count = Number({word.data(), word.size()});
      if (!count.has_value()) break;
      sum += *count;
    }
    counters["machine_check_exceptions"] = sum;
  }
}

// "cpu user nice system idle iowait irq softirq steal guest …", in ticks.
void AddCpuTimes(const FactSources& sources, Counters& counters) {
  const std::string text = sources.Text("/proc/stat").value_or("");
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::string_view(text).substr(0, text.find('\n')), ' ', absl::SkipEmpty());
  if (words.size() < 9 || words[0] != "cpu") return;
  double total = 0;
  double last = 0;
  for (size_t i = 1; i <= 8; ++i) {
    last = Number({words[i].data(), words[i].size()}).value_or(0);
    total += last;
  }
  counters["steal_percent"] = last;
  counters["_ticks"] = total;
}

Counters ReadCounters(const FactSources& sources) {
  Counters counters;
  AddThrottling(sources, counters);
  for (const char* resource : {"cpu", "memory", "io"}) AddPressure(sources, resource, counters);
  AddMemoryEvents(sources, counters);
  AddHardwareErrors(sources, counters);
  AddCpuTimes(sources, counters);
  return counters;
}

// What a counter that grew by `delta` tells.
std::optional<double> Change(const std::string& name, double delta, double seconds, double ticks) {
  if (absl::StartsWith(name, "psi_")) {
    return seconds > 0 ? std::optional(std::min(100.0, delta / 1e6 / seconds * 100)) : std::nullopt;
  }
  if (name == "steal_percent") return ticks > 0 ? std::optional(delta / ticks * 100) : std::nullopt;
  return delta;
}

}  // namespace

Conditions ConditionsProbe::Before(const std::vector<std::string>& gpus) const {
  Conditions before;
  before.gpus = gpus;
  AddGpus(gpus, "_before", before.states);
  const std::string load = sources_.Line("/proc/loadavg").value_or("");
  Put("load1_before", Number(load.substr(0, load.find(' '))), before.states);
  for (const char* resource : {"cpu", "memory", "io"}) {
    const std::string text = sources_.Text(absl::StrCat("/proc/pressure/", resource)).value_or("");
    Put(absl::StrCat("psi_", resource, "_some_avg10_before"), NumberAfter(text, "some avg10="),
        before.states);
  }
  AddMemory(sources_, before.states);
  Put("temp_max_c_before", HighestTemperature(sources_), before.states);
  before.counters = ReadCounters(sources_);
  before.at = clock_.Mono();
  return before;
}

std::map<std::string, std::string> ConditionsProbe::After(const Conditions& before) const {
  const double seconds = absl::ToDoubleSeconds(clock_.Mono() - before.at);
  std::map<std::string, std::string> all = before.states;
  // First what fades soonest.
  AddClocks(sources_, all);
  Put("temp_max_c_after", HighestTemperature(sources_), all);
  const Counters now = ReadCounters(sources_);
  const auto delta = [&](const std::string& name) -> std::optional<double> {
    const auto from = before.counters.find(name);
    const auto to = now.find(name);
    // One that fell was reset: a processor or a driver came back.
    if (from == before.counters.end() || to == now.end() || to->second < from->second) return std::nullopt;
    return to->second - from->second;
  };
  const double ticks = delta("_ticks").value_or(0);
  for (const auto& [name, value] : now) {
    const auto grown = delta(name);
    if (grown.has_value() && name != "_ticks") Put(name, Change(name, *grown, seconds, ticks), all);
  }
  AddGpus(before.gpus, "_after", all);
  while (all.size() > kMaxConditions) all.erase(std::prev(all.end()));
  return all;
}

void ConditionsProbe::AddGpus(const std::vector<std::string>& names, const std::string& suffix,
                              States& states) const {
  if (names.empty() || !options_.gpus) return;
  const auto gpus = options_.gpus();
  if (!gpus.ok()) return;
  std::optional<double> temperature;
  std::optional<double> clock;
  std::vector<std::string> reasons;
  for (const GpuState& state : *gpus) {
    if (std::find(names.begin(), names.end(), state.gpu.name) == names.end()) continue;
    Raise(state.temperature_c, &temperature);
    if (state.clock_mhz.has_value()) clock = std::min(clock.value_or(*state.clock_mhz), *state.clock_mhz);
    for (const std::string& reason : state.throttle_reasons) {
      // An idle GPU's clock is low without anything being wrong.
      if (reason != "gpu_idle") reasons.push_back(absl::StrCat(state.gpu.name, ":", reason));
    }
  }
  Put("gpu_temp_max_c" + suffix, temperature, states);
  Put("gpu_clock_min_mhz" + suffix, clock, states);
  if (!reasons.empty()) states["gpu_throttle" + suffix] = absl::StrJoin(reasons, " ");
}

}  // namespace fleetmark::agent
