// JSON where protobuf's own mapping is not enough: a strict check of the grammar, since protobuf's reader
// accepts single quotes, bare keys, trailing commas, duplicate keys and numbers in quotes; and one
// canonical text for one value.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_PLUGIN_JSON_TEXT_H_
#define FLEETMARK_COMMON_PLUGIN_JSON_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/struct.pb.h"

namespace fleetmark {

enum class JsonKind { kNull, kBool, kNumber, kString, kList, kObject };

struct JsonMember {
  std::string_view key;  // as written, escapes and all
  JsonKind kind;
  std::string_view text;  // of the value
};

// The members of the object that `text` is. InvalidArgument, with the offset of the fault, when it is not
// one object of RFC 8259, has a key twice in one object, or is nested deeper than 64 levels. The views
// point into `text`.
absl::StatusOr<std::vector<JsonMember>> ParseJsonObject(std::string_view text);

// Keys sorted, no white space, the shortest number that reads back the same (whole numbers up to 2^53
// without exponent), nothing but printable UTF-8.
std::string CanonicalJson(const google::protobuf::Value& value);
std::string CanonicalJson(const google::protobuf::Struct& object);
std::string CanonicalNumber(double number);

// Any JSON value, by protobuf's mapping. InvalidArgument when it is none.
absl::StatusOr<google::protobuf::Value> ParseJsonValue(std::string_view text);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_PLUGIN_JSON_TEXT_H_
