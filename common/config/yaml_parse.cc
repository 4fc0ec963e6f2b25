#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "yaml-cpp/yaml.h"

#include "common/base/status.h"
#include "common/config/yaml_tree.h"

namespace fleetmark {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxNodes = 100000;

class Converter {
 public:
  explicit Converter(std::string_view origin) : origin_(origin) {}

  absl::StatusOr<YamlTree> Convert(const YAML::Node& node, int depth) {
    YamlTree tree;
    const YAML::Mark mark = node.Mark();
    tree.line = mark.line + 1;
    tree.column = mark.column + 1;
    if (depth > kMaxDepth) return Fault(mark, absl::StrCat("nested deeper than ", kMaxDepth, " levels"));
    if (++nodes_ > kMaxNodes) return Fault(mark, absl::StrCat("more than ", kMaxNodes, " values"));
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return tree;
      case YAML::NodeType::Scalar:
        tree.kind = YamlTree::Kind::kScalar;
        tree.scalar = node.Scalar();
        tree.quoted = node.Tag() == "!";
        return tree;
      case YAML::NodeType::Sequence:
        tree.kind = YamlTree::Kind::kList;
        for (const YAML::Node& item : node) {
          FM_ASSIGN_OR_RETURN(YamlTree child, Convert(item, depth + 1));
          tree.items.push_back(std::move(child));
        }
        return tree;
      case YAML::NodeType::Map:
        break;
    }
    FM_RETURN_IF_ERROR(ConvertMap(node, depth, tree));
    return tree;
  }

 private:
  absl::Status ConvertMap(const YAML::Node& node, int depth, YamlTree& tree) {
    tree.kind = YamlTree::Kind::kMap;
    std::set<std::string> seen;
    for (const auto& pair : node) {
      const YAML::Mark mark = pair.first.Mark();
      if (!pair.first.IsScalar()) return Fault(mark, "a key must be plain text");
      const std::string& key = pair.first.Scalar();
      if (!seen.insert(key).second) return Fault(mark, absl::StrCat("key '", key, "' is given twice"));
      FM_ASSIGN_OR_RETURN(YamlTree child, Convert(pair.second, depth + 1));
      tree.entries.push_back({key, mark.line + 1, mark.column + 1, std::move(child)});
    }
    return absl::OkStatus();
  }

  absl::Status Fault(const YAML::Mark& mark, std::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat(std::string(origin_), ":", mark.line + 1, ":",
                                                   mark.column + 1, ": ", std::string(message)));
  }

  const std::string_view origin_;
  int nodes_ = 0;
};

}  // namespace

absl::StatusOr<YamlTree> ParseYaml(std::string_view text, std::string_view origin) {
  // yaml-cpp reports by exceptions; none leaves this function.
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.empty()) return YamlTree();
    if (documents.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(std::string(origin), ": has ", documents.size(), " documents, one is expected"));
    }
    return Converter(origin).Convert(documents[0], 0);
  } catch (const YAML::Exception& e) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(origin), ":", e.mark.line + 1, ":",
                                                   e.mark.column + 1, ": not valid YAML: ", e.msg));
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(origin), ": not valid YAML: ", e.what()));
  }
}

}  // namespace fleetmark
