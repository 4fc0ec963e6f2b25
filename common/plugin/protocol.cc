#include "common/plugin/protocol.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/util/json_util.h"

#include "common/base/status.h"
#include "common/model/labels.h"
#include "common/model/limits.h"
#include "common/model/units.h"
#include "common/plugin/json_text.h"
#include "fleetmark/v1/plugin.pb.h"

namespace fleetmark {
namespace {

using Kind = PluginEvent::Kind;

constexpr std::pair<const char*, Kind> kKinds[] = {
    {"metric", Kind::kMetric},   {"sample", Kind::kSample}, {"progress", Kind::kProgress},
    {"event", Kind::kEvent},     {"log", Kind::kLog},       {"artifact", Kind::kArtifact},
    {"invalid", Kind::kInvalid}, {"done", Kind::kDone}};

absl::Status Wrong(std::string_view what) { return absl::InvalidArgumentError(std::string(what)); }

std::string Short(const std::string& text) {
  bool repaired = false;
  return RepairUtf8(std::string_view(text).substr(0, 80), &repaired);
}

// Protobuf takes "1.5" in quotes, and "NaN", for a number; the protocol does not.
absl::Status CheckNumberMember(const JsonMember& member) {
  if (member.kind != JsonKind::kNumber) {
    return Wrong(absl::StrCat(std::string(member.key), " must be a number without quotes, not ",
                              Short(std::string(member.text))));
  }
  double number = 0;
  if (absl::SimpleAtod(absl::string_view(member.text.data(), member.text.size()), &number) &&
      std::isfinite(number)) {
    return absl::OkStatus();
  }
  return Wrong(absl::StrCat(std::string(member.key), " ", Short(std::string(member.text)), " is not finite"));
}

absl::StatusOr<v1::PluginLine> ParseJsonLine(const std::string& text, bool& unknown_fields) {
  FM_ASSIGN_OR_RETURN(const std::vector<JsonMember> members, ParseJsonObject(text));
  for (const JsonMember& member : members) {
    if (member.key == "value" || member.key == "fraction") FM_RETURN_IF_ERROR(CheckNumberMember(member));
  }
  v1::PluginLine line;
  if (google::protobuf::util::JsonStringToMessage(text, &line).ok()) return line;
  line.Clear();
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &line, options);
  if (!status.ok())
    return Wrong(absl::StrCat("a field has the wrong type: ", Short(std::string(status.message()))));
  unknown_fields = true;
  return line;
}

absl::StatusOr<Kind> ParseKind(const std::string& type) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kKinds) {
    if (type == name) return kind;
    names.push_back(name);
  }
  if (type.empty())
    return Wrong(absl::StrCat("'type' is missing; it is one of ", absl::StrJoin(names, ", ")));
  const std::string nearest = NearestName(std::string_view(type).substr(0, limits::kNameBytes), names);
  return Wrong(absl::StrCat("unknown type '", Short(type), "'",
                            nearest.empty() ? absl::StrCat("; known: ", absl::StrJoin(names, ", "))
                                            : absl::StrCat("; did you mean '", nearest, "'?")));
}

absl::Status CheckLabels(const v1::PluginLine& line, const MetricSpec* spec) {
  if (line.labels().size() > limits::kLabelsPerMetric) {
    return absl::ResourceExhaustedError(
        absl::StrCat("metric '", line.name(), "' has more than ", limits::kLabelsPerMetric, " labels"));
  }
  for (const auto& [name, value] : line.labels()) {
    if (name.size() > limits::kNameBytes || value.size() > limits::kLabelValueBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("label '", Short(name), "' of metric '", line.name(), "' is longer than allowed"));
    }
    FM_RETURN_IF_ERROR(CheckIdentifier("label name", name));
    FM_RETURN_IF_ERROR(CheckText(absl::StrCat("label ", name), value, limits::kLabelValueBytes));
    if (spec != nullptr && std::find(spec->labels.begin(), spec->labels.end(), name) == spec->labels.end()) {
      return Wrong(absl::StrCat("metric '", line.name(), "' has the label '", name,
                                "', which its manifest does not list"));
    }
  }
  return absl::OkStatus();
}

absl::Status UnknownMetric(const std::string& name, const PluginManifest& manifest) {
  std::vector<std::string> names;
  for (const MetricSpec& metric : manifest.metrics) names.push_back(metric.name);
  const std::string nearest = NearestName(name, names);
  return Wrong(
      absl::StrCat("metric '", name, "' is not in the manifest",
                   nearest.empty() ? std::string() : absl::StrCat("; did you mean '", nearest, "'?")));
}

absl::StatusOr<v1::Better> CheckBetter(const v1::PluginLine& line, const MetricSpec* spec) {
  const v1::Better promised = spec != nullptr ? spec->better : v1::BETTER_NONE;
  if (line.better().empty()) return promised;
  const std::optional<v1::Better> better = ParseBetter(line.better());
  if (!better.has_value()) {
    return Wrong(absl::StrCat("better of metric '", line.name(), "' must be higher, lower or none, not '",
                              Short(line.better()), "'"));
  }
  if (spec != nullptr && *better != promised) {
    return Wrong(absl::StrCat("better of metric '", line.name(), "' is '", line.better(),
                              "', other than its manifest says"));
  }
  return *better;
}

absl::Status ReadMetric(const v1::PluginLine& line, const PluginManifest& manifest, v1::Metric& metric) {
  FM_RETURN_IF_ERROR(CheckIdentifier("metric name", line.name()));
  const MetricSpec* spec = manifest.FindMetric(line.name());
  if (spec == nullptr && !manifest.dynamic_metrics) return UnknownMetric(line.name(), manifest);
  if (!line.has_value()) return Wrong(absl::StrCat("metric '", line.name(), "' has no value"));
  if (!std::isfinite(line.value())) return Wrong(absl::StrCat("metric '", line.name(), "' is not finite"));
  if (spec != nullptr && line.unit() != spec->unit) {
    return Wrong(absl::StrCat("metric '", line.name(), "' has the unit '", Short(line.unit()),
                              "' but its manifest says '", spec->unit, "'"));
  }
  FM_RETURN_IF_ERROR(Annotate(CheckUnit(std::string_view(line.unit()).substr(0, limits::kNameBytes)),
                              absl::StrCat("metric '", line.name(), "'")));
  FM_RETURN_IF_ERROR(CheckLabels(line, spec));
  FM_ASSIGN_OR_RETURN(const v1::Better better, CheckBetter(line, spec));
  metric.set_name(line.name());
  metric.set_unit(line.unit());
  metric.set_better(better);
  metric.set_value(line.value());
  *metric.mutable_labels() = line.labels();
  return absl::OkStatus();
}

absl::Status ReadArtifact(const v1::PluginLine& line, PluginEvent& event) {
  FM_RETURN_IF_ERROR(CheckText("artifact name", line.name(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckText("artifact path", line.path(), limits::kFactValueBytes));
  if (line.name().empty() || line.path().empty()) return Wrong("an artifact needs a name and a path");
  const std::vector<std::string> parts = absl::StrSplit(line.path(), '/');
  if (absl::StartsWith(line.path(), "/") || std::find(parts.begin(), parts.end(), "..") != parts.end()) {
    return Wrong(absl::StrCat("artifact path '", line.path(), "' must be inside the working folder"));
  }
  event.name = line.name();
  event.path = line.path();
  return absl::OkStatus();
}

absl::StatusOr<PluginEvent> ReadEvent(const v1::PluginLine& line, const PluginManifest& manifest) {
  PluginEvent event;
  FM_ASSIGN_OR_RETURN(event.kind, ParseKind(line.type()));
  event.message = RepairUtf8(line.message(), &event.repaired);
  switch (event.kind) {
    case Kind::kMetric:
    case Kind::kSample:
      FM_RETURN_IF_ERROR(ReadMetric(line, manifest, event.metric));
      break;
    case Kind::kProgress:
      if (!(line.fraction() >= 0 && line.fraction() <= 1)) return Wrong("fraction must be between 0 and 1");
      event.fraction = line.fraction();
      break;
    case Kind::kArtifact:
      FM_RETURN_IF_ERROR(ReadArtifact(line, event));
      break;
    case Kind::kEvent:
    case Kind::kLog:
    case Kind::kInvalid:
    case Kind::kDone:
      break;
  }
  return event;
}

}  // namespace

absl::StatusOr<PluginEvent> ParseLine(std::string_view line, const PluginManifest& manifest) {
  bool repaired = false;
  const std::string text = RepairUtf8(line, &repaired);
  if (!absl::StartsWith(text, "{")) {
    PluginEvent event;
    event.message = text;
    event.repaired = repaired;
    return event;
  }
  bool unknown_fields = false;
  FM_ASSIGN_OR_RETURN(const v1::PluginLine parsed, ParseJsonLine(text, unknown_fields));
  FM_ASSIGN_OR_RETURN(PluginEvent event, ReadEvent(parsed, manifest));
  if (repaired && (event.kind == Kind::kMetric || event.kind == Kind::kSample)) {
    return Wrong(absl::StrCat("metric '", event.metric.name(), "' is not written in UTF-8"));
  }
  event.repaired = event.repaired || repaired;
  event.unknown_fields = unknown_fields;
  return event;
}

}  // namespace fleetmark
