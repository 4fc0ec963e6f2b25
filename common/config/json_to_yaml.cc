#include "common/config/json_to_yaml.h"

#include <yaml-cpp/yaml.h>

#include "absl/strings/str_cat.h"

namespace fleetmark {
namespace {

constexpr char kQuotedTag[] = "!";  // yaml-cpp's, of scalars that were quoted

void Emit(const YAML::Node& node, YAML::Emitter* out) {
  if (node.IsMap()) {
    *out << YAML::BeginMap;
    for (const auto& member : node) {
      *out << YAML::Key << member.first.as<std::string>() << YAML::Value;
      Emit(member.second, out);
    }
    *out << YAML::EndMap;
  } else if (node.IsSequence()) {
    *out << YAML::BeginSeq;
    for (const auto& element : node) Emit(element, out);
    *out << YAML::EndSeq;
  } else if (node.IsNull()) {
    *out << YAML::Null;
  } else if (node.Tag() == kQuotedTag) {
    *out << YAML::DoubleQuoted << node.as<std::string>();
  } else {
    *out << node.as<std::string>();
  }
}

}  // namespace

absl::StatusOr<std::string> JsonToYaml(const std::string& json) {
  try {
    YAML::Emitter out;
    Emit(YAML::Load(json), &out);
    if (!out.good()) return absl::InternalError(absl::StrCat("writing YAML: ", out.GetLastError()));
    return absl::StrCat(out.c_str(), "\n");
  } catch (const YAML::Exception& e) {
    return absl::InvalidArgumentError(absl::StrCat("not JSON: ", e.what()));
  }
}

}  // namespace fleetmark
