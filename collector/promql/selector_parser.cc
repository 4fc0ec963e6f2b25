#include "collector/promql/selector_parser.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

constexpr double kMaxSeconds = 9e12;  // sums of such times and durations stay within int64 milliseconds

absl::StatusOr<Matcher::Op> ReadMatcherOp(TokenReader& tokens) {
  if (tokens.TakeSymbol("=")) return Matcher::Op::kEqual;
  if (tokens.TakeSymbol("!=")) return Matcher::Op::kNotEqual;
  if (tokens.TakeSymbol("=~")) return Matcher::Op::kRegex;
  if (tokens.TakeSymbol("!~")) return Matcher::Op::kNotRegex;
  return tokens.Unexpected("label matching", "expected one of =, !=, =~, !~");
}

absl::Status ReadMatcher(TokenReader& tokens, Matchers* matchers) {
  if (tokens.Peek().kind != TokenKind::kName) {
    return tokens.Unexpected("label matching", "expected identifier or \"}\"");
  }
  const std::string name = tokens.Take().text;
  FM_ASSIGN_OR_RETURN(const Matcher::Op op, ReadMatcherOp(tokens));
  if (tokens.Peek().kind != TokenKind::kString) {
    return tokens.Unexpected("label matching", "expected string");
  }
  const Token value = tokens.Take();
  absl::StatusOr<Matcher> matcher = Matcher::Create(op, name, value.text);
  if (!matcher.ok()) return tokens.Error(value.offset, Message(matcher.status()));
  matchers->push_back(*std::move(matcher));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> ReadDuration(TokenReader& tokens, std::string_view where) {
  if (tokens.Peek().kind != TokenKind::kDuration) return tokens.Unexpected(where, "expected duration");
  return tokens.Take().duration_ms;
}

absl::Status ReadOffset(TokenReader& tokens, TimeShift* shift) {
  if (shift->has_offset) return tokens.Error(tokens.offset(), "offset may not be set multiple times");
  const bool negative = tokens.TakeSymbol("-");
  FM_ASSIGN_OR_RETURN(const int64_t offset, ReadDuration(tokens, "offset"));
  shift->has_offset = true;
  shift->offset_ms = negative ? -offset : offset;
  return absl::OkStatus();
}

absl::Status ReadAt(TokenReader& tokens, TimeShift* shift) {
  if (shift->at != TimeShift::At::kNone) {
    return tokens.Error(tokens.offset(), "@ <timestamp> may not be set multiple times");
  }
  const bool start = tokens.Peek().IsName("start");
  if (start || tokens.Peek().IsName("end")) {
    tokens.Take();
    FM_RETURN_IF_ERROR(tokens.Expect("(", "@"));
    FM_RETURN_IF_ERROR(tokens.Expect(")", "@"));
    shift->at = start ? TimeShift::At::kStart : TimeShift::At::kEnd;
    return absl::OkStatus();
  }
  const bool negative = tokens.TakeSymbol("-");
  if (!negative) tokens.TakeSymbol("+");
  const Token& token = tokens.Peek();
  double seconds = token.number;
  const bool number = token.kind == TokenKind::kNumber ||
                      (token.kind == TokenKind::kName && ParseNumber(token.text, &seconds));
  if (!number) return tokens.Unexpected("@", "expected timestamp");
  if (!std::isfinite(seconds) || std::fabs(seconds) >= kMaxSeconds) {
    return tokens.Error(token.offset, "timestamp out of bounds for @ modifier");
  }
  tokens.Take();
  shift->at = TimeShift::At::kTime;
  shift->at_ms = static_cast<int64_t>(std::round((negative ? -seconds : seconds) * 1000));
  return absl::OkStatus();
}

absl::Status CheckMatchers(TokenReader& tokens, size_t offset, const Matchers& matchers) {
  const bool any =
      std::any_of(matchers.begin(), matchers.end(), [](const Matcher& m) { return !m.Matches(""); });
  if (any) return absl::OkStatus();
  return tokens.Error(offset, "vector selector must contain at least one non-empty matcher");
}

}  // namespace

absl::StatusOr<SelectorExpr> ReadSelector(TokenReader& tokens) {
  const size_t begin = tokens.offset();
  SelectorExpr selector;
  std::string name;
  if (tokens.Peek().kind == TokenKind::kName) name = tokens.Take().text;
  if (tokens.TakeSymbol("{")) {
    while (!tokens.TakeSymbol("}")) {
      FM_RETURN_IF_ERROR(ReadMatcher(tokens, &selector.matchers));
      if (tokens.TakeSymbol(",") || tokens.Peek().Is("}")) continue;
      return tokens.Unexpected("label matching", "expected \",\" or \"}\"");
    }
  }
  if (!name.empty()) {
    for (const Matcher& matcher : selector.matchers) {
      if (matcher.name() != kMetricName) continue;
      return tokens.Error(begin, absl::StrCat("metric name must not be set twice: \"", name, "\" or \"",
                                              matcher.value(), "\""));
    }
    FM_ASSIGN_OR_RETURN(Matcher matcher,
                        Matcher::Create(Matcher::Op::kEqual, std::string(kMetricName), name));
    selector.matchers.push_back(std::move(matcher));
  }
  FM_RETURN_IF_ERROR(CheckMatchers(tokens, begin, selector.matchers));
  return selector;
}

absl::StatusOr<bool> ReadShift(TokenReader& tokens, TimeShift* shift) {
  if (tokens.TakeName("offset")) {
    FM_RETURN_IF_ERROR(ReadOffset(tokens, shift));
    return true;
  }
  if (tokens.TakeSymbol("@")) {
    FM_RETURN_IF_ERROR(ReadAt(tokens, shift));
    return true;
  }
  return false;
}

absl::StatusOr<RangeClause> ReadRange(TokenReader& tokens) {
  RangeClause range;
  const size_t begin = tokens.offset();
  tokens.Take();
  FM_ASSIGN_OR_RETURN(range.range_ms, ReadDuration(tokens, "range"));
  if (range.range_ms == 0) return tokens.Error(begin, "duration must be greater than 0");
  if (tokens.TakeSymbol(":")) {
    range.subquery = true;
    if (!tokens.Peek().Is("]")) {
      FM_ASSIGN_OR_RETURN(range.step_ms, ReadDuration(tokens, "subquery selector"));
      if (range.step_ms == 0) return tokens.Error(begin, "duration must be greater than 0");
    }
  }
  FM_RETURN_IF_ERROR(tokens.Expect("]", "range"));
  return range;
}

absl::StatusOr<std::vector<std::string>> ReadLabelList(TokenReader& tokens) {
  FM_RETURN_IF_ERROR(tokens.Expect("(", "grouping opts"));
  std::vector<std::string> labels;
  while (!tokens.TakeSymbol(")")) {
    if (tokens.Peek().kind != TokenKind::kName || !IsLabelName(tokens.Peek().text)) {
      return tokens.Unexpected("grouping opts", "expected label");
    }
    labels.push_back(tokens.Take().text);
    if (!tokens.TakeSymbol(",") && !tokens.Peek().Is(")")) {
      return tokens.Unexpected("grouping opts", "expected \",\" or \")\"");
    }
  }
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

}  // namespace fleetmark::collector::promql
