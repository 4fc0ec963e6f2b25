#include "collector/promql/lexer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "collector/promql/string_literal.h"
#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

constexpr size_t kMaxTokens = 100'000;
constexpr std::array<std::string_view, 6> kLongSymbols = {"==", "!=", "=~", "!~", "<=", ">="};
constexpr std::string_view kShortSymbols = "+-*/%^()[]{},=<>@:";

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsNameStart(char c) { return c == '_' || absl::ascii_isalpha(static_cast<unsigned char>(c)); }
bool IsNameByte(char c) { return IsNameStart(c) || IsDigit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view query) : query_(query) {}

  absl::StatusOr<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    while (true) {
      SkipBlanks();
      if (tokens.size() >= kMaxTokens) return Error("more than 100000 words");
      Token token;
      token.offset = pos_;
      if (pos_ < query_.size()) FM_RETURN_IF_ERROR(Next(&token));
      const bool last = token.kind == TokenKind::kEnd;
      tokens.push_back(std::move(token));
      if (last) return tokens;
    }
  }

 private:
  void SkipBlanks() {
    while (pos_ < query_.size()) {
      if (query_[pos_] == '#') {
        pos_ = std::min(query_.find('\n', pos_), query_.size());
      } else if (absl::ascii_isspace(static_cast<unsigned char>(query_[pos_]))) {
        ++pos_;
      } else {
        return;
      }
    }
  }

  absl::Status Next(Token* token) {
    const char c = query_[pos_];
    const char after = pos_ + 1 < query_.size() ? query_[pos_ + 1] : '\0';
    if (IsDigit(c) || (c == '.' && IsDigit(after))) return NumberOrDuration(token);
    if (c == '"' || c == '\'' || c == '`') return String(token);
    // In brackets a colon parts a range from its step; elsewhere it belongs to names.
    if (IsNameStart(c) || (c == ':' && brackets_ == 0 && braces_ == 0)) return Name(token);
    return Symbol(token);
  }

  absl::Status Name(Token* token) {
    const size_t begin = pos_;
    const bool colons = brackets_ == 0 && braces_ == 0;
    while (pos_ < query_.size() && (IsNameByte(query_[pos_]) || (colons && query_[pos_] == ':'))) ++pos_;
    token->kind = TokenKind::kName;
    token->text = std::string(query_.substr(begin, pos_ - begin));
    return absl::OkStatus();
  }

  absl::Status NumberOrDuration(Token* token) {
    const size_t begin = pos_;
    bool hex = false;
    while (pos_ < query_.size() && (IsNameByte(query_[pos_]) || query_[pos_] == '.')) {
      const char c = query_[pos_++];
      if ((c == 'x' || c == 'X') && pos_ - begin == 2) hex = true;
      const bool exponent = !hex && (c == 'e' || c == 'E');
      if (exponent && pos_ < query_.size() && (query_[pos_] == '+' || query_[pos_] == '-')) ++pos_;
    }
    token->text = std::string(query_.substr(begin, pos_ - begin));
    token->kind = TokenKind::kNumber;
    if (ParseNumber(token->text, &token->number)) return absl::OkStatus();
    const absl::StatusOr<int64_t> duration = ParseDurationMs(token->text);
    pos_ = begin;
    if (!duration.ok()) return Error(absl::StrCat("bad number or duration syntax: ", Quoted(token->text)));
    pos_ += token->text.size();
    token->kind = TokenKind::kDuration;
    token->duration_ms = *duration;
    return absl::OkStatus();
  }

  absl::Status String(Token* token) {
    size_t end = pos_ + 1;
    while (end < query_.size() && query_[end] != query_[pos_]) {
      if (query_[end] == '\\' && query_[pos_] != '`') ++end;
      if (end < query_.size() && query_[end] == '\n' && query_[pos_] != '`') break;
      ++end;
    }
    if (end >= query_.size() || query_[end] != query_[pos_]) return Error("unterminated quoted string");
    token->kind = TokenKind::kString;
    const absl::StatusOr<std::string> value = UnquoteLiteral(query_.substr(pos_, end + 1 - pos_));
    if (!value.ok()) return Error(Message(value.status()));
    token->text = *value;
    pos_ = end + 1;
    return absl::OkStatus();
  }

  absl::Status Symbol(Token* token) {
    token->kind = TokenKind::kSymbol;
    const std::string_view rest = query_.substr(pos_);
    for (const std::string_view symbol : kLongSymbols) {
      if (rest.starts_with(symbol)) token->text = std::string(symbol);
    }
    if (token->text.empty()) {
      if (kShortSymbols.find(rest[0]) == std::string_view::npos) {
        return Error(absl::StrCat("unexpected character: ", Quoted(rest.substr(0, 1))));
      }
      token->text = std::string(rest.substr(0, 1));
    }
    if (token->text == "[") ++brackets_;
    if (token->text == "]" && brackets_ > 0) --brackets_;
    if (token->text == "{") ++braces_;
    if (token->text == "}" && braces_ > 0) --braces_;
    pos_ += token->text.size();
    return absl::OkStatus();
  }

  absl::Status Error(std::string_view what) const { return ParseError(query_, pos_, what); }

  static std::string Quoted(std::string_view text) {
    return absl::StrCat("\"", absl::string_view(text.data(), text.size()), "\"");
  }

  const std::string_view query_;
  size_t pos_ = 0;
  int brackets_ = 0;
  int braces_ = 0;
};

struct DurationUnit {
  std::string_view name;
  int64_t ms;
};
// In the order in which a duration may give them.
constexpr std::array<DurationUnit, 7> kUnits = {{{"y", 365LL * 86'400'000},
                                                 {"w", 7LL * 86'400'000},
                                                 {"d", 86'400'000},
                                                 {"h", 3'600'000},
                                                 {"m", 60'000},
                                                 {"s", 1000},
                                                 {"ms", 1}}};
constexpr int64_t kMaxDurationMs = std::numeric_limits<int64_t>::max() / 1'000'000;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

bool Token::IsName(std::string_view keyword) const {
  return kind == TokenKind::kName && absl::EqualsIgnoreCase(text, View(keyword));
}

absl::StatusOr<std::vector<Token>> Tokenize(std::string_view query) { return Lexer(query).Run(); }

absl::Status ParseError(std::string_view query, size_t offset, std::string_view what) {
  const std::string_view before = query.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? offset + 1 : offset - newline;
  return absl::InvalidArgumentError(absl::StrCat(line, ":", column, ": parse error: ", View(what)));
}

absl::StatusOr<int64_t> ParseDurationMs(std::string_view text) {
  const auto bad = [text] {
    return absl::InvalidArgumentError(absl::StrCat("not a valid duration string: \"", View(text), "\""));
  };
  int64_t total = 0;
  size_t next_unit = 0;
  std::string_view rest = text;
  if (rest.empty()) return bad();
  while (!rest.empty()) {
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    int64_t count = 0;
    if (digits == 0 || !absl::SimpleAtoi(View(rest.substr(0, digits)), &count)) return bad();
    rest.remove_prefix(digits);
    const size_t letters = std::min(rest.find_first_of("0123456789"), rest.size());
    const std::string_view unit = rest.substr(0, letters);
    rest.remove_prefix(letters);
    while (next_unit < kUnits.size() && kUnits[next_unit].name != unit) ++next_unit;
    if (next_unit == kUnits.size()) return bad();
    const int64_t ms = kUnits[next_unit++].ms;
    if (count > (kMaxDurationMs - total) / ms) return absl::InvalidArgumentError("duration out of range");
    total += count * ms;
  }
  return total;
}

bool ParseNumber(std::string_view text, double* value) {
  if (absl::EqualsIgnoreCase(View(text), "inf") || absl::EqualsIgnoreCase(View(text), "+inf")) {
    *value = std::numeric_limits<double>::infinity();
    return true;
  }
  if (absl::EqualsIgnoreCase(View(text), "-inf")) {
    *value = -std::numeric_limits<double>::infinity();
    return true;
  }
  if (absl::EqualsIgnoreCase(View(text), "nan")) {
    *value = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  uint64_t whole = 0;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    if (!absl::SimpleHexAtoi(View(text), &whole)) return false;
    *value = static_cast<double>(whole);
    return true;
  }
  const bool octal = text.size() > 1 && text[0] == '0' && text.size() <= 22 &&
                     text.find_first_not_of("01234567") == std::string_view::npos;
  if (octal) {
    for (const char c : text) whole = whole * 8 + static_cast<uint64_t>(c - '0');
    *value = static_cast<double>(whole);
    return true;
  }
  const bool plain = text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  return plain && absl::SimpleAtod(View(text), value);
}

}  // namespace fleetmark::collector::promql
