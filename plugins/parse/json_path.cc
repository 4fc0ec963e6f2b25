// The reader `json`: numbers at paths, or with no metrics asked for every number of each document.
//
//   path = ["$"] {"." name | "." "*" | "[" index "]" | "[" "*" "]" | "['" name "']"}
//
// An index may be negative, from the end. `*` is every item or member; its place becomes the label `index`
// (or `key`) unless label_paths are given.
#include <algorithm>
#include <charconv>

#include "plugins/parse/json_documents.h"
#include "plugins/parse/metric_options.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

constexpr size_t kMaxMatches = 100'000;

struct Step {
  enum class Kind { kName, kIndex, kAll } kind;
  std::string name;
  int64_t index = 0;
};

// Takes "[...]" from the front.
bool TakeBracket(std::string_view* rest, std::vector<Step>* steps) {
  const bool quoted = rest->size() > 1 && ((*rest)[1] == '\'' || (*rest)[1] == '"');
  const std::string close = quoted ? Join({rest->substr(1, 1), "]"}) : "]";
  const size_t end = rest->find(close, 2);
  if (end == std::string_view::npos) return false;
  const std::string_view inside = rest->substr(quoted ? 2 : 1, end - (quoted ? 2 : 1));
  rest->remove_prefix(end + close.size());
  if (quoted) {
    steps->push_back({Step::Kind::kName, std::string(inside)});
    return true;
  }
  if (inside == "*") {
    steps->push_back({Step::Kind::kAll, ""});
    return true;
  }
  Step step{Step::Kind::kIndex, ""};
  const auto [stop, error] = std::from_chars(inside.data(), inside.data() + inside.size(), step.index);
  if (error != std::errc() || stop != inside.data() + inside.size() || inside.empty()) return false;
  steps->push_back(step);
  return true;
}

std::optional<std::vector<Step>> ParsePath(std::string_view path) {
  std::vector<Step> steps;
  if (path.starts_with("$") || path.starts_with("@")) path.remove_prefix(1);
  bool first = true;
  while (!path.empty()) {
    if (path[0] == '[') {
      if (!TakeBracket(&path, &steps)) return std::nullopt;
    } else {
      if (path[0] == '.') {
        path.remove_prefix(1);
      } else if (!first) {
        return std::nullopt;
      }
      const std::string_view name = path.substr(0, path.find_first_of(".["));
      if (name.empty()) return std::nullopt;
      steps.push_back({name == "*" ? Step::Kind::kAll : Step::Kind::kName, std::string(name)});
      path.remove_prefix(name.size());
    }
    first = false;
  }
  return steps;
}

struct Match {
  const Json* value;
  Labels place;
};

// Where `*` stood: label `index` or `key`, with a number from the second on.
void AddPlace(Labels* place, const char* name, std::string value) {
  std::string label = name;
  for (int i = 2; place->contains(label); ++i) label = Join({name, std::to_string(i)});
  (*place)[label] = std::move(value);
}

void ExpandAll(const Match& match, std::vector<Match>* next) {
  if (match.value->is_array()) {
    for (size_t i = 0; i < match.value->size() && next->size() < kMaxMatches; ++i) {
      Match one{&(*match.value)[i], match.place};
      AddPlace(&one.place, "index", std::to_string(i));
      next->push_back(std::move(one));
    }
  } else if (match.value->is_object()) {
    for (const auto& item : match.value->items()) {
      if (next->size() >= kMaxMatches) return;
      Match one{&item.value(), match.place};
      AddPlace(&one.place, "key", item.key());
      next->push_back(std::move(one));
    }
  }
}

std::vector<Match> Find(const Json& root, const std::vector<Step>& steps) {
  std::vector<Match> matches = {{&root, {}}};
  for (const Step& step : steps) {
    std::vector<Match> next;
    for (const Match& match : matches) {
      if (step.kind == Step::Kind::kAll) {
        ExpandAll(match, &next);
      } else if (step.kind == Step::Kind::kName) {
        if (const Json* member = Member(*match.value, step.name); member != nullptr)
          next.push_back({member, match.place});
      } else if (match.value->is_array()) {
        const auto size = static_cast<int64_t>(match.value->size());
        const int64_t index = step.index < 0 ? size + step.index : step.index;
        if (index >= 0 && index < size)
          next.push_back({&(*match.value)[static_cast<size_t>(index)], match.place});
      }
    }
    matches = std::move(next);
  }
  return matches;
}

std::string TextOf(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void AddMatch(const MetricOption& metric, const Json& value, Labels labels, size_t line, Report& report) {
  for (const auto& [name, text] : metric.labels) labels[name] = text;
  const MetricKind kind = {metric.name, metric.unit, metric.better, metric.scale};
  const Number number = NumberOf(value);
  if (number.kind == NumberKind::kNumber) {
    report.Add(kind, number.value, std::move(labels), line);
  } else if (number.kind == NumberKind::kNotFinite) {
    report.Warning(line, Join({"'", metric.source, "' is ", TextOf(value), " and left out"}));
  } else {
    report.Invalid(line, Join({"'", metric.source, "' is no number but ", ShownJson(value)}));
  }
}

// The number of values that the document has at the metric's path.
size_t ReadMetric(const MetricOption& metric, const JsonDocument& document, Report& report) {
  size_t count = 0;
  for (const Match& item : Find(document.value, *ParsePath(metric.each))) {
    Labels labels = metric.label_paths.empty() ? item.place : Labels();
    for (const auto& [name, path] : metric.label_paths) {
      const auto found = Find(*item.value, *ParsePath(path));
      if (!found.empty()) labels[name] = TextOf(*found[0].value);
    }
    for (const Match& match : Find(*item.value, *ParsePath(metric.source))) {
      Labels all = labels;
      for (const auto& [name, text] : match.place)
        AddPlace(&all, name.starts_with("key") ? "key" : "index", text);
      AddMatch(metric, *match.value, std::move(all), document.line, report);
      ++count;
    }
  }
  return count;
}

// Names of members joined by '_'; places in lists are the label `index`.
void ReadEveryNumber(const Json& value, const std::string& name, const Labels& place, size_t line,
                     Report& report) {
  if (value.is_number()) {
    report.Add({name, "1", "none"}, value.get<double>(), place, line);
  } else if (value.is_object()) {
    for (const auto& item : value.items()) {
      ReadEveryNumber(item.value(), Join({name, name.empty() ? "" : "_", item.key()}), place, line, report);
    }
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size() && report.metrics() < kMaxMetrics; ++i) {
      Labels inner = place;
      AddPlace(&inner, "index", std::to_string(i));
      ReadEveryNumber(value[i], name, inner, line, report);
    }
  } else if (value.is_string() && NumberOf(value).kind == NumberKind::kNotFinite) {
    report.Warning(line, Join({"'", name, "' is ", value.get<std::string>(), " and left out"}));
  }
}

void CheckExpectations(const Options& options, const std::vector<JsonDocument>& documents, Report& report) {
  const Json* expectations = ArrayIn(options, "expect");
  for (size_t i = 0; expectations != nullptr && i < expectations->size(); ++i) {
    const Json& expected = (*expectations)[i];
    const std::string path = StringIn(expected, "path");
    size_t found = 0;
    for (const JsonDocument& document : documents) {
      for (const Match& match : Find(document.value, *ParsePath(path))) {
        ++found;
        if (*match.value == expected["equals"]) continue;
        report.Invalid(document.line, Join({"'", path, "' is ", ShownJson(*match.value), " and not ",
                                            ShownJson(expected["equals"])}));
      }
    }
    if (found == 0) report.Invalid(0, Join({"there is no '", path, "'"}));
  }
}

}  // namespace

std::string CheckJsonPathOptions(const Options& options) {
  const std::string fault = CheckMetricOptions(options, "path", {"label_paths"});
  if (!fault.empty()) return fault;
  for (const MetricOption& metric : MetricOptions(options, "path")) {
    std::vector<std::string> paths = {metric.source, metric.each};
    for (const auto& [name, path] : metric.label_paths) paths.push_back(path);
    for (const std::string& path : paths) {
      if (!ParsePath(path))
        return Join({"'", path, "' is not a path such as $.jobs[0].read.iops or $.jobs[*].name"});
    }
  }
  const Json* expectations = ArrayIn(options, "expect");
  for (size_t i = 0; expectations != nullptr && i < expectations->size(); ++i) {
    const std::string path = StringIn((*expectations)[i], "path");
    if (path.empty() || !ParsePath(path) || Member((*expectations)[i], "equals") == nullptr) {
      return "'expect' must hold maps with path and equals";
    }
  }
  return "";
}

void ReadJsonPaths(const Options& options, Report& report) {
  const std::vector<JsonDocument> documents = ReadJsonDocuments(report.text(), "to read from", report);
  const std::vector<MetricOption> metrics = MetricOptions(options, "path");
  for (const MetricOption& metric : metrics) {
    size_t count = 0;
    for (const JsonDocument& document : documents) count += ReadMetric(metric, document, report);
    if (count == 0 && !documents.empty())
      report.Invalid(documents[0].line, Join({"nothing is at '", metric.each, metric.each.empty() ? "" : " ",
                                              metric.source, "'"}));
  }
  if (metrics.empty()) {
    for (const JsonDocument& document : documents)
      ReadEveryNumber(document.value, "", {}, document.line, report);
  }
  CheckExpectations(options, documents, report);
}

}  // namespace fleetmark::parse
