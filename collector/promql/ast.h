// What the parser makes of a PromQL text.
//
// Thread-safety: plain data. Ownership: an expression owns those inside it.
#ifndef FLEETMARK_COLLECTOR_PROMQL_AST_H_
#define FLEETMARK_COLLECTOR_PROMQL_AST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "collector/promql/matcher.h"

namespace fleetmark::collector::promql {

struct FunctionInfo;
struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

enum class ValueType { kScalar, kString, kVector, kMatrix };
// As Prometheus' messages call them: "scalar", "string", "instant vector", "range vector".
std::string_view TypeName(ValueType type);

// What `offset` and `@` say of a selector or subquery.
struct TimeShift {
  enum class At { kNone, kTime, kStart, kEnd };
  int64_t offset_ms = 0;
  bool has_offset = false;
  At at = At::kNone;
  int64_t at_ms = 0;
};

struct NumberExpr {
  double value = 0;
};

struct StringExpr {
  std::string value;
};

struct SelectorExpr {
  Matchers matchers;
  int64_t range_ms = 0;  // 0: an instant vector
  TimeShift shift;
};

struct SubqueryExpr {
  ExprPtr inner;
  int64_t range_ms = 0;
  int64_t step_ms = 0;  // 0: the default
  TimeShift shift;
};

struct CallExpr {
  const FunctionInfo* function = nullptr;
  std::vector<ExprPtr> args;
};

struct AggregateExpr {
  enum class Op {
    kSum,
    kAvg,
    kMin,
    kMax,
    kCount,
    kGroup,
    kStddev,
    kStdvar,
    kCountValues,
    kTopk,
    kBottomk,
    kQuantile
  };
  Op op = Op::kSum;
  std::string_view name;
  ExprPtr inner;
  ExprPtr param;  // null where the operator has none
  bool without = false;
  std::vector<std::string> grouping;  // sorted
};

struct Matching {
  enum class Card { kOneToOne, kManyToOne, kOneToMany, kManyToMany };
  Card card = Card::kOneToOne;
  bool on = false;
  bool given = false;                // on or ignoring was written
  std::vector<std::string> labels;   // sorted
  std::vector<std::string> include;  // of group_left and group_right
};

struct BinaryExpr {
  enum class Op {
    kAdd,
    kSub,
    kMul,
    kDiv,
    kMod,
    kPow,
    kAtan2,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kAnd,
    kOr,
    kUnless
  };
  Op op = Op::kAdd;
  ExprPtr lhs;
  ExprPtr rhs;
  bool return_bool = false;
  Matching matching;
};
bool IsComparison(BinaryExpr::Op op);
bool IsSetOperator(BinaryExpr::Op op);
std::string_view OpText(BinaryExpr::Op op);

struct UnaryExpr {
  bool negative = false;
  ExprPtr inner;
};

struct ParenExpr {
  ExprPtr inner;
};

struct Expr {
  std::variant<NumberExpr, StringExpr, SelectorExpr, SubqueryExpr, CallExpr, AggregateExpr, BinaryExpr,
               UnaryExpr, ParenExpr>
      node;
  size_t offset = 0;  // where it begins in the query

  ValueType type() const;
};

// `expr` without the parentheses around it.
const Expr& Unwrapped(const Expr& expr);

// The expression in Prometheus' own form, on one line.
std::string ToString(const Expr& expr);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_AST_H_
