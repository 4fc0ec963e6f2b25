#include "collector/promql/ast.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "collector/promql/functions.h"
#include "collector/promql/number_text.h"

namespace fleetmark::collector::promql {
namespace {

std::string ShiftText(const TimeShift& shift) {
  std::string out;
  if (shift.at == TimeShift::At::kStart) out = " @ start()";
  if (shift.at == TimeShift::At::kEnd) out = " @ end()";
  if (shift.at == TimeShift::At::kTime) out = absl::StrCat(" @ ", SecondsText(shift.at_ms));
  if (shift.has_offset) absl::StrAppend(&out, " offset ", DurationText(shift.offset_ms));
  return out;
}

// Whether a metric's name can stand alone and mean just that.
bool IsPlainName(const std::string& name) {
  constexpr std::array<std::string_view, 16> kKeywords = {
      "inf",         "nan",    "bool", "on", "ignoring", "group_left", "by",    "without",
      "group_right", "offset", "and",  "or", "unless",   "atan2",      "start", "end"};
  const std::string lower = absl::AsciiStrToLower(name);
  std::string without_colons = name;
  std::replace(without_colons.begin(), without_colons.end(), ':', '_');
  return IsLabelName(without_colons) &&
         std::find(kKeywords.begin(), kKeywords.end(), lower) == kKeywords.end();
}

struct Printer {
  std::string operator()(const NumberExpr& number) const {
    // With a sign it would be an operator before what binds tighter.
    return number.value == std::numeric_limits<double>::infinity() ? "Inf" : PlainNumber(number.value);
  }
  std::string operator()(const StringExpr& text) const { return Quoted(text.value); }
  std::string operator()(const ParenExpr& paren) const {
    return absl::StrCat("(", ToString(*paren.inner), ")");
  }
  std::string operator()(const UnaryExpr& unary) const {
    return absl::StrCat(unary.negative ? "-" : "+", ToString(*unary.inner));
  }

  std::string operator()(const SelectorExpr& selector) const {
    std::string name;
    std::vector<std::string> rest;
    for (const Matcher& matcher : selector.matchers) {
      const bool plain = matcher.name() == kMetricName && matcher.op() == Matcher::Op::kEqual &&
                         name.empty() && IsPlainName(matcher.value());
      plain ? name = matcher.value() : (rest.push_back(matcher.ToString()), name);
    }
    if (!rest.empty()) absl::StrAppend(&name, "{", absl::StrJoin(rest, ","), "}");
    if (selector.range_ms != 0) absl::StrAppend(&name, "[", DurationText(selector.range_ms), "]");
    return absl::StrCat(name, ShiftText(selector.shift));
  }

  std::string operator()(const SubqueryExpr& subquery) const {
    return absl::StrCat(ToString(*subquery.inner), "[", DurationText(subquery.range_ms), ":",
                        subquery.step_ms == 0 ? "" : DurationText(subquery.step_ms), "]",
                        ShiftText(subquery.shift));
  }

  std::string operator()(const CallExpr& call) const {
    std::vector<std::string> args;
    for (const ExprPtr& arg : call.args) args.push_back(ToString(*arg));
    return absl::StrCat(call.function->name.data(), "(", absl::StrJoin(args, ", "), ")");
  }

  std::string operator()(const AggregateExpr& aggregate) const {
    std::string out(aggregate.name);
    if (aggregate.without || !aggregate.grouping.empty()) {
      absl::StrAppend(&out, aggregate.without ? " without (" : " by (",
                      absl::StrJoin(aggregate.grouping, ", "), ") ");
    }
    absl::StrAppend(&out, "(");
    if (aggregate.param != nullptr) absl::StrAppend(&out, ToString(*aggregate.param), ", ");
    return absl::StrCat(out, ToString(*aggregate.inner), ")");
  }

  std::string operator()(const BinaryExpr& binary) const {
    const Matching& matching = binary.matching;
    std::string out = absl::StrCat(ToString(*binary.lhs), " ", OpText(binary.op).data());
    if (binary.return_bool) absl::StrAppend(&out, " bool");
    if (matching.given) {
      absl::StrAppend(&out, matching.on ? " on (" : " ignoring (", absl::StrJoin(matching.labels, ", "), ")");
    }
    if (matching.card == Matching::Card::kManyToOne) absl::StrAppend(&out, " group_left ");
    if (matching.card == Matching::Card::kOneToMany) absl::StrAppend(&out, " group_right ");
    if (matching.card == Matching::Card::kManyToOne || matching.card == Matching::Card::kOneToMany) {
      absl::StrAppend(&out, "(", absl::StrJoin(matching.include, ", "), ")");
    }
    return absl::StrCat(out, " ", ToString(*binary.rhs));
  }
};

struct Typer {
  ValueType operator()(const NumberExpr&) const { return ValueType::kScalar; }
  ValueType operator()(const StringExpr&) const { return ValueType::kString; }
  ValueType operator()(const SelectorExpr& s) const {
    return s.range_ms == 0 ? ValueType::kVector : ValueType::kMatrix;
  }
  ValueType operator()(const SubqueryExpr&) const { return ValueType::kMatrix; }
  ValueType operator()(const CallExpr& call) const { return call.function->result; }
  ValueType operator()(const AggregateExpr&) const { return ValueType::kVector; }
  ValueType operator()(const BinaryExpr& binary) const {
    const bool scalars = binary.lhs->type() == ValueType::kScalar && binary.rhs->type() == ValueType::kScalar;
    return scalars ? ValueType::kScalar : ValueType::kVector;
  }
  ValueType operator()(const UnaryExpr& unary) const { return unary.inner->type(); }
  ValueType operator()(const ParenExpr& paren) const { return paren.inner->type(); }
};

}  // namespace

std::string_view TypeName(ValueType type) {
  switch (type) {
    case ValueType::kScalar:
      return "scalar";
    case ValueType::kString:
      return "string";
    case ValueType::kVector:
      return "instant vector";
    case ValueType::kMatrix:
      return "range vector";
  }
  return "";
}

bool IsComparison(BinaryExpr::Op op) {
  return op >= BinaryExpr::Op::kEqual && op <= BinaryExpr::Op::kGreaterEqual;
}
bool IsSetOperator(BinaryExpr::Op op) { return op >= BinaryExpr::Op::kAnd; }

std::string_view OpText(BinaryExpr::Op op) {
  constexpr std::string_view kTexts[] = {
      "+", "-", "*", "/", "%", "^", "atan2", "==", "!=", "<", "<=", ">", ">=", "and", "or", "unless"};
  return kTexts[static_cast<size_t>(op)];
}

ValueType Expr::type() const { return std::visit(Typer(), node); }

const Expr& Unwrapped(const Expr& expr) {
  const auto* paren = std::get_if<ParenExpr>(&expr.node);
  return paren == nullptr ? expr : Unwrapped(*paren->inner);
}

std::string ToString(const Expr& expr) { return std::visit(Printer(), expr.node); }

}  // namespace fleetmark::collector::promql
