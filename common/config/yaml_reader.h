// Reads a YAML file strictly: every key is known, every value has the right type and range, and all
// faults are reported together as "file:line:column: path.to.key: what is wrong and what would be right".
//
//   YamlReader reader = YamlReader::Parse(text, "agent.yaml");
//   YamlValue root = reader.root();
//   config.interval = root.Key("interval").Duration(absl::Minutes(5), absl::Seconds(1), absl::Hours(1));
//   root.NoOtherKeys();
//   FM_RETURN_IF_ERROR(reader.status());
//
// Thread-safety: none; used by one thread while loading. Ownership: a YamlValue points into its reader,
// which must outlive it and stay where it is.
#ifndef FLEETMARK_COMMON_CONFIG_YAML_READER_H_
#define FLEETMARK_COMMON_CONFIG_YAML_READER_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "common/config/yaml_tree.h"

namespace fleetmark {

class YamlReader;

// A value, which may be absent. Reading an absent one gives the default; reading one of another type
// notes a fault and gives the default.
class YamlValue {
 public:
  bool present() const { return tree_ != nullptr && tree_->kind != YamlTree::Kind::kNull; }
  const std::string& path() const { return path_; }

  // Of a map: the value under `key`. The key counts as known from then on.
  YamlValue Key(std::string_view key);
  // The same; its absence is a fault.
  YamlValue RequiredKey(std::string_view key);
  // Every key of the map that was not asked for is a fault, which names the nearest known one.
  void NoOtherKeys();

  // Of a map whose keys are free.
  std::vector<std::pair<std::string, YamlValue>> Entries();
  std::vector<YamlValue> Items();

  std::string String(std::string_view default_value = "");
  bool Bool(bool default_value);
  int64_t Int(int64_t default_value, int64_t min = std::numeric_limits<int64_t>::min(),
              int64_t max = std::numeric_limits<int64_t>::max());
  double Double(double default_value, double min = -std::numeric_limits<double>::infinity(),
                double max = std::numeric_limits<double>::infinity());
  absl::Duration Duration(absl::Duration default_value, absl::Duration min = absl::ZeroDuration(),
                          absl::Duration max = absl::InfiniteDuration());
  int64_t Bytes(int64_t default_value, int64_t min = 0, int64_t max = std::numeric_limits<int64_t>::max());
  // One of `choices`.
  std::string Choice(std::string_view default_value, const std::vector<std::string>& choices);
  std::vector<std::string> Strings();
  std::map<std::string, std::string> StringMap();

  // The value as canonical JSON: keys sorted, no white space, plain scalars that look like a number, a
  // bool or null are those. "null" when absent.
  std::string Json() const;

  // Notes a fault at this value's place.
  void Fault(std::string_view message);
  // Notes the fault if `status` is an error.
  void Check(const absl::Status& status);
  // "file:line:column", for messages that are made later.
  std::string Where() const;

 private:
  friend class YamlReader;
  YamlValue(YamlReader* reader, const YamlTree* tree, std::string path, int line, int column)
      : reader_(reader), tree_(tree), path_(std::move(path)), line_(line), column_(column) {}
  const std::string* Scalar(std::string_view wanted);
  bool IsMap();

  YamlReader* reader_;
  const YamlTree* tree_;  // null: absent
  std::string path_;
  int line_;  // where it is, or the map in which it is absent
  int column_;
};

class YamlReader {
 public:
  // Never fails by itself: `status()` tells.
  YamlReader(std::string_view text, std::string_view origin);
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  YamlValue root();
  // OK, or InvalidArgument with one line for each fault, in the order of the file.
  absl::Status status() const;

 private:
  friend class YamlValue;
  struct FaultLine {
    int line;
    int column;
    std::string text;
  };

  const std::string origin_;
  absl::Status parse_status_;
  YamlTree tree_;
  std::vector<FaultLine> faults_;
  std::map<const YamlTree*, std::vector<std::string>> asked_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_CONFIG_YAML_READER_H_
