#include "collector/config.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "collector/access/node_names.h"
#include "collector/join/authority_folder.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/config/yaml_reader.h"
#include "common/daemon/config_sections.h"
#include "common/model/limits.h"
#include "common/model/units.h"

namespace fleetmark::collector {
namespace {

// ReFrame's rule for tolerances: fractions of the reference, or absolute where it is 0.
void ReadTolerances(YamlValue item, v1::Reference& reference) {
  const double value = reference.value();
  YamlValue lower = item.Key("lower");
  if (lower.present()) {
    reference.set_lower(lower.Double(0));
    if (reference.lower() > 0) lower.Fault(absl::StrCat("must not be above 0, not ", reference.lower()));
    if (value > 0 && reference.lower() < -1)
      lower.Fault("must not be below -1 (nothing is below zero percent)");
  }
  YamlValue upper = item.Key("upper");
  if (upper.present()) {
    reference.set_upper(upper.Double(0));
    if (reference.upper() < 0) upper.Fault(absl::StrCat("must not be below 0, not ", reference.upper()));
    if (value < 0 && reference.upper() > 1) upper.Fault("must not be above 1 for a negative reference");
  }
  if (!lower.present() && !upper.present())
    item.Fault("needs lower, upper, or both; without a bound it checks nothing");
}

ReferenceConfig ReadReference(YamlValue item) {
  ReferenceConfig out;
  out.where = item.Where();
  YamlValue node = item.Key("node");
  out.node = node.String();
  if (!out.node.empty()) node.Check(CheckNodeName(out.node));
  out.node_labels = item.Key("node_labels").StringMap();
  out.benchmark = item.RequiredKey("benchmark").String();
  YamlValue metric = item.RequiredKey("metric");
  out.metric = metric.String();
  if (metric.present()) metric.Check(CheckIdentifier("metric", out.metric));
  out.labels = item.Key("labels").StringMap();
  out.reference.set_value(item.RequiredKey("value").Double(0));
  YamlValue unit = item.RequiredKey("unit");
  out.reference.set_unit(unit.String());
  if (unit.present()) unit.Check(CheckUnit(out.reference.unit()));
  ReadTolerances(item, out.reference);
  item.NoOtherKeys();
  return out;
}

// "5%" or "2.5 %", as a fraction.
double ReadShare(YamlValue value) {
  const std::string text = value.String();
  absl::string_view number(text);
  double percent = 0;
  if (!absl::ConsumeSuffix(&number, "%") || !absl::SimpleAtod(number, &percent) ||
      !(percent > 0 && percent <= 100)) {
    value.Fault(absl::StrCat("must be a percentage above 0% and at most 100%, as 5%, not '", text, "'"));
    return 0;
  }
  return percent / 100;
}

// A benchmark's name in which * and ? stand for anything that a name may hold.
void CheckPattern(YamlValue& where, const std::string& pattern) {
  std::string name = pattern;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '*' || c == '?'; }, 'x');
  where.Check(CheckBenchmarkName("benchmark", name));
}

LimitConfig ReadLimit(YamlValue item) {
  LimitConfig out;
  YamlValue name = item.RequiredKey("name");
  out.name = name.String();
  if (name.present()) name.Check(CheckBenchmarkName("limit", out.name));
  YamlValue benchmarks = item.RequiredKey("benchmarks");
  out.benchmarks = benchmarks.Strings();
  if (benchmarks.present() && out.benchmarks.empty()) benchmarks.Fault("must name at least one benchmark");
  for (const std::string& pattern : out.benchmarks) CheckPattern(benchmarks, pattern);
  YamlValue node_labels = item.Key("node_labels");
  out.node_labels = node_labels.StringMap();
  node_labels.Check(CheckNodeLabels(out.node_labels));
  YamlValue nodes = item.Key("max_nodes");
  YamlValue share = item.Key("max_share");
  if (nodes.present() == share.present()) item.Fault("needs exactly one of max_nodes and max_share");
  if (nodes.present()) out.max_nodes = nodes.Int(1, 1, 1'000'000);
  if (share.present()) out.max_share = ReadShare(share);
  YamlValue per = item.Key("per");
  out.per = per.Strings();
  for (const std::string& label : out.per) per.Check(CheckNodeLabels({{label, ""}}));
  out.longest = item.Key("longest").Duration(absl::Minutes(15), absl::Seconds(1), absl::Hours(24));
  item.NoOtherKeys();
  return out;
}

std::vector<LimitConfig> ReadLimits(YamlValue list) {
  std::vector<LimitConfig> limits;
  std::set<std::string> names;
  for (YamlValue& item : list.Items()) {
    limits.push_back(ReadLimit(item));
    if (!names.insert(limits.back().name).second) {
      item.Fault(absl::StrCat("there is another limit '", limits.back().name, "'"));
    }
  }
  return limits;
}

// "forever", or a duration of a day at least.
absl::Duration ReadKept(YamlValue value, absl::Duration otherwise) {
  if (value.present() && value.String() == "forever") return absl::InfiniteDuration();
  return value.Duration(otherwise, absl::Hours(24));
}

void ReadRetention(YamlValue keep, CollectorConfig& config) {
  constexpr absl::Duration kDay = absl::Hours(24);
  config.keep_samples = ReadKept(keep.Key("samples"), 90 * kDay);
  config.keep_hourly = ReadKept(keep.Key("hourly"), 730 * kDay);
  config.keep_daily = ReadKept(keep.Key("daily"), absl::InfiniteDuration());
  config.keep_runs = ReadKept(keep.Key("runs"), 90 * kDay);
  config.keep_events = ReadKept(keep.Key("events"), 730 * kDay);
  config.keep_silent_series = ReadKept(keep.Key("silent_series"), 730 * kDay);
  config.max_store_bytes = keep.Key("max_bytes").Bytes(0);
  keep.NoOtherKeys();
}

bool Inside(const std::string& inner, const std::string& outer) {
  const std::filesystem::path in = std::filesystem::path(inner + "/").lexically_normal();
  const std::filesystem::path out = std::filesystem::path(outer + "/").lexically_normal();
  return in.string().starts_with(out.string());
}

void ReadBackups(YamlValue store, const std::string& folder, CollectorConfig& config) {
  YamlValue backup_dir = store.Key("backup_dir");
  config.backup_dir = ReadPath(backup_dir, "", folder);
  config.backups_kept = store.Key("backups_kept").Int(7, 1, 10'000);
  if (config.backup_dir.empty()) return;
  if (Inside(config.backup_dir, config.data_dir) || Inside(config.data_dir, config.backup_dir)) {
    backup_dir.Fault("must not lie in data_dir, nor data_dir in it");
  }
}

void ReadStore(YamlValue store, const std::string& folder, CollectorConfig& config) {
  config.cache_bytes = store.Key("cache_bytes").Bytes(64 << 20, 1 << 20);
  config.write_buffer_bytes = store.Key("write_buffer_bytes").Bytes(32 << 20, 1 << 20);
  config.reserve_bytes = store.Key("reserve_bytes").Bytes(256 << 20, 0);
  config.max_series = static_cast<uint64_t>(store.Key("max_series").Int(5'000'000, 1));
  config.max_series_per_node = static_cast<uint64_t>(store.Key("max_series_per_node").Int(50'000, 1));
  ReadBackups(store, folder, config);
  ReadRetention(store.Key("keep"), config);
  store.NoOtherKeys();
}

// How queries in PromQL are bounded, and how far back they look.
promql::QueryOptions ReadPrometheus(YamlValue section) {
  promql::QueryOptions out;
  YamlValue lookback = section.Key("lookback");
  if (lookback.present() && lookback.String() != "auto") {
    out.lookback = lookback.Duration(out.lookback, absl::Seconds(1), absl::Hours(24 * 3660));
  }
  out.subquery_step = section.Key("subquery_step").Duration(out.subquery_step, absl::Milliseconds(1));
  out.timeout = section.Key("timeout").Duration(out.timeout, absl::Milliseconds(1), absl::Hours(1));
  const auto count = [&section](const char* key, size_t fallback) {
    return static_cast<size_t>(section.Key(key).Int(static_cast<int64_t>(fallback), 1));
  };
  out.max_series = count("max_series", out.max_series);
  out.max_samples = count("max_samples", out.max_samples);
  out.max_values = count("max_values", out.max_values);
  out.max_steps = count("max_steps", out.max_steps);
  section.NoOtherKeys();
  return out;
}

RemoteWriteConfig ReadRemoteWrite(YamlValue section, const std::string& folder) {
  RemoteWriteConfig out;
  if (!section.present()) return out;
  YamlValue url = section.RequiredKey("url");
  const absl::StatusOr<HttpUrl> parsed = ParseHttpUrl(url.String());
  if (url.present()) url.Check(parsed.status());
  if (parsed.ok()) out.url = *parsed;
  out.bearer_token_file = ReadPath(section.Key("bearer_token_file"), "", folder);
  out.ca_file = ReadPath(section.Key("ca_file"), "", folder);
  out.timeout =
      section.Key("timeout").Duration(absl::Seconds(30), absl::Milliseconds(100), absl::Minutes(10));
  out.queue_bytes = section.Key("queue_bytes").Bytes(1 << 30, 16 << 20);
  section.NoOtherKeys();
  return out;
}

void ReadDetection(YamlValue detection, CollectorConfig& config) {
  YamlValue budget = detection.Key("false_alarms_per_week");
  config.false_alarms_per_week = budget.Double(1);
  if (!(config.false_alarms_per_week > 0 && config.false_alarms_per_week <= 1000)) {
    budget.Fault(absl::StrCat("must be above 0 and at most 1000, not ", config.false_alarms_per_week,
                              "; it is how many false alerts you accept in a week, of the whole fleet"));
  }
  detection.NoOtherKeys();
}

void ReadAuthority(YamlValue section, const std::string& folder, CollectorConfig& config) {
  if (!section.present()) return;
  config.authority_folder = ReadPath(section.Key("folder"), config.data_dir + "/authority", folder);
  config.node_certificate_lifetime =
      section.Key("node_lifetime").Duration(absl::Hours(24 * 30), absl::Seconds(10), absl::Hours(24 * 366));
  config.join = ReadHostPort(section.Key("listen"), "");
  section.NoOtherKeys();
}

void ReadTls(YamlValue& root, const std::string& folder, TlsFilesAre are, CollectorConfig& config) {
  TlsFiles otherwise;
  if (!config.authority_folder.empty()) otherwise = AuthorityFolder::ServerFiles(config.authority_folder);
  config.tls = ReadTlsSection(root.Key("tls"), folder, are, otherwise);
  YamlValue rules = root.Key("node_certificates");
  config.node_name_rules = rules.present() ? rules.Strings() : NodeNames::DefaultRules();
  rules.Check(NodeNames::Create(config.node_name_rules).status());
}

HostPort ReadListener(YamlValue section, const std::string& default_value, bool needs_tls,
                      const CollectorConfig& config) {
  YamlValue listen = section.Key("listen");
  const HostPort address = ReadHostPort(listen, default_value);
  section.NoOtherKeys();
  if (address.host.empty() || IsLoopback(address.host) || config.allow_plaintext) return address;
  if (needs_tls && config.tls.enabled()) return address;
  listen.Fault(absl::StrCat(address.host,
                            " is reachable from other machines, and what is served there is not "
                            "encrypted: ",
                            needs_tls ? "set tls, or " : "put a reverse proxy in front, or ",
                            "allow_plaintext: true if the network is trusted"));
  return address;
}

}  // namespace

absl::StatusOr<CollectorConfig> ParseCollectorConfig(std::string_view text, const std::string& origin,
                                                     const std::string& folder, TlsFilesAre tls) {
  YamlReader reader(text, origin);
  YamlValue root = reader.root();
  CollectorConfig config;
  config.data_dir = ReadPath(root.RequiredKey("data_dir"), "", folder);
  ReadAuthority(root.Key("authority"), folder, config);
  ReadTls(root, folder, tls, config);
  config.allow_plaintext = root.Key("allow_plaintext").Bool(false);
  config.people = ReadPeople(root.Key("people"), config.data_dir);
  config.grpc = ReadListener(root.Key("grpc"), "127.0.0.1:9410", true, config);
  config.http = ReadListener(root.Key("http"), "127.0.0.1:9412", false, config);
  config.web_dir = ReadPath(root.Key("web_dir"), "", folder);
  config.log = ReadLogSection(root.Key("log"));
  ReadStore(root.Key("store"), folder, config);
  YamlValue ingest = root.Key("ingest");
  YamlValue rate = ingest.Key("max_records_per_second");
  config.max_records_per_second = rate.Double(1000);
  if (!(config.max_records_per_second >= 0)) rate.Fault("must not be below 0");
  ingest.NoOtherKeys();
  ReadDetection(root.Key("detection"), config);
  config.alerts = ReadAlerts(root.Key("alerts"), folder);
  config.actions = ReadActions(root.Key("actions"), folder);
  for (YamlValue& item : root.Key("references").Items()) config.references.push_back(ReadReference(item));
  config.limits = ReadLimits(root.Key("limits"));
  absl::Status suites;
  for (YamlValue& item : root.Key("suites").Items()) {
    absl::StatusOr<Suite> suite = LoadSuite(ReadPath(item, "", folder));
    if (suite.ok()) {
      config.suites.push_back(*std::move(suite));
    } else {
      suites = AllFaults(suites, suite.status());
    }
  }
  config.prometheus = ReadPrometheus(root.Key("prometheus"));
  config.remote_write = ReadRemoteWrite(root.Key("remote_write"), folder);
  YamlValue import = root.Key("import");
  config.receive_remote_write = import.Key("remote_write").Bool(false);
  config.receive_reframe = import.Key("reframe").Bool(false);
  import.NoOtherKeys();
  root.NoOtherKeys();
  FM_RETURN_IF_ERROR(AllFaults(reader.status(), suites));
  return config;
}

absl::StatusOr<CollectorConfig> LoadCollectorConfig(const std::string& path, TlsFilesAre tls) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, limits::kConfigFileBytes));
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  return ParseCollectorConfig(text, path, folder.string(), tls);
}

}  // namespace fleetmark::collector
