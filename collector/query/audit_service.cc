#include "collector/query/audit_service.h"

#include "collector/query/audit_api.h"
#include "collector/query/unary_calls.h"
#include "fleetmark/v1/audit.grpc.pb.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kThreads = 1;
constexpr size_t kQueue = 16;

}  // namespace

class AuditService::Impl final : public v1::AuditService::CallbackService {
 public:
  Impl(const AuditApi& api, CallerCheck check_caller) : calls_(api, check_caller, kThreads, kQueue) {}

  grpc::ServerUnaryReactor* ListAudit(grpc::CallbackServerContext* context,
                                      const v1::ListAuditRequest* request,
                                      v1::ListAuditResponse* response) override {
    return calls_.Answer(context, request, response, &AuditApi::ListAudit);
  }

 private:
  UnaryCalls<AuditApi> calls_;
};

AuditService::AuditService(const AuditApi& api, CallerCheck check_caller)
    : impl_(std::make_unique<Impl>(api, check_caller)) {}
AuditService::~AuditService() = default;
grpc::Service* AuditService::service() { return impl_.get(); }

}  // namespace fleetmark::collector
