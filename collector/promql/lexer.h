// Cuts a PromQL text into tokens.
//
// Thread-safety: functions without state. Errors: InvalidArgument "LINE:COLUMN: parse error: …".
#ifndef FLEETMARK_COLLECTOR_PROMQL_LEXER_H_
#define FLEETMARK_COLLECTOR_PROMQL_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetmark::collector::promql {

enum class TokenKind {
  kEnd,
  kNumber,
  kDuration,
  kString,
  kName,  // identifiers and keywords
  kSymbol,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // of a string: its value without quotes and escapes
  double number = 0;
  int64_t duration_ms = 0;
  size_t offset = 0;  // in the query

  bool Is(std::string_view symbol) const { return kind == TokenKind::kSymbol && text == symbol; }
  // Keywords are the same in any case.
  bool IsName(std::string_view keyword) const;
};

// The last token is kEnd.
absl::StatusOr<std::vector<Token>> Tokenize(std::string_view query);

// "1:5: parse error: `what`", with the place in the query.
absl::Status ParseError(std::string_view query, size_t offset, std::string_view what);

// "90s", "1h30m"; InvalidArgument. At most 290 years.
absl::StatusOr<int64_t> ParseDurationMs(std::string_view text);

// Go's strconv: hexadecimal, octal with a leading 0, decimal, with exponent, Inf and NaN; false for others.
bool ParseNumber(std::string_view text, double* value);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_LEXER_H_
