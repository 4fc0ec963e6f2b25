#include "agent/config.h"

#include <unistd.h>

#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/config/yaml_reader.h"
#include "common/daemon/config_sections.h"
#include "common/model/limits.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMaxFactFiles = 16;

bool IsGpuName(const std::string& text) {
  return absl::StartsWith(text, "gpu") && text.size() > 3 && text.size() <= 6 &&
         text.find_first_not_of("0123456789", 3) == std::string::npos;
}

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

// gpu0, gpu3, …
void ReadDevices(YamlValue list, v1::Benchmark& b) {
  for (YamlValue& item : list.Items()) {
    const std::string device = item.String();
    if (!IsGpuName(device)) item.Fault("is no GPU's name, such as gpu0");
    b.add_devices(device);
  }
}

BenchmarkConfig ReadBenchmark(YamlValue item, const std::string& suite) {
  BenchmarkConfig out;
  out.where = item.Where();
  v1::Benchmark& b = out.benchmark;
  YamlValue name = item.RequiredKey("name");
  b.set_name(name.String());
  if (name.present()) name.Check(CheckBenchmarkName("benchmark name", b.name()));
  YamlValue plugin = item.RequiredKey("plugin");
  b.set_plugin(plugin.String());
  if (plugin.present()) plugin.Check(CheckIdentifier("plugin name", b.plugin()));
  YamlValue params = item.Key("params");
  params.Entries();  // notes a fault when it is no map
  b.set_params_json(params.present() ? params.Json() : "{}");
  b.set_schedule(item.RequiredKey("schedule").String());
  b.set_time_zone(item.Key("time_zone").String("UTC"));
  b.set_timeout_seconds(absl::ToDoubleSeconds(
      item.Key("timeout").Duration(absl::ZeroDuration(), absl::Seconds(1), absl::Hours(24))));
  b.set_splay_seconds(absl::ToDoubleSeconds(item.Key("splay").Duration(absl::ZeroDuration())));
  b.set_plugin_digest(item.Key("plugin_digest").String());
  b.set_enabled(item.Key("enabled").Bool(true));
  ReadDevices(item.Key("devices"), b);
  b.set_lease(item.Key("lease").Bool(false));
  b.set_suite(suite);
  item.NoOtherKeys();
  return out;
}

void ReadBenchmarks(YamlValue list, const std::string& suite, std::vector<BenchmarkConfig>& out) {
  for (YamlValue& item : list.Items()) {
    BenchmarkConfig read = ReadBenchmark(item, suite);
    for (const BenchmarkConfig& other : out) {
      if (other.benchmark.name() == read.benchmark.name() && !read.benchmark.name().empty()) {
        item.Fault(absl::StrCat("benchmark '", read.benchmark.name(), "' is also at ", other.where));
      }
    }
    out.push_back(std::move(read));
  }
  if (out.size() > limits::kBenchmarksPerNode) {
    list.Fault(absl::StrCat("a node has at most ", limits::kBenchmarksPerNode, " benchmarks"));
  }
}

// A suite file: its name and its benchmarks.
absl::Status ReadSuite(const std::string& path, std::vector<BenchmarkConfig>& out) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, limits::kConfigFileBytes));
  YamlReader reader(text, path);
  YamlValue root = reader.root();
  YamlValue name = root.RequiredKey("suite");
  if (name.present()) name.Check(CheckBenchmarkName("suite name", name.String()));
  root.Key("summary").String();
  ReadBenchmarks(root.RequiredKey("benchmarks"), name.String(), out);
  root.NoOtherKeys();
  return reader.status();
}

void ReadNode(YamlValue node, AgentConfig& config) {
  YamlValue name = node.Key("name");
  config.node_name = name.String(HostName());
  if (config.node_name.empty()) config.node_name = HostName();
  name.Check(CheckNodeName(config.node_name));
  YamlValue labels = node.Key("labels");
  config.node_labels = labels.StringMap();
  labels.Check(CheckNodeLabels(config.node_labels));
  node.NoOtherKeys();
}

void ReadCollectors(YamlValue list, AgentConfig& config) {
  config.collectors.clear();
  for (YamlValue& item : list.Items()) {
    const HostPort address = ReadHostPort(item, "");
    config.collectors.push_back(address.ToString());
    if (config.tls.enabled() || config.allow_plaintext || IsLoopback(address.host)) continue;
    item.Fault(
        "is not on this machine, and no tls is configured: results would travel in plain text. Set tls, or "
        "allow_plaintext: true if the network is trusted");
  }
  if (list.present() && config.collectors.empty()) list.Fault("names no collector");
}

// "50%" of the machine, or a size.
int64_t ReadMemoryMax(YamlValue value) {
  constexpr int kDefaultPercent = 50;
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  std::string text = value.String(absl::StrCat(kDefaultPercent, "%"));
  if (text.empty() || text.back() != '%') return value.Bytes(0, 16 << 20);
  text.pop_back();
  int percent = 0;
  if (!absl::SimpleAtoi(text, &percent) || percent < 1 || percent > 100) {
    value.Fault("is no share of the machine's memory: from 1% to 100%");
  }
  return machine / 100 * percent;
}

IoClass ReadIoClass(YamlValue value) {
  const std::string name = value.Choice("best-effort", {"best-effort", "idle", "inherit"});
  if (name == "idle") return IoClass::kIdle;
  return name == "inherit" ? IoClass::kInherit : IoClass::kBestEffort;
}

void ReadRunBounds(YamlValue plugins, AgentConfig& config) {
  config.nice = static_cast<int>(plugins.Key("nice").Int(0, -20, 19));
  config.io_class = ReadIoClass(plugins.Key("io_class"));
  config.run_bounds.memory_bytes = ReadMemoryMax(plugins.Key("memory_max"));
  config.run_bounds.processes = plugins.Key("max_processes").Int(4096, 16, 4 << 20);
  config.run_bounds.open_files = plugins.Key("max_open_files").Int(65536, 64, 1 << 20);
  config.run_bounds.work_dir_bytes =
      plugins.Key("work_dir_max_bytes").Bytes(int64_t{1} << 30, 1 << 20, int64_t{1} << 50);
  YamlValue cgroup = plugins.Key("cgroup");
  config.plugin_cgroup = cgroup.String("auto");
  if (config.plugin_cgroup != "auto" && config.plugin_cgroup != "none" &&
      (!absl::StartsWith(config.plugin_cgroup, "/") || absl::StrContains(config.plugin_cgroup, ".."))) {
    cgroup.Fault("must be auto, none, or a cgroup's path such as /fleetmark.slice");
  }
}

void ReadPlugins(YamlValue root, const std::string& folder, AgentConfig& config) {
  YamlValue paths = root.RequiredKey("plugin_paths");
  for (YamlValue& item : paths.Items()) config.plugin_paths.push_back(ReadPath(item, "", folder));
  YamlValue plugins = root.Key("plugins");
  config.allow_root_plugins = plugins.Key("allow_root").Bool(false);
  config.plugin_user = plugins.Key("user").String();
  ReadRunBounds(plugins, config);
  plugins.NoOtherKeys();
}

void ReadSpool(YamlValue spool, AgentConfig& config) {
  config.spool_max_bytes = spool.Key("max_bytes").Bytes(256 << 20, 1 << 20, int64_t{1} << 40);
  config.spool_max_age = spool.Key("max_age").Duration(absl::Hours(24 * 30), absl::Minutes(1));
  spool.NoOtherKeys();
}

void ReadBudget(YamlValue budget, AgentConfig& config) {
  config.budget_share = budget.Key("share").Double(0.005, 0.0001, 1);
  budget.NoOtherKeys();
}

void ReadFacts(YamlValue facts, const std::string& folder, AgentConfig& config) {
  config.facts_interval =
      facts.Key("interval").Duration(absl::Hours(1), absl::Minutes(1), absl::Hours(24 * 7));
  config.facts_gpus = facts.Key("gpus").Bool(true);
  YamlValue files = facts.Key("files");
  for (YamlValue& item : files.Items()) {
    FactFileConfig file;
    file.path = ReadPath(item.RequiredKey("path"), "", folder);
    YamlValue prefix = item.RequiredKey("prefix");
    file.prefix = prefix.String();
    if (prefix.present()) prefix.Check(CheckIdentifier("prefix", file.prefix));
    item.NoOtherKeys();
    config.fact_files.push_back(std::move(file));
  }
  if (config.fact_files.size() > kMaxFactFiles) files.Fault(absl::StrCat("has more than ", kMaxFactFiles));
  facts.NoOtherKeys();
}

}  // namespace

absl::StatusOr<AgentConfig> ParseAgentConfig(std::string_view text, const std::string& origin,
                                             const std::string& folder) {
  YamlReader reader(text, origin);
  YamlValue root = reader.root();
  AgentConfig config;
  ReadNode(root.Key("node"), config);
  config.tls = ReadTlsSection(root.Key("tls"), folder);
  config.allow_plaintext = root.Key("allow_plaintext").Bool(false);
  ReadCollectors(root.RequiredKey("collectors"), config);
  ReadPlugins(root, folder, config);
  config.data_dir = ReadPath(root.RequiredKey("data_dir"), "", folder);
  YamlValue http = root.Key("http");
  config.http = ReadHostPort(http.Key("listen"), "");
  http.NoOtherKeys();
  config.log = ReadLogSection(root.Key("log"));
  ReadSpool(root.Key("spool"), config);
  ReadBudget(root.Key("budget"), config);
  ReadFacts(root.Key("facts"), folder, config);
  config.gate = ReadGateSection(root.Key("gate"), folder);
  config.stop_timeout =
      root.Key("stop_timeout").Duration(absl::Seconds(10), absl::Seconds(1), absl::Minutes(10));
  ReadBenchmarks(root.Key("benchmarks"), "", config.benchmarks);

  absl::Status suites;
  for (YamlValue& item : root.Key("include").Items()) {
    const absl::Status status = ReadSuite(ReadPath(item, "", folder), config.benchmarks);
    if (status.ok()) continue;
    suites = suites.ok()
                 ? status
                 : absl::Status(suites.code(), absl::StrCat(suites.message(), "\n", status.message()));
  }
  root.NoOtherKeys();

  const absl::Status own = reader.status();
  if (!own.ok() && !suites.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(own.message(), "\n", suites.message()));
  }
  FM_RETURN_IF_ERROR(own);
  FM_RETURN_IF_ERROR(suites);
  return config;
}

absl::StatusOr<AgentConfig> LoadAgentConfig(const std::string& path) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, limits::kConfigFileBytes));
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  return ParseAgentConfig(text, path, folder.string());
}

}  // namespace fleetmark::agent
