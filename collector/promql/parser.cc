// A precedence climbing parser: one function for binary operators, one for what binds tighter.
#include "collector/promql/parser.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "collector/promql/functions.h"
#include "collector/promql/lexer.h"
#include "collector/promql/selector_parser.h"
#include "collector/promql/token_reader.h"
#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

using BinaryOp = BinaryExpr::Op;
using AggregateOp = AggregateExpr::Op;

struct BinaryOpInfo {
  std::string_view text;
  BinaryOp op;
  int precedence;
};
constexpr int kPowPrecedence = 6;
constexpr std::array<BinaryOpInfo, 16> kBinaryOps = {{{"or", BinaryOp::kOr, 1},
                                                      {"and", BinaryOp::kAnd, 2},
                                                      {"unless", BinaryOp::kUnless, 2},
                                                      {"==", BinaryOp::kEqual, 3},
                                                      {"!=", BinaryOp::kNotEqual, 3},
                                                      {"<", BinaryOp::kLess, 3},
                                                      {"<=", BinaryOp::kLessEqual, 3},
                                                      {">", BinaryOp::kGreater, 3},
                                                      {">=", BinaryOp::kGreaterEqual, 3},
                                                      {"+", BinaryOp::kAdd, 4},
                                                      {"-", BinaryOp::kSub, 4},
                                                      {"*", BinaryOp::kMul, 5},
                                                      {"/", BinaryOp::kDiv, 5},
                                                      {"%", BinaryOp::kMod, 5},
                                                      {"atan2", BinaryOp::kAtan2, 5},
                                                      {"^", BinaryOp::kPow, kPowPrecedence}}};

struct AggregateOpInfo {
  std::string_view name;
  AggregateOp op;
  bool has_param;
};
constexpr std::array<AggregateOpInfo, 12> kAggregateOps = {{{"sum", AggregateOp::kSum, false},
                                                            {"avg", AggregateOp::kAvg, false},
                                                            {"min", AggregateOp::kMin, false},
                                                            {"max", AggregateOp::kMax, false},
                                                            {"count", AggregateOp::kCount, false},
                                                            {"group", AggregateOp::kGroup, false},
                                                            {"stddev", AggregateOp::kStddev, false},
                                                            {"stdvar", AggregateOp::kStdvar, false},
                                                            {"count_values", AggregateOp::kCountValues, true},
                                                            {"topk", AggregateOp::kTopk, true},
                                                            {"bottomk", AggregateOp::kBottomk, true},
                                                            {"quantile", AggregateOp::kQuantile, true}}};

const BinaryOpInfo* FindBinaryOp(const Token& token) {
  for (const BinaryOpInfo& info : kBinaryOps) {
    if (token.Is(info.text) || token.IsName(info.text)) return &info;
  }
  return nullptr;
}

const AggregateOpInfo* FindAggregateOp(const Token& token) {
  for (const AggregateOpInfo& info : kAggregateOps) {
    if (token.IsName(info.name)) return &info;
  }
  return nullptr;
}

template <typename Node>
ExprPtr MakeExpr(Node node, size_t offset) {
  auto expr = std::make_unique<Expr>();
  expr->node = std::move(node);
  expr->offset = offset;
  return expr;
}

class Parser {
 public:
  explicit Parser(TokenReader tokens) : tokens_(std::move(tokens)) {}

  absl::StatusOr<ExprPtr> Run() {
    if (tokens_.Peek().kind == TokenKind::kEnd) {
      return absl::InvalidArgumentError("unknown position: parse error: no expression found in input");
    }
    FM_ASSIGN_OR_RETURN(ExprPtr expr, Binary(0));
    if (tokens_.Peek().kind != TokenKind::kEnd) return tokens_.Unexpected("expression");
    return expr;
  }

 private:
  // Counts how deep the recursion is while it lives.
  struct Level {
    explicit Level(int* d) : depth(d) { ++*depth; }
    ~Level() { --*depth; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    int* const depth;
  };

  absl::StatusOr<ExprPtr> Binary(int min_precedence) {
    const Level level(&depth_);
    if (depth_ > kMaxDepth) {
      return tokens_.Error(tokens_.offset(), absl::StrCat("nested deeper than ", kMaxDepth));
    }
    FM_ASSIGN_OR_RETURN(ExprPtr lhs, Unary());
    int operators = 0;
    while (true) {
      const BinaryOpInfo* info = FindBinaryOp(tokens_.Peek());
      if (info == nullptr || info->precedence < min_precedence) return lhs;
      // A long chain nests to the left.
      if (++operators > kMaxDepth) {
        return tokens_.Error(tokens_.offset(), absl::StrCat("more than ", kMaxDepth, " operators in a row"));
      }
      BinaryExpr node;
      node.op = info->op;
      const size_t offset = tokens_.Take().offset;
      FM_RETURN_IF_ERROR(Modifiers(&node));
      const int next = info->op == BinaryOp::kPow ? kPowPrecedence : info->precedence + 1;
      FM_ASSIGN_OR_RETURN(node.rhs, Binary(next));
      node.lhs = std::move(lhs);
      lhs = MakeExpr(std::move(node), offset);
    }
  }

  // bool, on(…), ignoring(…), group_left(…), group_right(…)
  absl::Status Modifiers(BinaryExpr* node) {
    Matching& matching = node->matching;
    if (IsSetOperator(node->op)) matching.card = Matching::Card::kManyToMany;
    node->return_bool = tokens_.TakeName("bool");
    if (node->return_bool && !IsComparison(node->op)) {
      return tokens_.Error(tokens_.offset(), "bool modifier can only be used on comparison operators");
    }
    matching.on = tokens_.TakeName("on");
    matching.given = matching.on || tokens_.TakeName("ignoring");
    if (!matching.given) return absl::OkStatus();
    FM_ASSIGN_OR_RETURN(matching.labels, ReadLabelList(tokens_));
    const bool left = tokens_.TakeName("group_left");
    if (!left && !tokens_.TakeName("group_right")) return absl::OkStatus();
    if (IsSetOperator(node->op)) {
      return tokens_.Error(tokens_.offset(), absl::StrCat("no grouping allowed for \"",
                                                          OpText(node->op).data(), "\" operation"));
    }
    matching.card = left ? Matching::Card::kManyToOne : Matching::Card::kOneToMany;
    if (tokens_.Peek().Is("(")) {
      FM_ASSIGN_OR_RETURN(matching.include, ReadLabelList(tokens_));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ExprPtr> Unary() {
    const size_t offset = tokens_.offset();
    const bool negative = tokens_.Peek().Is("-");
    if (!negative && !tokens_.Peek().Is("+")) return Postfix();
    tokens_.Take();
    UnaryExpr node;
    node.negative = negative;
    FM_ASSIGN_OR_RETURN(node.inner, Binary(kPowPrecedence));
    if (auto* number = std::get_if<NumberExpr>(&node.inner->node)) {
      if (negative) number->value = -number->value;
      return std::move(node.inner);
    }
    return MakeExpr(std::move(node), offset);
  }

  absl::StatusOr<ExprPtr> Postfix() {
    FM_ASSIGN_OR_RETURN(ExprPtr expr, Primary());
    for (int parts = 0; parts <= kMaxDepth; ++parts) {
      if (tokens_.Peek().Is("[")) {
        FM_ASSIGN_OR_RETURN(expr, WithRange(std::move(expr)));
        continue;
      }
      if (!tokens_.Peek().Is("@") && !tokens_.Peek().IsName("offset")) return expr;
      TimeShift* shift = nullptr;
      if (auto* selector = std::get_if<SelectorExpr>(&expr->node)) shift = &selector->shift;
      if (auto* subquery = std::get_if<SubqueryExpr>(&expr->node)) shift = &subquery->shift;
      if (shift == nullptr) {
        return tokens_.Error(expr->offset,
                             absl::StrCat(tokens_.Peek().Is("@") ? "@" : "offset",
                                          " modifier must be preceded by an instant vector selector or range "
                                          "vector selector or a subquery"));
      }
      FM_RETURN_IF_ERROR(ReadShift(tokens_, shift).status());
    }
    return tokens_.Error(tokens_.offset(), "too many ranges and modifiers in a row");
  }

  absl::StatusOr<ExprPtr> WithRange(ExprPtr expr) {
    const size_t offset = tokens_.offset();
    FM_ASSIGN_OR_RETURN(const RangeClause range, ReadRange(tokens_));
    if (range.subquery) {
      SubqueryExpr node;
      node.range_ms = range.range_ms;
      node.step_ms = range.step_ms;
      const size_t begin = expr->offset;
      node.inner = std::move(expr);
      return MakeExpr(std::move(node), begin);
    }
    auto* selector = std::get_if<SelectorExpr>(&expr->node);
    if (selector == nullptr || selector->range_ms != 0) {
      return tokens_.Error(offset, "ranges only allowed for vector selectors");
    }
    if (selector->shift.has_offset) return tokens_.Error(offset, "no offset modifiers allowed before range");
    if (selector->shift.at != TimeShift::At::kNone) {
      return tokens_.Error(offset, "no @ modifiers allowed before range");
    }
    selector->range_ms = range.range_ms;
    return expr;
  }

  absl::StatusOr<ExprPtr> Primary() {
    const Token& token = tokens_.Peek();
    const size_t offset = token.offset;
    double number = token.number;
    if (token.kind == TokenKind::kNumber ||
        (token.kind == TokenKind::kName && ParseNumber(token.text, &number))) {
      tokens_.Take();
      return MakeExpr(NumberExpr{number}, offset);
    }
    if (token.kind == TokenKind::kString) return MakeExpr(StringExpr{tokens_.Take().text}, offset);
    if (token.Is("(")) return Paren();
    const bool call = tokens_.Peek(1).Is("(");
    if (const AggregateOpInfo* info = FindAggregateOp(token);
        info != nullptr && (call || tokens_.Peek(1).IsName("by") || tokens_.Peek(1).IsName("without"))) {
      return Aggregate(*info);
    }
    if (token.kind == TokenKind::kName && call) return Call();
    if (token.kind == TokenKind::kName || token.Is("{")) {
      FM_ASSIGN_OR_RETURN(SelectorExpr selector, ReadSelector(tokens_));
      return MakeExpr(std::move(selector), offset);
    }
    return tokens_.Unexpected("expression");
  }

  absl::StatusOr<ExprPtr> Paren() {
    const size_t offset = tokens_.Take().offset;
    ParenExpr node;
    FM_ASSIGN_OR_RETURN(node.inner, Binary(0));
    FM_RETURN_IF_ERROR(tokens_.Expect(")", "paren expression"));
    return MakeExpr(std::move(node), offset);
  }

  absl::StatusOr<std::vector<ExprPtr>> Arguments(std::string_view where) {
    FM_RETURN_IF_ERROR(tokens_.Expect("(", where));
    std::vector<ExprPtr> args;
    if (tokens_.TakeSymbol(")")) return args;
    while (true) {
      FM_ASSIGN_OR_RETURN(ExprPtr arg, Binary(0));
      args.push_back(std::move(arg));
      if (tokens_.TakeSymbol(")")) return args;
      FM_RETURN_IF_ERROR(tokens_.Expect(",", where));
      if (tokens_.Peek().Is(")")) {
        return tokens_.Error(tokens_.offset(), "trailing commas not allowed in function call args");
      }
    }
  }

  absl::StatusOr<ExprPtr> Call() {
    const Token name = tokens_.Take();
    CallExpr node;
    node.function = FindFunction(name.text);
    if (node.function == nullptr) {
      return tokens_.Error(name.offset, absl::StrCat("unknown function with name \"", name.text, "\""));
    }
    FM_ASSIGN_OR_RETURN(node.args, Arguments("function call"));
    return MakeExpr(std::move(node), name.offset);
  }

  absl::StatusOr<bool> Grouping(AggregateExpr* node) {
    node->without = tokens_.TakeName("without");
    if (!node->without && !tokens_.TakeName("by")) return false;
    FM_ASSIGN_OR_RETURN(node->grouping, ReadLabelList(tokens_));
    return true;
  }

  absl::StatusOr<ExprPtr> Aggregate(const AggregateOpInfo& info) {
    const size_t offset = tokens_.Take().offset;
    AggregateExpr node;
    node.op = info.op;
    node.name = info.name;
    FM_ASSIGN_OR_RETURN(const bool grouped, Grouping(&node));
    FM_ASSIGN_OR_RETURN(std::vector<ExprPtr> args, Arguments("aggregation"));
    if (!grouped) FM_RETURN_IF_ERROR(Grouping(&node).status());
    const size_t wanted = info.has_param ? 2 : 1;
    if (args.size() != wanted) {
      if (args.empty()) return tokens_.Error(offset, "no arguments for aggregate expression provided");
      return tokens_.Error(
          offset, absl::StrCat("wrong number of arguments for aggregate expression provided, expected ",
                               wanted, ", got ", args.size()));
    }
    node.inner = std::move(args.back());
    if (info.has_param) node.param = std::move(args.front());
    return MakeExpr(std::move(node), offset);
  }

  TokenReader tokens_;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<ExprPtr> ParseQuery(std::string_view query) {
  if (query.size() > kMaxQueryBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the query is longer than ", kMaxQueryBytes, " bytes"));
  }
  FM_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(query));
  FM_ASSIGN_OR_RETURN(ExprPtr expr, Parser(TokenReader(query, std::move(tokens))).Run());
  FM_RETURN_IF_ERROR(CheckTypes(query, *expr));
  return expr;
}

absl::StatusOr<Matchers> ParseSelector(std::string_view text) {
  FM_ASSIGN_OR_RETURN(const ExprPtr expr, ParseQuery(text));
  const auto* selector = std::get_if<SelectorExpr>(&expr->node);
  if (selector == nullptr || selector->range_ms != 0 || selector->shift.has_offset ||
      selector->shift.at != TimeShift::At::kNone) {
    return ParseError(text, 0, "expected a series selector");
  }
  return selector->matchers;
}

}  // namespace fleetmark::collector::promql
