// The agent's configuration file: what it may say, and its one loader. configs/agent.yaml is the commented
// default; docs/configuration.md lists every key.
//
// Thread-safety: plain data. Errors: InvalidArgument with every fault of every file at once, each as
// "file:line:column: key: what is wrong"; NotFound and so on when a file can't be read.
#ifndef FLEETMARK_AGENT_CONFIG_H_
#define FLEETMARK_AGENT_CONFIG_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "agent/gate/gate_config.h"
#include "common/daemon/suite_file.h"
#include "common/model/labels.h"
#include "common/net/endpoint.h"
#include "common/obs/log.h"
#include "common/run/runner.h"

namespace fleetmark::agent {

// A file with facts of the site, and what their names begin with.
struct FactFileConfig {
  std::string path;
  std::string prefix;
};

struct AgentConfig {
  std::string node_name;  // default: the host's name
  Labels node_labels;
  std::vector<std::string> collectors;  // host:port, tried in turn
  TlsFiles tls;
  bool allow_plaintext = false;  // to a collector that is not on this machine
  std::vector<std::string> plugin_paths;
  std::string data_dir;
  HostPort http;    // no host: no HTTP
  HostPort health;  // of gRPC's health protocol; no host: none
  LogOptions log;
  int64_t spool_max_bytes = 0;
  absl::Duration spool_max_age;
  absl::Duration facts_interval;
  bool facts_gpus = true;
  std::vector<FactFileConfig> fact_files;
  bool plan_accept = true;             // what the collector plans for this node
  std::set<std::string> plan_plugins;  // local_only ones that a plan may use all the same
  absl::Duration stop_timeout;
  GateConfig gate;
  bool allow_root_plugins = false;
  std::string plugin_user;    // empty: see FindPluginUser
  std::string plugin_cgroup;  // auto, none, or a path as in /proc/self/cgroup
  int nice = 0;
  double budget_share = 0;  // of the node's time
  IoClass io_class = IoClass::kBestEffort;
  RunBounds run_bounds;
  std::vector<BenchmarkConfig> benchmarks;
};

absl::StatusOr<AgentConfig> LoadAgentConfig(const std::string& path);

// The same from text; `folder` is where relative paths and includes start.
absl::StatusOr<AgentConfig> ParseAgentConfig(std::string_view text, const std::string& origin,
                                             const std::string& folder);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_CONFIG_H_
