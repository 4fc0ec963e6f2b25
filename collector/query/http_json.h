// Protobuf messages as the JSON of the HTTP interface, and what every post must fulfil.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_QUERY_HTTP_JSON_H_
#define FLEETMARK_COLLECTOR_QUERY_HTTP_JSON_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/base/status.h"
#include "common/http/http_server.h"

namespace fleetmark::collector {

// One line, with the names of the .proto files.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);

// Unknown fields are refused: a misspelt one would be lost in silence. An empty body is an empty message.
absl::Status FromJson(const std::string& body, google::protobuf::Message* message);
// The same of a request's body; where it is known who asks, that stands for who the body says it is.
absl::Status FromJson(const HttpRequest& request, google::protobuf::Message* message);

// Posts are refused that a browser could be made to send by a page of another site.
absl::Status CheckPost(const HttpRequest& request);

template <typename Response>
absl::StatusOr<HttpResponse> Answer(const absl::StatusOr<Response>& result) {
  if (!result.ok()) return result.status();
  HttpResponse response;
  FM_ASSIGN_OR_RETURN(response.body, ToJson(*result));
  response.headers["Cache-Control"] = "no-store";
  return response;
}

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_HTTP_JSON_H_
