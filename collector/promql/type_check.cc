#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

#include "collector/promql/functions.h"
#include "collector/promql/lexer.h"
#include "collector/promql/parser.h"
#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

class TypeChecker {
 public:
  explicit TypeChecker(std::string_view query) : query_(query) {}

  absl::Status Check(const Expr& expr) const {
    return std::visit([&](const auto& node) { return CheckNode(expr, node); }, expr.node);
  }

 private:
  absl::Status Error(const Expr& expr, std::string_view what) const {
    return ParseError(query_, expr.offset, what);
  }

  absl::Status Expect(const Expr& expr, ValueType wanted, const std::string& where) const {
    FM_RETURN_IF_ERROR(Check(expr));
    if (expr.type() == wanted) return absl::OkStatus();
    return Error(expr, absl::StrCat("expected type ", TypeName(wanted).data(), " in ", where, ", got ",
                                    TypeName(expr.type()).data()));
  }

  absl::Status CheckNode(const Expr&, const NumberExpr&) const { return absl::OkStatus(); }
  absl::Status CheckNode(const Expr&, const StringExpr&) const { return absl::OkStatus(); }
  absl::Status CheckNode(const Expr&, const SelectorExpr&) const { return absl::OkStatus(); }
  absl::Status CheckNode(const Expr&, const ParenExpr& paren) const { return Check(*paren.inner); }

  absl::Status CheckNode(const Expr& expr, const SubqueryExpr& subquery) const {
    FM_RETURN_IF_ERROR(Check(*subquery.inner));
    if (subquery.inner->type() == ValueType::kVector) return absl::OkStatus();
    return Error(expr, absl::StrCat("subquery is only allowed on instant vector, got ",
                                    TypeName(subquery.inner->type()).data(), " instead"));
  }

  absl::Status CheckNode(const Expr& expr, const UnaryExpr& unary) const {
    FM_RETURN_IF_ERROR(Check(*unary.inner));
    const ValueType type = unary.inner->type();
    if (type == ValueType::kScalar || type == ValueType::kVector) return absl::OkStatus();
    return Error(expr, absl::StrCat("unary expression only allowed on expressions of type scalar or instant "
                                    "vector, got \"",
                                    TypeName(type).data(), "\""));
  }

  absl::Status CheckNode(const Expr& expr, const CallExpr& call) const {
    const FunctionInfo& function = *call.function;
    const size_t wanted = function.args.size();
    const bool repeats = function.optional_args < 0;
    const size_t least = wanted - static_cast<size_t>(repeats ? 1 : function.optional_args);
    const size_t given = call.args.size();
    if (given < least || (!repeats && given > wanted)) {
      const char* bound = least == wanted && !repeats ? "" : (given < least ? "at least " : "at most ");
      return Error(expr, absl::StrCat("expected ", bound, given < least ? least : wanted,
                                      " argument(s) in call to \"", function.name.data(), "\", got ", given));
    }
    for (size_t i = 0; i < given; ++i) {
      FM_RETURN_IF_ERROR(Expect(*call.args[i], function.args[std::min(i, wanted - 1)],
                                absl::StrCat("call to function \"", function.name.data(), "\"")));
    }
    return absl::OkStatus();
  }

  absl::Status CheckNode(const Expr&, const AggregateExpr& aggregate) const {
    FM_RETURN_IF_ERROR(Expect(*aggregate.inner, ValueType::kVector, "aggregation expression"));
    if (aggregate.param == nullptr) return absl::OkStatus();
    const bool text = aggregate.op == AggregateExpr::Op::kCountValues;
    return Expect(*aggregate.param, text ? ValueType::kString : ValueType::kScalar, "aggregation parameter");
  }

  absl::Status CheckNode(const Expr& expr, const BinaryExpr& binary) const {
    FM_RETURN_IF_ERROR(Check(*binary.lhs));
    FM_RETURN_IF_ERROR(Check(*binary.rhs));
    for (const Expr* side : {binary.lhs.get(), binary.rhs.get()}) {
      if (side->type() != ValueType::kScalar && side->type() != ValueType::kVector) {
        return Error(*side, "binary expression must contain only scalar and instant vector types");
      }
    }
    const int vectors =
        (binary.lhs->type() == ValueType::kVector) + (binary.rhs->type() == ValueType::kVector);
    if (vectors == 0 && IsComparison(binary.op) && !binary.return_bool) {
      return Error(expr, "comparisons between scalars must use BOOL modifier");
    }
    if (vectors < 2 && IsSetOperator(binary.op)) {
      return Error(expr, absl::StrCat("set operator \"", OpText(binary.op).data(),
                                      "\" not allowed in binary scalar expression"));
    }
    const Matching& matching = binary.matching;
    if (vectors < 2 && !matching.labels.empty()) {
      return Error(expr, "vector matching only allowed between instant vectors");
    }
    for (const std::string& label : matching.include) {
      if (matching.on && std::binary_search(matching.labels.begin(), matching.labels.end(), label)) {
        return Error(expr,
                     absl::StrCat("label \"", label, "\" must not occur in ON and GROUP clause at once"));
      }
    }
    return absl::OkStatus();
  }

  const std::string_view query_;
};

}  // namespace

absl::Status CheckTypes(std::string_view query, const Expr& expr) { return TypeChecker(query).Check(expr); }

}  // namespace fleetmark::collector::promql
