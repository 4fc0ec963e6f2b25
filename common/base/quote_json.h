// Text as a string of JSON (RFC 8259, section 7).
//
// Thread-safety: a pure function.
#ifndef FLEETMARK_COMMON_BASE_QUOTE_JSON_H_
#define FLEETMARK_COMMON_BASE_QUOTE_JSON_H_

#include <string>
#include <string_view>

namespace fleetmark {

// `text`, which is UTF-8, in quotation marks; what JSON does not take as it is comes escaped.
std::string QuoteJson(std::string_view text);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_QUOTE_JSON_H_
