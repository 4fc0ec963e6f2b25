#include "collector/query/alert_service.h"

#include "collector/query/alert_api.h"
#include "collector/query/unary_calls.h"
#include "fleetmark/v1/alert.grpc.pb.h"

namespace fleetmark::collector {

class AlertService::Impl final : public v1::AlertService::CallbackService {
 public:
  explicit Impl(const Options& options)
      : calls_(*options.api, options.check_caller, options.threads, options.queue) {}

  grpc::ServerUnaryReactor* ListAlerts(grpc::CallbackServerContext* context,
                                       const v1::ListAlertsRequest* request,
                                       v1::ListAlertsResponse* response) override {
    return calls_.Answer(context, request, response, &AlertApi::ListAlerts);
  }
  grpc::ServerUnaryReactor* GetAlert(grpc::CallbackServerContext* context, const v1::GetAlertRequest* request,
                                     v1::GetAlertResponse* response) override {
    return calls_.Answer(context, request, response, &AlertApi::GetAlert);
  }
  grpc::ServerUnaryReactor* AckAlert(grpc::CallbackServerContext* context, const v1::AckAlertRequest* request,
                                     v1::AckAlertResponse* response) override {
    return calls_.Answer(context, request, response, &AlertApi::AckAlert);
  }
  grpc::ServerUnaryReactor* ListReceivers(grpc::CallbackServerContext* context,
                                          const v1::ListReceiversRequest* request,
                                          v1::ListReceiversResponse* response) override {
    return calls_.Answer(context, request, response, &AlertApi::ListReceivers);
  }
  grpc::ServerUnaryReactor* ListSilences(grpc::CallbackServerContext* context,
                                         const v1::ListSilencesRequest* request,
                                         v1::ListSilencesResponse* response) override {
    return calls_.Answer(context, request, response, &AlertApi::ListSilences);
  }
  grpc::ServerUnaryReactor* AddSilence(grpc::CallbackServerContext* context,
                                       const v1::AddSilenceRequest* request,
                                       v1::AddSilenceResponse* response) override {
    return calls_.Answer(context, request, response, &AlertApi::AddSilence);
  }
  grpc::ServerUnaryReactor* EndSilence(grpc::CallbackServerContext* context,
                                       const v1::EndSilenceRequest* request,
                                       v1::EndSilenceResponse* response) override {
    return calls_.Answer(context, request, response, &AlertApi::EndSilence);
  }

 private:
  UnaryCalls<AlertApi> calls_;
};

AlertService::AlertService(Options options) : impl_(std::make_unique<Impl>(options)) {}
AlertService::~AlertService() = default;
grpc::Service* AlertService::service() { return impl_.get(); }

}  // namespace fleetmark::collector
