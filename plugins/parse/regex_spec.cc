#include "plugins/parse/regex_spec.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace fleetmark::parse {
namespace {

using nlohmann::json;

const std::map<std::string, Reduce>& Reductions() {
  static const std::map<std::string, Reduce> reductions = {
      {"first", Reduce::kFirst}, {"last", Reduce::kLast}, {"all", Reduce::kAll},      {"min", Reduce::kMin},
      {"max", Reduce::kMax},     {"mean", Reduce::kMean}, {"median", Reduce::kMedian}};
  return reductions;
}

std::string Shown(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 80 ? text.substr(0, 77) + "..." : text;
}

// Strings as they are, numbers and booleans as their text.
std::optional<std::string> Scalar(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  return std::nullopt;
}

bool CheckKeys(const json& metric, std::string* error) {
  static constexpr const char* kKeys[] = {"name", "unit", "better", "pattern", "reduce", "scale", "labels"};
  for (const auto& item : metric.items()) {
    if (std::find(std::begin(kKeys), std::end(kKeys), item.key()) == std::end(kKeys)) {
      *error =
          "unknown key '" + item.key() + "'; known are name, unit, better, pattern, reduce, scale, labels";
      return false;
    }
  }
  return true;
}

bool ReadText(const json& metric, const char* key, std::string* text, std::string* error) {
  const auto found = metric.find(key);
  if (found != metric.end() && found->is_string() && !found->get_ref<const std::string&>().empty()) {
    *text = found->get<std::string>();
    return true;
  }
  *error = std::string("'") + key + "' must be set, to a string";
  return false;
}

bool ReadBetter(const json& metric, std::string* better, std::string* error) {
  if (!ReadText(metric, "better", better, error)) return false;
  if (*better == "higher" || *better == "lower" || *better == "none") return true;
  *error = "'better' must be higher, lower or none, not '" + *better + "'";
  return false;
}

bool ReadReduce(const json& metric, Reduce* reduce, std::string* error) {
  const auto found = metric.find("reduce");
  if (found == metric.end()) return true;
  const auto known = Reductions().find(found->is_string() ? found->get<std::string>() : "");
  if (known == Reductions().end()) {
    *error = "'reduce' must be first, last, all, min, max, mean or median, not " + Shown(*found);
    return false;
  }
  *reduce = known->second;
  return true;
}

bool ReadScale(const json& metric, double* scale, std::string* error) {
  const auto found = metric.find("scale");
  if (found == metric.end()) return true;
  if (found->is_number()) *scale = found->get<double>();
  if (found->is_number() && std::isfinite(*scale) && *scale != 0) return true;
  *error = "'scale' must be a number other than 0, not " + Shown(*found);
  return false;
}

bool ReadMetric(const json& metric, MetricPattern* spec, std::string* error) {
  if (!metric.is_object()) {
    *error = "must be a map with name, unit, better and pattern, not " + Shown(metric);
    return false;
  }
  if (!CheckKeys(metric, error) || !ReadText(metric, "name", &spec->name, error) ||
      !ReadText(metric, "unit", &spec->unit, error) || !ReadBetter(metric, &spec->better, error) ||
      !ReadText(metric, "pattern", &spec->pattern, error) || !ReadReduce(metric, &spec->reduce, error) ||
      !ReadScale(metric, &spec->scale, error)) {
    return false;
  }
  auto labels = StringMap(metric, "labels", error);
  if (!labels) return false;
  spec->labels = *std::move(labels);
  return true;
}

}  // namespace

std::optional<Reduce> ReduceNamed(std::string_view name) {
  const auto known = Reductions().find(std::string(name));
  if (known == Reductions().end()) return std::nullopt;
  return known->second;
}

std::optional<std::vector<std::string>> StringList(const json& object, const std::string& key,
                                                   std::string* error) {
  std::vector<std::string> list;
  const auto found = object.find(key);
  if (found == object.end()) return list;
  bool ok = found->is_array();
  for (size_t i = 0; ok && i < found->size(); ++i) {
    const auto text = Scalar((*found)[i]);
    ok = text.has_value();
    if (ok) list.push_back(*text);
  }
  if (ok) return list;
  *error = "'" + key + "' must be a list of strings, not " + Shown(*found);
  return std::nullopt;
}

std::optional<std::map<std::string, std::string>> StringMap(const json& object, const std::string& key,
                                                            std::string* error) {
  std::map<std::string, std::string> map;
  const auto found = object.find(key);
  if (found == object.end()) return map;
  bool ok = found->is_object();
  if (ok) {
    for (const auto& item : found->items()) {
      const auto text = Scalar(item.value());
      ok = ok && text.has_value();
      if (text) map[item.key()] = *text;
    }
  }
  if (ok) return map;
  *error = "'" + key + "' must be a map of strings, not " + Shown(*found);
  return std::nullopt;
}

std::optional<RegexSpec> RegexSpecFromJson(const json& object, std::string* error) {
  if (!object.is_object()) {
    *error = "must be a map, not " + Shown(object);
    return std::nullopt;
  }
  RegexSpec spec;
  const auto metrics = object.find("metrics");
  if (metrics == object.end() || !metrics->is_array() || metrics->empty()) {
    *error = "'metrics' must be a list of at least one map with name, unit, better and pattern";
    return std::nullopt;
  }
  for (size_t i = 0; i < metrics->size(); ++i) {
    MetricPattern& metric = spec.metrics.emplace_back();
    if (!ReadMetric((*metrics)[i], &metric, error)) {
      *error = "'metrics[" + std::to_string(i) + "]': " + *error;
      return std::nullopt;
    }
  }
  auto must_match = StringList(object, "sanity", error);
  auto must_not_match = must_match ? StringList(object, "sanity_not", error) : std::nullopt;
  if (!must_match || !must_not_match) return std::nullopt;
  spec.must_match = *std::move(must_match);
  spec.must_not_match = *std::move(must_not_match);
  return spec;
}

}  // namespace fleetmark::parse
