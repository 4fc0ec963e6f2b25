#include "collector/action/kube_client.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "collector/notify/curl_transport.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMaxTokenBytes = 64 * 1024;
// A node is some 20 KB, of which most are the names of its images.
constexpr size_t kMaxAnswerBytes = 32 << 20;
constexpr int kNodesAtOnce = 250;
constexpr int kMaxPages = 400;
constexpr char kJson[] = "application/json";

template <typename Message>
absl::StatusOr<Message> Parse(const std::string& text) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  Message out;
  if (google::protobuf::util::JsonStringToMessage(text, &out, options).ok()) return out;
  return absl::InvalidArgumentError("the answer is none of the Kubernetes API");
}

absl::Status ToStatus(const HttpAnswer& answer) {
  const absl::StatusOr<kube::Failure> failure = Parse<kube::Failure>(answer.body);
  const std::string text =
      absl::StrCat(failure.ok() && !failure->message().empty() ? failure->message() : "no reason given",
                   " (HTTP ", answer.status, ")");
  switch (answer.status) {
    case 401:
    case 403:
      return absl::PermissionDeniedError(text);
    case 404:
      return absl::NotFoundError(text);
    case 409:
      return absl::AbortedError(text);
    case 400:
    case 405:
    case 415:
    case 422:
      return absl::InvalidArgumentError(text);
    default:
      return absl::UnavailableError(text);
  }
}

// As Kubernetes has names of nodes (RFC 1123); it stands in a path.
absl::StatusOr<std::string> NodePath(const std::string& name) {
  const bool good = !name.empty() &&
                    name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == name.npos &&
                    absl::ascii_isalnum(static_cast<unsigned char>(name.front()));
  if (!good)
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' is no name of a node in Kubernetes"));
  return absl::StrCat("/api/v1/nodes/", name);
}

}  // namespace

absl::StatusOr<std::string> KubeClient::Ask(const char* method, const std::string& path,
                                            const char* content_type, const std::string& body) {
  OutgoingRequest request;
  request.method = method;
  request.url = absl::StrCat(options_.url, path);
  request.headers["Accept"] = kJson;
  if (!body.empty()) request.headers["Content-Type"] = content_type;
  if (!options_.token_file.empty()) {
    FM_ASSIGN_OR_RETURN(const std::string token, ReadFile(options_.token_file, kMaxTokenBytes));
    request.headers["Authorization"] = absl::StrCat("Bearer ", absl::StripAsciiWhitespace(token));
  }
  request.body = body;
  request.timeout = options_.timeout;
  request.ca_file = options_.ca_file;
  request.max_answer_bytes = kMaxAnswerBytes;
  FM_ASSIGN_OR_RETURN(HttpAnswer answer, SendHttp(request, cancelled_));
  if (answer.status != 200 && answer.status != 201) return ToStatus(answer);
  return std::move(answer.body);
}

absl::StatusOr<kube::Node> KubeClient::GetNode(const std::string& name) {
  FM_ASSIGN_OR_RETURN(const std::string path, NodePath(name));
  FM_ASSIGN_OR_RETURN(const std::string body, Ask("GET", path, kJson, ""));
  return Parse<kube::Node>(body);
}

absl::StatusOr<std::vector<kube::Node>> KubeClient::ListNodes() {
  std::vector<kube::Node> out;
  std::string next;
  for (int page = 0; page < kMaxPages; ++page) {
    const std::string path =
        absl::StrCat("/api/v1/nodes?limit=", kNodesAtOnce, next.empty() ? "" : "&continue=", next);
    FM_ASSIGN_OR_RETURN(const std::string body, Ask("GET", path, kJson, ""));
    FM_ASSIGN_OR_RETURN(kube::NodeList list, Parse<kube::NodeList>(body));
    for (kube::Node& node : *list.mutable_items()) out.push_back(std::move(node));
    next = list.metadata().continue_at();
    if (next.empty()) return out;
  }
  return absl::InvalidArgumentError("the Kubernetes API's list of nodes does not end");
}

absl::StatusOr<kube::Node> KubeClient::MergeNode(const std::string& name, const std::string& patch) {
  FM_ASSIGN_OR_RETURN(const std::string path, NodePath(name));
  FM_ASSIGN_OR_RETURN(const std::string body, Ask("PATCH", path, "application/merge-patch+json", patch));
  return Parse<kube::Node>(body);
}

absl::Status KubeClient::PatchNodeStatus(const std::string& name, const std::string& patch) {
  FM_ASSIGN_OR_RETURN(const std::string path, NodePath(name));
  return Ask("PATCH", absl::StrCat(path, "/status"), "application/strategic-merge-patch+json", patch)
      .status();
}

absl::Status KubeClient::CreateEvent(const std::string& event) {
  return Ask("POST", "/api/v1/namespaces/default/events", kJson, event).status();
}

}  // namespace fleetmark::collector
