// Vector matching: which series of the two sides of an operator belong together.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "collector/promql/binary.h"
#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

using Card = Matching::Card;

constexpr std::string_view kManyToOne =
    "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)";
constexpr std::string_view kNotUnique =
    "multiple matches for labels: grouping labels must ensure unique matches";

class Join {
 public:
  Join(const BinaryExpr& expr, const Columns& lhs, const Columns& rhs, const Grid& grid)
      : expr_(expr),
        swapped_(expr.matching.card == Card::kOneToMany),
        many_(swapped_ ? rhs : lhs),
        one_(swapped_ ? lhs : rhs),
        grid_(grid) {}

  absl::StatusOr<Columns> Run() {
    FM_RETURN_IF_ERROR(IndexOneSide());
    for (const Column& column : many_) {
      const auto it = groups_.find(MatchLabels(expr_.matching, *column.metric));
      if (it != groups_.end()) FM_RETURN_IF_ERROR(JoinColumn(column, it->second));
    }
    DropEmpty(&results_);
    FM_RETURN_IF_ERROR(MergeSameLabels(&results_));
    return std::move(results_);
  }

 private:
  // The columns of the one side with the same labels, of which at most one has a sample at any step.
  struct Group {
    std::vector<const Column*> columns;
    std::vector<char> matched;                        // one-to-one: the steps that have a result
    absl::flat_hash_map<LabelSet, size_t> by_metric;  // many-to-one: the results of this group
  };

  absl::Status IndexOneSide() {
    bool shared = false;
    for (const Column& column : one_) {
      Group& group = groups_[MatchLabels(expr_.matching, *column.metric)];
      group.columns.push_back(&column);
      shared |= group.columns.size() > 1;
    }
    if (!shared) return absl::OkStatus();
    // Only where the other side has any sample does it matter.
    std::vector<char> relevant(grid_.count);
    for (const Column& column : many_) {
      for (size_t i = 0; i < grid_.count; ++i) relevant[i] |= !IsAbsent(column.values[i]);
    }
    for (const auto& [labels, group] : groups_) FM_RETURN_IF_ERROR(CheckUnique(labels, group, relevant));
    return absl::OkStatus();
  }

  absl::Status CheckUnique(const LabelSet& labels, const Group& group,
                           const std::vector<char>& relevant) const {
    for (size_t i = 0; i < grid_.count && group.columns.size() > 1; ++i) {
      const Column* first = nullptr;
      for (const Column* column : group.columns) {
        if (relevant[i] == 0 || IsAbsent(column->values[i])) continue;
        if (first == nullptr) {
          first = column;
          continue;
        }
        return ExecutionError(
            absl::StrCat("found duplicate series for the match group ", labels.ToString(), " on the ",
                         swapped_ ? "left" : "right", " hand-side of the operation: [",
                         column->metric->ToString(), ", ", first->metric->ToString(),
                         "];many-to-many matching not allowed: matching labels must be unique on one side"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status JoinColumn(const Column& many, Group& group) {
    for (const Column* one : group.columns) {
      Column out{nullptr, std::vector<double>(grid_.count, kAbsent)};
      bool any = false;
      for (size_t i = 0; i < grid_.count; ++i) {
        if (IsAbsent(many.values[i]) || IsAbsent(one->values[i])) continue;
        const double left = swapped_ ? one->values[i] : many.values[i];
        const double right = swapped_ ? many.values[i] : one->values[i];
        bool keep = true;
        const double value = ApplyOperator(expr_.op, left, right, &keep);
        if (!expr_.return_bool && !keep) continue;
        out.values[i] = expr_.return_bool ? (keep ? 1 : 0) : value;
        any = true;
      }
      if (!any) continue;
      out.metric = std::make_shared<const LabelSet>(ResultLabels(*many.metric, *one->metric));
      FM_RETURN_IF_ERROR(Add(std::move(out), group));
    }
    return absl::OkStatus();
  }

  absl::Status Add(Column column, Group& group) {
    if (expr_.matching.card == Card::kOneToOne) {
      group.matched.resize(grid_.count);
      for (size_t i = 0; i < grid_.count; ++i) {
        if (IsAbsent(column.values[i])) continue;
        if (std::exchange(group.matched[i], 1) != 0) return ExecutionError(kManyToOne);
      }
      results_.push_back(std::move(column));
      return absl::OkStatus();
    }
    const auto [it, is_new] = group.by_metric.try_emplace(*column.metric, results_.size());
    if (!is_new) return CombineDisjoint(column, kNotUnique, &results_[it->second]);
    results_.push_back(std::move(column));
    return absl::OkStatus();
  }

  LabelSet ResultLabels(const LabelSet& many, const LabelSet& one) const {
    const Matching& matching = expr_.matching;
    LabelSet out = DropsName(expr_) ? many.WithoutName() : many;
    if (matching.card == Card::kOneToOne) {
      out = matching.on ? out.Keeping(matching.labels) : out.Dropping(matching.labels);
    }
    for (const std::string& name : matching.include) out.Set(name, one.Get(name));
    return out;
  }

  const BinaryExpr& expr_;
  const bool swapped_;
  const Columns& many_;
  const Columns& one_;
  const Grid& grid_;
  absl::flat_hash_map<LabelSet, Group> groups_;
  Columns results_;
};

}  // namespace

absl::StatusOr<Columns> JoinVectors(const BinaryExpr& expr, const Columns& lhs, const Columns& rhs,
                                    const Grid& grid) {
  return Join(expr, lhs, rhs, grid).Run();
}

}  // namespace fleetmark::collector::promql
