#include "collector/query/http_json.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "collector/access/actor.h"
#include "collector/access/http_guard.h"
#include "common/base/status.h"

namespace fleetmark::collector {

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok())
    return absl::InternalError(absl::StrCat("answer as JSON: ", status.message().as_string()));
  json.push_back('\n');
  return json;
}

absl::Status FromJson(const std::string& body, google::protobuf::Message* message) {
  if (body.empty()) return absl::OkStatus();
  const auto status = google::protobuf::util::JsonStringToMessage(body, message);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("body: ", status.message().as_string()));
}

absl::Status FromJson(const HttpRequest& request, google::protobuf::Message* message) {
  FM_RETURN_IF_ERROR(FromJson(request.body, message));
  SetActor(request.person, message);
  return absl::OkStatus();
}

absl::Status CheckPost(const HttpRequest& request) {
  const std::string type = request.Header("content-type");
  const std::string media(absl::StripAsciiWhitespace(absl::string_view(type).substr(0, type.find(';'))));
  if (!absl::EqualsIgnoreCase(media, "application/json")) {
    return absl::InvalidArgumentError("Content-Type must be application/json");
  }
  return CheckSameSite(request);
}

}  // namespace fleetmark::collector
