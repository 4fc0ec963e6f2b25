#include "collector/query/alert_service.h"

#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

#include "collector/query/alert_api.h"
#include "common/base/worker_pool.h"
#include "common/net/grpc_status.h"
#include "fleetmark/v1/alert.grpc.pb.h"

namespace fleetmark::collector {

class AlertService::Impl final : public v1::AlertService::CallbackService {
 public:
  explicit Impl(const Options& options)
      : api_(*options.api), check_caller_(options.check_caller), pool_(options.threads, options.queue) {}

  grpc::ServerUnaryReactor* ListAlerts(grpc::CallbackServerContext* context,
                                       const v1::ListAlertsRequest* request,
                                       v1::ListAlertsResponse* response) override {
    return Answer(context, request, response, &AlertApi::ListAlerts);
  }
  grpc::ServerUnaryReactor* GetAlert(grpc::CallbackServerContext* context, const v1::GetAlertRequest* request,
                                     v1::GetAlertResponse* response) override {
    return Answer(context, request, response, &AlertApi::GetAlert);
  }
  grpc::ServerUnaryReactor* AckAlert(grpc::CallbackServerContext* context, const v1::AckAlertRequest* request,
                                     v1::AckAlertResponse* response) override {
    return Answer(context, request, response, &AlertApi::AckAlert);
  }
  grpc::ServerUnaryReactor* ListReceivers(grpc::CallbackServerContext* context,
                                          const v1::ListReceiversRequest* request,
                                          v1::ListReceiversResponse* response) override {
    return Answer(context, request, response, &AlertApi::ListReceivers);
  }
  grpc::ServerUnaryReactor* ListSilences(grpc::CallbackServerContext* context,
                                         const v1::ListSilencesRequest* request,
                                         v1::ListSilencesResponse* response) override {
    return Answer(context, request, response, &AlertApi::ListSilences);
  }
  grpc::ServerUnaryReactor* AddSilence(grpc::CallbackServerContext* context,
                                       const v1::AddSilenceRequest* request,
                                       v1::AddSilenceResponse* response) override {
    return Answer(context, request, response, &AlertApi::AddSilence);
  }
  grpc::ServerUnaryReactor* EndSilence(grpc::CallbackServerContext* context,
                                       const v1::EndSilenceRequest* request,
                                       v1::EndSilenceResponse* response) override {
    return Answer(context, request, response, &AlertApi::EndSilence);
  }

 private:
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const Request* request,
                                   Response* response,
                                   absl::StatusOr<Response> (AlertApi::*method)(const Request&) const) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (const absl::Status status = CheckCaller(check_caller_, *context); !status.ok()) {
      reactor->Finish(ToGrpc(status));
      return reactor;
    }
    // gRPC keeps request and response until Finish.
    const bool taken = pool_.Submit([this, reactor, request, response, method] {
      absl::StatusOr<Response> answer = (api_.*method)(*request);
      if (answer.ok()) *response = *std::move(answer);
      reactor->Finish(ToGrpc(answer.status()));
    });
    if (!taken) {
      reactor->Finish(ToGrpc(absl::ResourceExhaustedError("too many requests are waiting; try again later")));
    }
    return reactor;
  }

  const AlertApi& api_;
  const CallerCheck check_caller_;
  WorkerPool pool_;
};

AlertService::AlertService(Options options) : impl_(std::make_unique<Impl>(options)) {}
AlertService::~AlertService() = default;
grpc::Service* AlertService::service() { return impl_.get(); }

}  // namespace fleetmark::collector
