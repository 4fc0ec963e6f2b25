#include "common/plugin/params.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/config/quantities.h"
#include "common/model/labels.h"
#include "common/model/limits.h"
#include "common/plugin/json_text.h"

namespace fleetmark {
namespace {

using google::protobuf::Value;

constexpr double kMaxExactWhole = 9007199254740992.0;  // 2^53

absl::Status MustBe(const char* right, const Value& value) {
  std::string text = CanonicalJson(value);
  if (text.size() > 80) text = absl::StrCat(text.substr(0, 80), "…");
  bool repaired = false;
  return absl::InvalidArgumentError(absl::StrCat("must be ", right, ", not ", RepairUtf8(text, &repaired)));
}

std::string Quantity(ParamType type, double number) {
  if (type == ParamType::kDuration) return DurationText(absl::Seconds(number));
  if (type == ParamType::kBytes) return BytesText(static_cast<int64_t>(number));
  return CanonicalNumber(number);
}

absl::StatusOr<Value> CheckNumber(const ParamSpec& param, double number) {
  if (param.min.has_value() && number < *param.min) {
    return absl::InvalidArgumentError(absl::StrCat("must be at least ", Quantity(param.type, *param.min),
                                                   ", not ", Quantity(param.type, number)));
  }
  if (param.max.has_value() && number > *param.max) {
    return absl::InvalidArgumentError(absl::StrCat("must be at most ", Quantity(param.type, *param.max),
                                                   ", not ", Quantity(param.type, number)));
  }
  Value value;
  value.set_number_value(number);
  return value;
}

absl::StatusOr<Value> CheckInt(const ParamSpec& param, const Value& value) {
  const double number = value.number_value();
  if (!value.has_number_value() || std::trunc(number) != number || std::fabs(number) > kMaxExactWhole) {
    return MustBe("a whole number", value);
  }
  return CheckNumber(param, number);
}

absl::StatusOr<Value> CheckFloat(const ParamSpec& param, const Value& value) {
  if (!value.has_number_value() || !std::isfinite(value.number_value())) return MustBe("a number", value);
  return CheckNumber(param, value.number_value());
}

// A number counts as seconds.
absl::StatusOr<Value> CheckDuration(const ParamSpec& param, const Value& value) {
  if (value.has_number_value() && std::isfinite(value.number_value()) && value.number_value() >= 0) {
    return CheckNumber(param, value.number_value());
  }
  if (!value.has_string_value()) return MustBe("a duration such as 90s or 1h30m", value);
  FM_ASSIGN_OR_RETURN(const absl::Duration duration, ParseDuration(value.string_value()));
  return CheckNumber(param, absl::ToDoubleSeconds(duration));
}

absl::StatusOr<Value> CheckBytes(const ParamSpec& param, const Value& value) {
  const double number = value.number_value();
  if (value.has_number_value() && std::trunc(number) == number && number >= 0 && number <= kMaxExactWhole) {
    return CheckNumber(param, number);
  }
  if (!value.has_string_value()) return MustBe("a size such as 64KiB or 2GiB", value);
  FM_ASSIGN_OR_RETURN(const int64_t bytes, ParseBytes(value.string_value()));
  return CheckNumber(param, static_cast<double>(bytes));
}

absl::StatusOr<Value> CheckString(const ParamSpec& param, const Value& value) {
  if (!value.has_string_value()) return MustBe("text, in quotes where it looks like something else", value);
  const std::string& text = value.string_value();
  FM_RETURN_IF_ERROR(CheckText("text", text, limits::kParamsJsonBytes));
  if (!param.choices.empty() &&
      std::find(param.choices.begin(), param.choices.end(), text) == param.choices.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be one of ", absl::StrJoin(param.choices, ", "), ", not '", text, "'"));
  }
  return value;
}

std::string UnknownParam(const PluginManifest& manifest, const std::string& name) {
  std::vector<std::string> names;
  for (const ParamSpec& param : manifest.params) names.push_back(param.name);
  const std::string nearest = NearestName(name, names);
  std::string hint = absl::StrCat("; did you mean '", nearest, "'?");
  if (nearest.empty()) {
    hint =
        names.empty() ? std::string("; it has none") : absl::StrCat("; it has ", absl::StrJoin(names, ", "));
  }
  bool repaired = false;
  return absl::StrCat("unknown parameter '", RepairUtf8(name.substr(0, 80), &repaired), "' of plugin ",
                      manifest.name, hint);
}

// The value that `param` gets, from `given` or its default.
absl::StatusOr<Value> Resolve(const ParamSpec& param, const google::protobuf::Struct& given) {
  const auto found = given.fields().find(param.name);
  if (found == given.fields().end()) {
    if (param.default_json.has_value()) return ParseJsonValue(*param.default_json);
    return absl::InvalidArgumentError("is missing and has no default");
  }
  return CheckParam(param, found->second);
}

void AddEnvironment(const ParamSpec& param, const Value& value,
                    std::map<std::string, std::string>& environment) {
  if (param.type == ParamType::kList || param.type == ParamType::kMap) return;
  const std::string name = absl::StrCat("FLEETMARK_PARAM_", absl::AsciiStrToUpper(param.name));
  environment[name] = value.has_string_value() ? value.string_value() : CanonicalJson(value);
}

}  // namespace

absl::StatusOr<Value> CheckParam(const ParamSpec& param, const Value& value) {
  switch (param.type) {
    case ParamType::kBool:
      if (value.has_bool_value()) return value;
      return MustBe("true or false", value);
    case ParamType::kInt:
      return CheckInt(param, value);
    case ParamType::kFloat:
      return CheckFloat(param, value);
    case ParamType::kString:
      return CheckString(param, value);
    case ParamType::kDuration:
      return CheckDuration(param, value);
    case ParamType::kBytes:
      return CheckBytes(param, value);
    case ParamType::kList:
      if (value.has_list_value()) return value;
      return MustBe("a list", value);
    case ParamType::kMap:
      if (value.has_struct_value()) return value;
      return MustBe("a map", value);
  }
  return absl::InternalError("a parameter of an unknown type");
}

absl::StatusOr<ResolvedParams> ResolveParams(const PluginManifest& manifest, std::string_view params_json) {
  if (params_json.size() > limits::kParamsJsonBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameters take more than ", limits::kParamsJsonBytes, " bytes"));
  }
  google::protobuf::Struct given;
  if (!params_json.empty()) {
    FM_RETURN_IF_ERROR(Annotate(ParseJsonObject(params_json).status(), "parameters"));
    FM_ASSIGN_OR_RETURN(const Value object, ParseJsonValue(params_json));
    given = object.struct_value();
  }
  std::vector<std::string> faults;
  for (const auto& [name, value] : given.fields()) {
    if (manifest.FindParam(name) == nullptr) faults.push_back(UnknownParam(manifest, name));
  }
  std::sort(faults.begin(), faults.end());  // a map of protobuf has no order
  ResolvedParams resolved;
  for (const ParamSpec& param : manifest.params) {
    absl::StatusOr<Value> value = Resolve(param, given);
    if (!value.ok()) {
      faults.push_back(absl::StrCat("parameter ", param.name, ": ", Message(value.status())));
      continue;
    }
    AddEnvironment(param, *value, resolved.environment);
    (*resolved.values.mutable_fields())[param.name] = *std::move(value);
  }
  if (!faults.empty()) return absl::InvalidArgumentError(absl::StrJoin(faults, "; "));
  resolved.json = CanonicalJson(resolved.values);
  if (resolved.json.size() > limits::kParamsJsonBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameters take more than ", limits::kParamsJsonBytes, " bytes"));
  }
  resolved.digest = ShortDigest(absl::StrCat(manifest.name, "\n", resolved.json));
  return resolved;
}

}  // namespace fleetmark
