// A YAML document as a plain tree with positions; what yaml_reader reads. Only yaml_parse.cc sees the
// YAML library.
//
// Thread-safety: immutable once parsed. Ownership: a tree owns its nodes.
#ifndef FLEETMARK_COMMON_CONFIG_YAML_TREE_H_
#define FLEETMARK_COMMON_CONFIG_YAML_TREE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetmark {

struct YamlTree {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  int line = 1;    // from 1
  int column = 1;  // from 1
  std::string scalar;
  bool quoted = false;  // a scalar in quotes is text even if it looks like a number
  std::vector<YamlTree> items;
  std::vector<Entry> entries;
};

struct YamlTree::Entry {
  std::string key;
  int line;
  int column;
  YamlTree value;
};

// InvalidArgument "origin:line:column: …" when `text` is not YAML, has a duplicate key, is nested deeper
// than 64 levels, or has more than 100,000 values (aliases counted each time they are used).
absl::StatusOr<YamlTree> ParseYaml(std::string_view text, std::string_view origin);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_CONFIG_YAML_TREE_H_
