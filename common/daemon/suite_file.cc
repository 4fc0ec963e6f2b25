#include "common/daemon/suite_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/model/benchmark.h"
#include "common/model/limits.h"

namespace fleetmark {
namespace {

// gpu0, gpu3, …
void ReadDevices(YamlValue list, v1::Benchmark& b) {
  for (YamlValue& item : list.Items()) {
    const std::string device = item.String();
    item.Check(CheckDevice(device));
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
      item.Key("timeout").Duration(absl::ZeroDuration(), absl::Seconds(1), kLongestTimeout)));
  b.set_splay_seconds(absl::ToDoubleSeconds(item.Key("splay").Duration(absl::ZeroDuration())));
  b.set_plugin_digest(item.Key("plugin_digest").String());
  b.set_enabled(item.Key("enabled").Bool(true));
  ReadDevices(item.Key("devices"), b);
  b.set_lease(item.Key("lease").Bool(false));
  b.set_suite(suite);
  item.NoOtherKeys();
  return out;
}

const BenchmarkConfig* Find(const std::vector<BenchmarkConfig>& list, const std::string& name) {
  const auto it = std::find_if(list.begin(), list.end(), [&](const BenchmarkConfig& b) {
    return !name.empty() && b.benchmark.name() == name;
  });
  return it == list.end() ? nullptr : &*it;
}

void Add(YamlValue& item, BenchmarkConfig read, std::vector<BenchmarkConfig>& out) {
  const std::string& name = read.benchmark.name();
  if (const BenchmarkConfig* other = Find(out, name)) {
    item.Fault(absl::StrCat("benchmark '", name, "' is also at ", other->where));
  }
  out.push_back(std::move(read));
}

void CheckCount(YamlValue& list, size_t count) {
  if (count <= limits::kBenchmarksPerNode) return;
  list.Fault(absl::StrCat("a node has at most ", limits::kBenchmarksPerNode, " benchmarks"));
}

void ReadNodes(YamlValue nodes, Suite& suite) {
  suite.node_names = nodes.Key("names").Strings();
  YamlValue labels = nodes.Key("labels");
  suite.node_labels = labels.StringMap();
  labels.Check(CheckNodeLabels(suite.node_labels));
  nodes.NoOtherKeys();
}

}  // namespace

void ReadBenchmarks(YamlValue list, const std::string& suite, std::vector<BenchmarkConfig>& out) {
  for (YamlValue& item : list.Items()) Add(item, ReadBenchmark(item, suite), out);
  CheckCount(list, out.size());
}

void AddBenchmarks(YamlValue& origin, std::vector<BenchmarkConfig> more, std::vector<BenchmarkConfig>& out) {
  for (BenchmarkConfig& b : more) Add(origin, std::move(b), out);
  CheckCount(origin, out.size());
}

bool Suite::Selects(const std::string& node, const Labels& labels) const {
  const auto matches = [&](const std::string& pattern) { return MatchesGlob(pattern, node); };
  return HasLabels(labels, node_labels) &&
         (node_names.empty() || std::any_of(node_names.begin(), node_names.end(), matches));
}

absl::Status AllFaults(const absl::Status& a, const absl::Status& b) {
  if (a.ok()) return b;
  if (b.ok()) return a;
  return absl::Status(a.code(), absl::StrCat(a.message(), "\n", b.message()));
}

absl::StatusOr<Suite> LoadSuite(const std::string& path) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, limits::kConfigFileBytes));
  YamlReader reader(text, path);
  YamlValue root = reader.root();
  Suite suite;
  YamlValue name = root.RequiredKey("suite");
  suite.name = name.String();
  if (name.present()) name.Check(CheckBenchmarkName("suite name", suite.name));
  root.Key("summary").String();
  ReadNodes(root.Key("nodes"), suite);
  ReadBenchmarks(root.RequiredKey("benchmarks"), suite.name, suite.benchmarks);
  root.NoOtherKeys();
  FM_RETURN_IF_ERROR(reader.status());
  return suite;
}

}  // namespace fleetmark
