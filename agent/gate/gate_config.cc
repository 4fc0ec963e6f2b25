#include "agent/gate/gate_config.h"

#include <stdlib.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "common/daemon/config_sections.h"

namespace fleetmark::agent {
namespace {

SourceMode ReadMode(YamlValue value) {
  const std::string mode = value.Choice("auto", {"auto", "on", "off"});
  if (mode == "off") return SourceMode::kOff;
  return mode == "on" ? SourceMode::kOn : SourceMode::kAuto;
}

std::string Environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

void ReadPressure(YamlValue section, PressureSource::Options& o) {
  o.enabled = section.Key("enabled").Bool(o.enabled);
  o.cpu_busy = section.Key("cpu_busy").Double(o.cpu_busy, 0, 1);
  o.exclusive_only = section.Key("exclusive_only").Bool(o.exclusive_only);
  o.memory = section.Key("memory").Double(o.memory, 0, 1);
  o.io = section.Key("io").Double(o.io, 0, 1);
  section.NoOtherKeys();
}

void ReadUsers(YamlValue section, const std::string& folder, UsersSource::Options& o) {
  o.enabled = section.Key("enabled").Bool(o.enabled);
  o.utmp = ReadPath(section.Key("utmp"), o.utmp, folder);
  section.NoOtherKeys();
}

void ReadSlurm(YamlValue section, const std::string& folder, SlurmSource::Options& o) {
  o.mode = ReadMode(section.Key("mode"));
  o.node = section.Key("node").String();
  o.slurm_conf = ReadPath(section.Key("slurm_conf"), "", folder);
  o.spool_dir = ReadPath(section.Key("spool_dir"), "", folder);
  YamlValue scontrol = section.Key("scontrol");
  o.scontrol = scontrol.String(o.scontrol);
  if (absl::StrContains(o.scontrol, '/')) o.scontrol = AbsolutePath(o.scontrol, folder);
  o.prolog_flag_dir = ReadPath(section.Key("prolog_flag_dir"), "", folder);
  o.ask_controller = section.Key("ask_controller").Bool(o.ask_controller);
  o.allow_reserved = section.Key("allow_reserved").Bool(o.allow_reserved);
  o.timeout = section.Key("timeout").Duration(o.timeout, absl::Milliseconds(100), absl::Minutes(1));
  o.cache = section.Key("cache").Duration(o.cache, absl::ZeroDuration(), absl::Minutes(1));
  section.NoOtherKeys();
}

void ReadMaintenance(YamlValue section, const std::string& folder, PodsSource::Options& o) {
  o.maintenance_file = ReadPath(section.Key("file"), "", folder);
  YamlValue match = section.Key("match");
  o.maintenance_match = match.String();
  o.maintenance_required = section.Key("required").Bool(false);
  if (section.present() && o.maintenance_file.empty()) section.Fault("needs a file");
  if (section.present() && !absl::StrContains(o.maintenance_match, '=')) match.Fault("must be key=value");
  section.NoOtherKeys();
}

void ReadKubernetes(YamlValue section, const std::string& folder, PodResourcesSource::Options& devices,
                    PodsSource::Options& pods) {
  devices.mode = pods.mode = ReadMode(section.Key("mode"));
  devices.socket = ReadPath(section.Key("socket"), devices.socket, folder);
  devices.timeout =
      section.Key("timeout").Duration(devices.timeout, absl::Milliseconds(100), absl::Minutes(1));
  for (const std::string& space : section.Key("ignore_namespaces").Strings()) {
    devices.ignore_namespaces.insert(space);
  }
  const std::string space = Environment("POD_NAMESPACE");
  if (!space.empty()) devices.own_pod = absl::StrCat(space, "/", Environment("POD_NAME"));
  pods.pod_cpu = section.Key("pod_cpu").Double(pods.pod_cpu, 0);
  ReadMaintenance(section.Key("maintenance"), folder, pods);
  section.NoOtherKeys();
}

void ReadGpus(YamlValue section, GateConfig& config) {
  config.gpus_enabled = section.Key("enabled").Bool(config.gpus_enabled);
  config.gpus.busy_utilization = section.Key("busy").Double(config.gpus.busy_utilization, 0, 1);
  section.NoOtherKeys();
}

}  // namespace

GateConfig ReadGateSection(YamlValue gate, const std::string& folder) {
  GateConfig config;
  config.cool_down = gate.Key("cool_down").Duration(config.cool_down, absl::ZeroDuration(), absl::Hours(1));
  config.retry = gate.Key("retry").Duration(config.retry, absl::Seconds(1), absl::Hours(1));
  ReadPressure(gate.Key("pressure"), config.pressure);
  ReadGpus(gate.Key("gpus"), config);
  ReadUsers(gate.Key("users"), folder, config.users);
  ReadSlurm(gate.Key("slurm"), folder, config.slurm);
  ReadKubernetes(gate.Key("kubernetes"), folder, config.pod_resources, config.pods);
  gate.NoOtherKeys();
  return config;
}

std::vector<std::unique_ptr<GateSource>> MakeGateSources(const GateConfig& config, const GateParts& parts) {
  std::vector<std::unique_ptr<GateSource>> sources;
  if (config.users.enabled) sources.push_back(std::make_unique<UsersSource>(config.users));
  if (config.pod_resources.mode != SourceMode::kOff) {
    sources.push_back(std::make_unique<PodResourcesSource>(config.pod_resources, parts.kubelet, parts.clock));
  }
  if (config.slurm.mode != SourceMode::kOff) {
    sources.push_back(std::make_unique<SlurmSource>(config.slurm, parts.runner, parts.clock));
  }
  if (config.pressure.enabled)
    sources.push_back(std::make_unique<PressureSource>(config.pressure, parts.clock));
  if (config.pods.mode != SourceMode::kOff) {
    sources.push_back(std::make_unique<PodsSource>(config.pods, parts.clock));
  }
  if (config.gpus_enabled) {
    GpuSource::Options options = config.gpus;
    options.read = [&gpus = parts.gpus](CancelToken& cancel) { return gpus.Read(cancel); };
    sources.push_back(std::make_unique<GpuSource>(std::move(options), parts.clock));
  }
  return sources;
}

}  // namespace fleetmark::agent
