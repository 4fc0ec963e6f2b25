#include "collector/detect/reference_rules.h"

#include "absl/strings/str_cat.h"

#include "collector/detect/reference.h"
#include "common/base/status.h"
#include "common/model/labels.h"
#include "common/model/units.h"

namespace fleetmark::collector {
namespace {

bool MatchesText(const std::string& wanted, const std::string& text) {
  return wanted.empty() || wanted == text;
}

bool Matches(const ReferenceRule& rule, const v1::SeriesKey& series, const Labels& node_labels) {
  return (rule.node.empty() || MatchesGlob(rule.node, series.node())) &&
         MatchesText(rule.benchmark, series.benchmark()) && MatchesText(rule.metric, series.metric()) &&
         HasLabels(series.labels(), rule.labels) && HasLabels(node_labels, rule.node_labels);
}

// Relative tolerances hold in any unit; those of a reference of 0 are values themselves.
absl::StatusOr<v1::Reference> InUnit(v1::Reference reference, const std::string& unit) {
  if (reference.unit().empty()) reference.set_unit(unit);
  if (reference.unit() == unit) return reference;
  const std::string from = reference.unit();
  const bool absolute = reference.value() == 0;
  FM_ASSIGN_OR_RETURN(const double value, ConvertUnit(reference.value(), from, unit));
  if (absolute && reference.has_lower()) {
    FM_ASSIGN_OR_RETURN(const double lower, ConvertUnit(reference.lower(), from, unit));
    reference.set_lower(lower);
  }
  if (absolute && reference.has_upper()) {
    FM_ASSIGN_OR_RETURN(const double upper, ConvertUnit(reference.upper(), from, unit));
    reference.set_upper(upper);
  }
  reference.set_value(value);
  reference.set_unit(unit);
  return reference;
}

}  // namespace

absl::StatusOr<ReferenceRules> ReferenceRules::Create(std::vector<ReferenceRule> rules) {
  ReferenceRules out;
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::string where = absl::StrCat("references[", i, "]");
    FM_RETURN_IF_ERROR(Annotate(BoundsOf(rules[i].reference).status(), where));
    if (!rules[i].reference.unit().empty()) {
      FM_RETURN_IF_ERROR(Annotate(CheckUnit(rules[i].reference.unit()), where));
    }
    if (!rules[i].node_labels.empty()) out.uses_node_labels_ = true;
  }
  out.rules_ = std::move(rules);
  return out;
}

std::optional<ReferenceRules::Match> ReferenceRules::Find(const v1::SeriesKey& series,
                                                          const Labels& node_labels) const {
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (!Matches(rules_[i], series, node_labels)) continue;
    Match match;
    match.rule = i;
    absl::StatusOr<v1::Reference> reference = InUnit(rules_[i].reference, series.unit());
    if (reference.ok()) {
      match.reference = *std::move(reference);
    } else {
      match.problem = absl::StrCat("references[", i, "]: ", reference.status().message());
    }
    return match;
  }
  return std::nullopt;
}

}  // namespace fleetmark::collector
