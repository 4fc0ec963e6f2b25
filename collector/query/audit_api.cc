#include "collector/query/audit_api.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/query/http_json.h"
#include "collector/query/paging.h"
#include "collector/query/query_params.h"
#include "common/base/status.h"
#include "common/model/limits.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kDefaultEntries = 1000;
constexpr uint32_t kMaxEntries = 10'000;
constexpr size_t kAnswerBytes = limits::kMessageBytes - 256 * 1024;

}  // namespace

absl::StatusOr<v1::ListAuditResponse> AuditApi::ListAudit(const v1::ListAuditRequest& request) const {
  if (request.limit() > kMaxEntries) {
    return absl::InvalidArgumentError(absl::StrCat("limit: must be at most ", kMaxEntries));
  }
  const Page page{request.limit() == 0 ? kDefaultEntries : request.limit(), request.page_token()};
  v1::ListAuditResponse response;
  const auto list = [&](const Page& slice, std::string* next) { return table_.List(request, slice, next); };
  const auto take = [&response](v1::AuditEntry entry) { *response.add_entries() = std::move(entry); };
  FM_ASSIGN_OR_RETURN(*response.mutable_next_page_token(), ReadPage(page, kAnswerBytes, list, take));
  return response;
}

void ServeAudit(const AuditApi& api, const Clock& clock, HttpServer& server) {
  server.Handle("GET", "/api/fleetmark/v1/audit",
                [&api, &clock](const HttpRequest& http) -> absl::StatusOr<HttpResponse> {
                  v1::ListAuditRequest request;
                  FM_RETURN_IF_ERROR(FillRequest(http.query, clock.Now(), {}, &request));
                  return Answer(api.ListAudit(request));
                });
}

}  // namespace fleetmark::collector
