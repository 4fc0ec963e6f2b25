// The labels of a series as PromQL sees them: names with values, sorted by name, no value empty. The metric's
// name is the label __name__.
//
// Thread-safety: plain data. Errors: none.
#ifndef FLEETMARK_COLLECTOR_PROMQL_LABEL_SET_H_
#define FLEETMARK_COLLECTOR_PROMQL_LABEL_SET_H_

#include <compare>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fleetmark::collector::promql {

inline constexpr std::string_view kMetricName = "__name__";

struct Label {
  std::string name;
  std::string value;
  auto operator<=>(const Label&) const = default;

  template <typename H>
  friend H AbslHashValue(H h, const Label& label) {
    return H::combine(std::move(h), label.name, label.value);
  }
};

class LabelSet {
 public:
  LabelSet() = default;
  // Sorts them; of two with one name the first stays, and empty values are dropped.
  explicit LabelSet(std::vector<Label> labels);

  // Empty when there is no such label.
  std::string_view Get(std::string_view name) const;

  // An empty value removes the label.
  void Set(std::string_view name, std::string_view value);
  void Remove(std::string_view name) { Set(name, {}); }

  // Those with a name in `names`, which must be sorted; those without; __name__ is not special here.
  LabelSet Keeping(const std::vector<std::string>& names) const;
  LabelSet Dropping(const std::vector<std::string>& names) const;
  LabelSet WithoutName() const;

  // As Prometheus prints it: name{a="x", b="y"}.
  std::string ToString() const;

  bool empty() const { return labels_.empty(); }
  size_t size() const { return labels_.size(); }
  auto begin() const { return labels_.begin(); }
  auto end() const { return labels_.end(); }
  bool operator==(const LabelSet&) const = default;
  auto operator<=>(const LabelSet&) const = default;

  template <typename H>
  friend H AbslHashValue(H h, const LabelSet& set) {
    return H::combine(std::move(h), set.labels_);
  }

 private:
  std::vector<Label> labels_;
};

// Shared by the results that carry it through an evaluation.
using Metric = std::shared_ptr<const LabelSet>;

// [a-zA-Z_][a-zA-Z0-9_]*
bool IsLabelName(std::string_view name);

// `text` in double quotes with Go's escapes, as Prometheus prints strings.
std::string Quoted(std::string_view text);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_LABEL_SET_H_
