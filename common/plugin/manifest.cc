#include "common/plugin/manifest.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/status.h"
#include "common/config/yaml_reader.h"
#include "common/model/labels.h"
#include "common/model/limits.h"
#include "common/model/units.h"
#include "common/plugin/json_text.h"
#include "common/plugin/params.h"

namespace fleetmark {
namespace {

constexpr absl::Duration kLongestRun = absl::Hours(24);
constexpr double kMaxNoise = 10;
constexpr size_t kMaxParams = 200;
constexpr size_t kMaxCommandWords = 100;

constexpr std::pair<const char*, ParamType> kParamTypes[] = {
    {"bool", ParamType::kBool},         {"int", ParamType::kInt},
    {"float", ParamType::kFloat},       {"string", ParamType::kString},
    {"duration", ParamType::kDuration}, {"bytes", ParamType::kBytes},
    {"list", ParamType::kList},         {"map", ParamType::kMap}};

std::string OneLine(YamlValue value) {
  std::string text = value.String();
  value.Check(CheckText("the text", text, limits::kReasonBytes));
  if (text.find('\n') != std::string::npos) value.Fault("must be one line");
  return text;
}

std::string Identifier(YamlValue value) {
  std::string name = value.String();
  if (value.present()) value.Check(CheckIdentifier("the name", name));
  return name;
}

ResourceUse ReadUse(YamlValue value) {
  const std::string use = value.Choice("", {"exclusive", "shared"});
  if (use == "exclusive") return ResourceUse::kExclusive;
  return use == "shared" ? ResourceUse::kShared : ResourceUse::kNone;
}

PluginResources ReadResources(YamlValue value) {
  PluginResources resources;
  resources.cpu = ReadUse(value.Key("cpu"));
  resources.gpu = ReadUse(value.Key("gpu"));
  resources.disk = ReadUse(value.Key("disk"));
  resources.net = ReadUse(value.Key("net"));
  resources.memory_bytes = value.Key("memory").Bytes(0);
  value.NoOtherKeys();
  return resources;
}

// A program with a folder in its name is in the plugin's own folder or absolute; one without is looked up.
absl::Status CheckProgram(const std::string& program) {
  if (program.empty()) return absl::InvalidArgumentError("the program's name is empty");
  if (absl::StartsWith(program, "/") || program.find('/') == std::string::npos) return absl::OkStatus();
  const std::vector<std::string> parts = absl::StrSplit(program, '/');
  for (const std::string& part : parts) {
    if (part == "..") return absl::InvalidArgumentError("the program must be inside the plugin's folder");
  }
  if (absl::StartsWith(program, "./")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", program, "' must begin with ./ (in the plugin's folder) or / (anywhere)"));
}

std::vector<std::string> ReadCommand(YamlValue value) {
  std::vector<std::string> command = value.Strings();
  if (!value.present()) return command;
  if (command.empty() || command.size() > kMaxCommandWords) {
    value.Fault("must list the program and its arguments, at most 100");
    return command;
  }
  for (const std::string& word : command)
    value.Check(CheckText("an argument", word, limits::kFactValueBytes));
  value.Check(CheckProgram(command.front()));
  return command;
}

ParamType ReadType(YamlValue value) {
  std::vector<std::string> names;
  for (const auto& [name, type] : kParamTypes) names.push_back(name);
  const std::string chosen = value.Choice("string", names);
  for (const auto& [name, type] : kParamTypes) {
    if (chosen == name) return type;
  }
  return ParamType::kString;
}

bool HasRange(ParamType type) {
  return type == ParamType::kInt || type == ParamType::kFloat || type == ParamType::kDuration ||
         type == ParamType::kBytes;
}

// `value`, given as JSON, as `param` takes it; notes a fault where it can't be.
std::optional<google::protobuf::Value> ReadParamValue(const ParamSpec& param, YamlValue value) {
  if (!value.present()) return std::nullopt;
  absl::StatusOr<google::protobuf::Value> json = ParseJsonValue(value.Json());
  if (json.ok()) json = CheckParam(param, *json);
  value.Check(json.status());
  if (!json.ok()) return std::nullopt;
  return *std::move(json);
}

std::optional<double> ReadBound(const ParamSpec& param, YamlValue value) {
  if (value.present() && !HasRange(param.type)) {
    value.Fault("only int, float, duration and bytes have a range");
    return std::nullopt;
  }
  const std::optional<google::protobuf::Value> number = ReadParamValue(param, value);
  if (!number.has_value()) return std::nullopt;
  return number->number_value();
}

ParamSpec ReadParam(const std::string& name, YamlValue value) {
  ParamSpec param;
  param.name = name;
  value.Check(CheckIdentifier("the parameter's name", name));
  param.type = ReadType(value.RequiredKey("type"));
  param.summary = OneLine(value.RequiredKey("summary"));
  YamlValue min = value.Key("min");
  YamlValue max = value.Key("max");
  // Each bound is read while neither is set, or it would be checked against the other.
  const std::optional<double> low = ReadBound(param, min);
  const std::optional<double> high = ReadBound(param, max);
  if (low.has_value() && high.has_value() && *low > *high) max.Fault("must not be below min");
  param.min = low;
  param.max = high;
  YamlValue choices = value.Key("choices");
  param.choices = choices.Strings();
  if (choices.present() && param.type != ParamType::kString) choices.Fault("only string has choices");
  if (choices.present() && param.choices.empty()) choices.Fault("must list at least one text");
  const std::optional<google::protobuf::Value> default_value = ReadParamValue(param, value.Key("default"));
  if (default_value.has_value()) param.default_json = CanonicalJson(*default_value);
  value.NoOtherKeys();
  return param;
}

std::vector<ParamSpec> ReadParams(YamlValue value) {
  std::vector<ParamSpec> params;
  for (auto& [name, entry] : value.Entries()) params.push_back(ReadParam(name, entry));
  if (params.size() > kMaxParams) value.Fault("has more than 200 parameters");
  return params;
}

std::vector<std::string> ReadLabels(YamlValue value) {
  std::vector<std::string> labels;
  for (YamlValue& item : value.Items()) {
    labels.push_back(Identifier(item));
    for (size_t i = 0; i + 1 < labels.size(); ++i) {
      if (labels[i] == labels.back()) item.Fault(absl::StrCat("label '", labels.back(), "' is listed twice"));
    }
  }
  if (labels.size() > limits::kLabelsPerMetric) value.Fault("has more than 8 labels");
  return labels;
}

MetricSpec ReadMetric(YamlValue value) {
  MetricSpec metric;
  metric.name = Identifier(value.RequiredKey("name"));
  YamlValue unit = value.RequiredKey("unit");
  metric.unit = unit.String();
  if (unit.present()) unit.Check(CheckUnit(metric.unit));
  const std::string better = value.RequiredKey("better").Choice("none", {"higher", "lower", "none"});
  metric.better = *ParseBetter(better);
  metric.noise = value.Key("noise").Double(0, 0, kMaxNoise);
  metric.labels = ReadLabels(value.Key("labels"));
  metric.required = value.Key("required").Bool(true);
  metric.summary = OneLine(value.Key("summary"));
  value.NoOtherKeys();
  return metric;
}

std::vector<MetricSpec> ReadMetrics(YamlValue value) {
  std::vector<MetricSpec> metrics;
  std::set<std::string> names;
  for (YamlValue& item : value.Items()) {
    metrics.push_back(ReadMetric(item));
    if (!names.insert(metrics.back().name).second) {
      item.Fault(absl::StrCat("metric '", metrics.back().name, "' is listed twice"));
    }
  }
  if (metrics.size() > limits::kMetricsPerRun) value.Fault("has more than 1000 metrics");
  return metrics;
}

// After `params`, which the check's parameters must fit.
void ReadSelfCheck(YamlValue value, bool params_are_good, PluginManifest& manifest) {
  manifest.self_check.timeout =
      value.Key("timeout").Duration(manifest.self_check.timeout, absl::Seconds(1), kLongestRun);
  YamlValue params = value.Key("params");
  if (params.present()) {
    params.Entries();  // notes a fault unless it is a map
    manifest.self_check.params_json = params.Json();
  }
  value.NoOtherKeys();
  if (params_are_good && value.present()) {
    (params.present() ? params : value)
        .Check(ResolveParams(manifest, manifest.self_check.params_json).status());
  }
}

PluginManifest ReadManifest(YamlReader& reader) {
  PluginManifest manifest;
  YamlValue root = reader.root();
  root.RequiredKey("api").Int(1, 1, 1);
  manifest.name = Identifier(root.RequiredKey("name"));
  YamlValue version = root.RequiredKey("version");
  manifest.version = version.String();
  version.Check(CheckText("the version", manifest.version, limits::kVersionBytes));
  if (version.present() && manifest.version.empty()) version.Fault("must not be empty");
  manifest.summary = OneLine(root.RequiredKey("summary"));
  manifest.command = ReadCommand(root.RequiredKey("command"));
  manifest.resources = ReadResources(root.Key("resources"));
  const std::string privileges = root.Key("privileges").Choice("none", {"none", "root"});
  manifest.privileges = privileges == "root" ? Privileges::kRoot : Privileges::kNone;
  manifest.local_only = root.Key("local_only").Bool(false);
  manifest.timeout = root.Key("timeout").Duration(manifest.timeout, absl::Seconds(1), kLongestRun);
  manifest.dynamic_metrics = root.Key("dynamic_metrics").Bool(false);
  YamlValue metrics = root.Key("metrics");
  manifest.metrics = ReadMetrics(metrics);
  if (manifest.metrics.empty() && !manifest.dynamic_metrics) {
    metrics.Fault("must list at least one metric, unless dynamic_metrics is true");
  }
  const bool good_before = reader.status().ok();
  manifest.params = ReadParams(root.Key("params"));
  ReadSelfCheck(root.Key("self_check"), good_before && reader.status().ok(), manifest);
  root.NoOtherKeys();
  return manifest;
}

}  // namespace

const ParamSpec* PluginManifest::FindParam(std::string_view param_name) const {
  for (const ParamSpec& param : params) {
    if (param.name == param_name) return &param;
  }
  return nullptr;
}

const MetricSpec* PluginManifest::FindMetric(std::string_view metric_name) const {
  for (const MetricSpec& metric : metrics) {
    if (metric.name == metric_name) return &metric;
  }
  return nullptr;
}

std::optional<v1::Better> ParseBetter(std::string_view text) {
  if (text == "higher") return v1::BETTER_HIGHER;
  if (text == "lower") return v1::BETTER_LOWER;
  if (text == "none") return v1::BETTER_NONE;
  return std::nullopt;
}

absl::StatusOr<PluginManifest> ParseManifest(std::string_view text, std::string_view origin) {
  if (text.size() > limits::kManifestBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(origin), ": is larger than ", limits::kManifestBytes, " bytes"));
  }
  YamlReader reader(text, origin);
  PluginManifest manifest = ReadManifest(reader);
  FM_RETURN_IF_ERROR(reader.status());
  return manifest;
}

}  // namespace fleetmark
