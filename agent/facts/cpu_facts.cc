// Processors: /proc/cpuinfo and /sys/devices/system/cpu.
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "agent/facts/sources.h"

namespace fleetmark::agent {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu";

bool IsCpuFolder(const std::string& name) {
  return name.size() > 3 && absl::StartsWith(name, "cpu") &&
         name.find_first_not_of("0123456789", 3) == std::string::npos;
}

// The different values of one file over all processors or policies, so that one that differs shows.
std::string DistinctValues(const FactSources& sources, const std::string& folder, const std::string& prefix,
                           const std::string& file) {
  std::set<std::string> values;
  for (const std::string& name : sources.List(folder)) {
    if (!absl::StartsWith(name, prefix)) continue;
    if (const auto value = sources.Line(absl::StrCat(folder, "/", name, "/", file))) values.insert(*value);
  }
  return absl::StrJoin(values, ",");
}

void AddModel(const FactSources& sources, FactSet& facts) {
  const std::string info = sources.Text("/proc/cpuinfo").value_or("");
  facts.Add("cpu.microcode", ValueOf(info, "microcode"));
  if (const auto model = ValueOf(info, "model name")) {
    facts.Add("cpu.model", model);
    facts.Add("cpu.vendor", ValueOf(info, "vendor_id"));
  } else if (const auto part = ValueOf(info, "CPU part")) {  // Arm gives numbers only
    const std::string implementer = ValueOf(info, "CPU implementer").value_or("?");
    facts.Add("cpu.vendor", absl::StrCat("implementer ", implementer));
    facts.Add("cpu.model", absl::StrCat("implementer ", implementer, " part ", *part, " revision ",
                                        ValueOf(info, "CPU revision").value_or("?")));
  }
}

void AddTopology(const FactSources& sources, FactSet& facts) {
  const auto online = sources.Line(absl::StrCat(kCpus, "/online"));
  if (online.has_value()) facts.Add("cpu.count", absl::StrCat(CountOfCpuList(*online)));
  std::set<std::string> sockets;
  for (const std::string& name : sources.List(kCpus)) {
    if (!IsCpuFolder(name)) continue;
    if (const auto id = sources.Line(absl::StrCat(kCpus, "/", name, "/topology/physical_package_id"))) {
      sockets.insert(*id);
    }
  }
  if (!sockets.empty()) facts.Add("cpu.sockets", absl::StrCat(sockets.size()));
  const auto siblings = sources.Line(absl::StrCat(kCpus, "/cpu0/topology/thread_siblings_list"));
  if (siblings.has_value()) facts.Add("cpu.threads_per_core", absl::StrCat(CountOfCpuList(*siblings)));
  facts.Add("cpu.smt", sources.Line(absl::StrCat(kCpus, "/smt/control")));
  facts.Add("cpu.cache.l3", sources.Line(absl::StrCat(kCpus, "/cpu0/cache/index3/size")));
  if (const auto nodes = sources.Line("/sys/devices/system/node/online")) {
    facts.Add("numa.nodes", absl::StrCat(CountOfCpuList(*nodes)));
  }
}

// Settings of the frequency, never the frequency.
void AddFrequencySettings(const FactSources& sources, FactSet& facts) {
  const std::string policies = absl::StrCat(kCpus, "/cpufreq");
  facts.Add("cpu.governor", DistinctValues(sources, policies, "policy", "scaling_governor"));
  facts.Add("cpu.driver", DistinctValues(sources, policies, "policy", "scaling_driver"));
  facts.Add("cpu.frequency.max", DistinctValues(sources, policies, "policy", "scaling_max_freq"));
  if (const auto boost = sources.Line(absl::StrCat(policies, "/boost"))) {
    facts.Add("cpu.boost", *boost == "0" ? "off" : "on");
  } else if (const auto no_turbo = sources.Line(absl::StrCat(kCpus, "/intel_pstate/no_turbo"))) {
    facts.Add("cpu.boost", *no_turbo == "0" ? "on" : "off");
  }
}

void AddVulnerabilities(const FactSources& sources, FactSet& facts) {
  const std::string folder = absl::StrCat(kCpus, "/vulnerabilities");
  for (const std::string& name : sources.List(folder)) {
    facts.Add("cpu.vulnerability." + name, sources.Line(absl::StrCat(folder, "/", name)));
  }
}

}  // namespace

void AddCpuFacts(const FactSources& sources, FactSet& facts) {
  AddModel(sources, facts);
  AddTopology(sources, facts);
  AddFrequencySettings(sources, facts);
  AddVulnerabilities(sources, facts);
}

}  // namespace fleetmark::agent
