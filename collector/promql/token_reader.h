// The parser's place in the tokens of a query.
//
// Thread-safety: none. Ownership: the query's text must outlive it.
#ifndef FLEETMARK_COLLECTOR_PROMQL_TOKEN_READER_H_
#define FLEETMARK_COLLECTOR_PROMQL_TOKEN_READER_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "collector/promql/lexer.h"

namespace fleetmark::collector::promql {

class TokenReader {
 public:
  TokenReader(std::string_view query, std::vector<Token> tokens)
      : query_(query), tokens_(std::move(tokens)) {}

  const Token& Peek(size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
  Token Take() { return next_ + 1 < tokens_.size() ? tokens_[next_++] : tokens_.back(); }
  size_t offset() const { return Peek().offset; }

  bool TakeSymbol(std::string_view symbol) { return Peek().Is(symbol) && (++next_, true); }
  bool TakeName(std::string_view keyword) { return Peek().IsName(keyword) && (++next_, true); }

  absl::Status Expect(std::string_view symbol, std::string_view where) {
    if (TakeSymbol(symbol)) return absl::OkStatus();
    return Unexpected(where,
                      absl::StrCat("expected \"", absl::string_view(symbol.data(), symbol.size()), "\""));
  }

  absl::Status Error(size_t offset, std::string_view what) const { return ParseError(query_, offset, what); }

  // "unexpected <what is next> in <where>, <hint>"
  absl::Status Unexpected(std::string_view where, std::string_view hint = {}) const {
    std::string text =
        absl::StrCat("unexpected ", Describe(Peek()), " in ", absl::string_view(where.data(), where.size()));
    if (!hint.empty()) absl::StrAppend(&text, ", ", absl::string_view(hint.data(), hint.size()));
    return Error(offset(), text);
  }

 private:
  static std::string Describe(const Token& token) {
    switch (token.kind) {
      case TokenKind::kEnd:
        return "end of input";
      case TokenKind::kNumber:
        return absl::StrCat("number \"", token.text, "\"");
      case TokenKind::kDuration:
        return absl::StrCat("duration \"", token.text, "\"");
      case TokenKind::kString:
        return absl::StrCat("string \"", token.text, "\"");
      case TokenKind::kName:
        return absl::StrCat("identifier \"", token.text, "\"");
      case TokenKind::kSymbol:
        break;
    }
    return absl::StrCat("\"", token.text, "\"");
  }

  const std::string_view query_;
  const std::vector<Token> tokens_;
  size_t next_ = 0;
};

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_TOKEN_READER_H_
