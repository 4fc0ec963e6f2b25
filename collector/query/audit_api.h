// Reading the audit log, as AuditService and as JSON over HTTP. There is nothing here that writes it.
//
// Thread-safety: all methods, any thread. Ownership: the table must outlive it, and it the servers.
// Errors: InvalidArgument names the field.
#ifndef FLEETMARK_COLLECTOR_QUERY_AUDIT_API_H_
#define FLEETMARK_COLLECTOR_QUERY_AUDIT_API_H_

#include "absl/status/statusor.h"

#include "collector/store/audit_table.h"
#include "common/base/clock.h"
#include "common/http/http_server.h"
#include "fleetmark/v1/audit.pb.h"

namespace fleetmark::collector {

class AuditApi {
 public:
  explicit AuditApi(const AuditTable& table) : table_(table) {}
  absl::StatusOr<v1::ListAuditResponse> ListAudit(const v1::ListAuditRequest& request) const;

 private:
  const AuditTable& table_;
};

// GET /api/fleetmark/v1/audit. Before HttpServer::Start.
void ServeAudit(const AuditApi& api, const Clock& clock, HttpServer& server);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_AUDIT_API_H_
