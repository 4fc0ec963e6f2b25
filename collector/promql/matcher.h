// One condition on a label: equal, not equal, or a regular expression (RE2, anchored at both ends) that the
// whole value does or does not match. A label that a series lacks has the empty value.
//
// Thread-safety: immutable. Errors: InvalidArgument for a bad or too large regular expression.
#ifndef FLEETMARK_COLLECTOR_PROMQL_MATCHER_H_
#define FLEETMARK_COLLECTOR_PROMQL_MATCHER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "collector/promql/label_set.h"

namespace re2 {
class RE2;
}

namespace fleetmark::collector::promql {

class Matcher {
 public:
  enum class Op { kEqual, kNotEqual, kRegex, kNotRegex };

  static absl::StatusOr<Matcher> Create(Op op, std::string name, std::string value);

  bool Matches(std::string_view value) const;
  bool Matches(const LabelSet& labels) const { return Matches(labels.Get(name_)); }

  Op op() const { return op_; }
  const std::string& name() const { return name_; }
  const std::string& value() const { return value_; }
  // name="value", name!~"value", …
  std::string ToString() const;

 private:
  Matcher(Op op, std::string name, std::string value)
      : op_(op), name_(std::move(name)), value_(std::move(value)) {}

  Op op_;
  std::string name_;
  std::string value_;
  std::shared_ptr<const re2::RE2> regex_;  // null unless it is one
};

using Matchers = std::vector<Matcher>;

// Whether all of them match.
bool MatchesAll(const Matchers& matchers, const LabelSet& labels);

// label_replace of PromQL: `text` matched as a whole against `pattern`, and then `replacement` with its $1,
// ${name} and $$ filled in as Go's regexp.Expand does.
class Rewriter {
 public:
  static absl::StatusOr<Rewriter> Create(const std::string& pattern, std::string replacement);
  // False when `text` does not match.
  bool Rewrite(std::string_view text, std::string* out) const;

 private:
  std::shared_ptr<const re2::RE2> regex_;
  std::string replacement_;
};

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_MATCHER_H_
