#include "collector/query/query_params.h"

#include <cmath>
#include <functional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/status.h"
#include "common/config/quantities.h"
#include "common/model/labels.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Parameters of a message: full names, and prefixes of map entries ("label.").
struct Target {
  Message* message;
  const FieldDescriptor* field;
};
using Targets = std::map<std::string, Target>;

bool IsRange(const FieldDescriptor& field) {
  return field.message_type() != nullptr && field.message_type() == v1::TimeRange::descriptor();
}

void Collect(Message* message, const std::set<std::string>& reserved, Targets& targets) {
  const auto* descriptor = message->GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    std::string name = field->name();
    if (reserved.contains(name)) continue;
    if (field->is_map()) {
      name.back() = '.';  // labels -> label.
      targets[name] = {message, field};
    } else if (IsRange(*field)) {
      Message* range = message->GetReflection()->MutableMessage(message, field);
      targets["from"] = {range, range->GetDescriptor()->FindFieldByName("from_unix_ns")};
      targets["to"] = {range, range->GetDescriptor()->FindFieldByName("to_unix_ns")};
    } else if (field->message_type() != nullptr && !field->is_repeated()) {
      Collect(message->GetReflection()->MutableMessage(message, field), reserved, targets);
    } else if (field->message_type() == nullptr) {
      targets[name] = {message, field};
    }
  }
}

absl::Status Wrong(const std::string& name, const std::string& value, std::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": '", value, "' is not ", std::string(wanted)));
}

// "STATE_OPEN" of Finding.State by "open", "state_open" or itself.
const EnumValueDescriptor* FindEnum(const FieldDescriptor& field, const std::string& text) {
  const std::string upper = absl::AsciiStrToUpper(text);
  const auto* type = field.enum_type();
  for (int i = 1; i < type->value_count(); ++i) {
    const std::string& name = type->value(i)->name();
    if (name == upper || absl::EndsWith(name, absl::StrCat("_", upper))) return type->value(i);
  }
  return nullptr;
}

std::string EnumChoices(const FieldDescriptor& field) {
  std::string choices = "one of";
  const auto* type = field.enum_type();
  const std::string& first = type->value(0)->name();  // PREFIX_UNSPECIFIED
  const size_t prefix = first.size() - std::string_view("UNSPECIFIED").size();
  for (int i = 1; i < type->value_count(); ++i) {
    absl::StrAppend(&choices, i > 1 ? ", " : " ",
                    absl::AsciiStrToLower(type->value(i)->name().substr(prefix)));
  }
  return choices;
}

absl::Status AddToList(const std::string& name, const std::string& value, const Target& target) {
  const auto* reflection = target.message->GetReflection();
  for (const auto& part : absl::StrSplit(value, ',', absl::SkipEmpty())) {
    const std::string text(absl::StripAsciiWhitespace(part));
    double number = 0;
    if (target.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      if (!IsValidUtf8(text)) return absl::InvalidArgumentError(absl::StrCat(name, " is not UTF-8"));
      reflection->AddString(target.message, target.field, text);
    } else if (target.field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
      if (!absl::SimpleAtod(text, &number)) return Wrong(name, text, "a number");
      reflection->AddDouble(target.message, target.field, number);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(name, " can't be given in a URL"));
    }
  }
  return absl::OkStatus();
}

absl::Status SetField(const std::string& name, const std::string& value, absl::Time now,
                      const Target& target) {
  const auto* reflection = target.message->GetReflection();
  const FieldDescriptor* field = target.field;
  if (field->is_repeated()) return AddToList(name, value, target);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      if (!IsValidUtf8(value)) return absl::InvalidArgumentError(absl::StrCat(name, " is not UTF-8"));
      reflection->SetString(target.message, field, value);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_UINT32: {
      uint32_t number = 0;
      if (!absl::SimpleAtoi(value, &number)) return Wrong(name, value, "a whole number");
      reflection->SetUInt32(target.message, field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t number = 0;
      if (!absl::SimpleAtoi(value, &number)) return Wrong(name, value, "a whole number");
      reflection->SetUInt64(target.message, field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      double number = 0;
      if (!absl::SimpleAtod(value, &number)) return Wrong(name, value, "a number");
      reflection->SetDouble(target.message, field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT64: {  // only times are
      FM_ASSIGN_OR_RETURN(const int64_t nanos, ParseTimeParameter(value, now));
      reflection->SetInt64(target.message, field, nanos);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      bool flag = false;
      if (!absl::SimpleAtob(value, &flag)) return Wrong(name, value, "true or false");
      reflection->SetBool(target.message, field, flag);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* choice = FindEnum(*field, value);
      if (choice == nullptr) return Wrong(name, value, EnumChoices(*field));
      reflection->SetEnum(target.message, field, choice);
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError(absl::StrCat(name, " can't be given in a URL"));
  }
}

absl::Status SetMapEntry(const std::string& name, const std::string& key, const std::string& value,
                         const Target& target) {
  if (key.empty())
    return absl::InvalidArgumentError(absl::StrCat(name, " lacks a label's name after the point"));
  if (!IsValidUtf8(key) || !IsValidUtf8(value)) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is not UTF-8"));
  }
  Message* entry = target.message->GetReflection()->AddMessage(target.message, target.field);
  entry->GetReflection()->SetString(entry, target.field->message_type()->map_key(), key);
  entry->GetReflection()->SetString(entry, target.field->message_type()->map_value(), value);
  return absl::OkStatus();
}

absl::Status Unknown(const std::string& name, const Targets& targets) {
  std::vector<std::string> names;
  for (const auto& [known, target] : targets) names.push_back(known);
  const std::string nearest = NearestName(name, names);
  bool repaired = false;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown parameter '", RepairUtf8(name, &repaired), "'",
                   nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?")));
}

}  // namespace

absl::StatusOr<int64_t> ParseTimeParameter(std::string_view text, absl::Time now) {
  const absl::string_view view(text.data(), text.size());
  absl::Time time;
  double seconds = 0;
  std::string error;
  if (view == "now") {
    time = now;
  } else if (absl::StartsWith(view, "-")) {
    FM_ASSIGN_OR_RETURN(const absl::Duration ago, ParseDuration(text.substr(1)));
    time = now - ago;
  } else if (absl::SimpleAtod(view, &seconds) && std::isfinite(seconds)) {
    time = absl::UnixEpoch() + absl::Seconds(seconds);
  } else if (!absl::ParseTime(absl::RFC3339_full, view, &time, &error) &&
             !absl::ParseTime("%Y-%m-%d", view, &time, &error)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", view,
        "' is not a time: give RFC 3339, a day, Unix seconds, a duration before now like -24h, or now"));
  }
  constexpr int64_t kLastYearNanos = 9'000'000'000'000'000'000;  // 2255
  if (time < absl::UnixEpoch() || time > absl::FromUnixNanos(kLastYearNanos)) {
    return absl::InvalidArgumentError(absl::StrCat("'", view, "' is before 1970 or after 2255"));
  }
  return absl::ToUnixNanos(time);
}

absl::Status FillRequest(const QueryParams& params, absl::Time now, const std::set<std::string>& reserved,
                         Message* request) {
  Targets targets;
  Collect(request, reserved, targets);
  std::set<std::string> seen;
  for (const auto& [name, value] : params) {
    bool repaired = false;
    const std::string shown = RepairUtf8(name, &repaired);
    if (!seen.insert(name).second) return absl::InvalidArgumentError(absl::StrCat(shown, " is given twice"));
    const size_t point = name.find('.');
    const bool entry = point != std::string::npos;
    const auto it = targets.find(entry ? name.substr(0, point + 1) : name);
    if (it == targets.end()) return Unknown(name, targets);
    if (entry) {
      FM_RETURN_IF_ERROR(SetMapEntry(shown, name.substr(point + 1), value, it->second));
    } else if (it->second.field->is_map()) {
      return Unknown(name, targets);
    } else {
      const absl::Status status = SetField(shown, value, now, it->second);
      if (it->second.field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
        FM_RETURN_IF_ERROR(Annotate(status, shown));
      }
      FM_RETURN_IF_ERROR(status);
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
