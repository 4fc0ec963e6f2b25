// JSON documents in a program's output: text may stand before, between and after them. Read by
// nlohmann::json; what it does not accept and tools write all the same, a bare nan or inf in any spelling, is
// turned into the string "nan", "inf" or "-inf" first, so that a reader sees it.
//
// Bounds: kMaxDocuments documents, kMaxDepth levels; more is an error. Thread-safety: functions without
// state.
#ifndef FLEETMARK_PLUGINS_PARSE_JSON_DOCUMENTS_H_
#define FLEETMARK_PLUGINS_PARSE_JSON_DOCUMENTS_H_

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/parse/number.h"
#include "plugins/parse/parsed_output.h"
#include "plugins/parse/text.h"

namespace fleetmark::parse {

using Json = nlohmann::json;

inline constexpr size_t kMaxDocuments = 100'000;
inline constexpr size_t kMaxDepth = 64;

struct JsonDocument {
  Json value;
  size_t line = 0;  // where it begins
  // Keys of the outermost object that came more than once, with each string that they had.
  std::vector<std::pair<std::string, std::string>> repeated;
};

struct JsonError {
  size_t line = 0;
  std::string sentence;
};

struct JsonDocuments {
  std::vector<JsonDocument> documents;
  std::vector<JsonError> errors;  // what begins like a document and is none, or is cut off
};

JsonDocuments FindJsonDocuments(const Text& text);

// The documents; the errors go to `report` as invalid. With no document and no error: invalid too.
std::vector<JsonDocument> ReadJsonDocuments(const Text& text, std::string_view what, Report& report);

// One document from one line's text. Nothing if it is not JSON.
std::optional<Json> ParseJson(std::string_view text);

// The member, or nullptr if `object` is no object or has none. The path form descends.
const Json* Member(const Json& object, std::string_view key);
const Json* MemberAt(const Json& object, std::initializer_list<std::string_view> keys);
const Json* ObjectIn(const Json& object, std::string_view key);
const Json* ArrayIn(const Json& object, std::string_view key);
// A string as it is, a number or boolean as its text, anything else "".
std::string StringIn(const Json& object, std::string_view key);
// Of a JSON number, or of a string by the grammar; null is absent, other types malformed.
Number NumberOf(const Json& value);
// NumberOf the member if it is a number; else nothing.
std::optional<double> NumberIn(const Json& object, std::string_view key);

// The member as a metric, as Report::AddText does; a member that is not there is not an error.
bool AddMember(const MetricKind& kind, const Json& object, std::string_view key, const Labels& labels,
               const JsonDocument& document, Report& report);

// Text of a value for a message, at most 80 bytes.
std::string ShownJson(const Json& value);

}  // namespace fleetmark::parse

#endif  // FLEETMARK_PLUGINS_PARSE_JSON_DOCUMENTS_H_
