#include "collector/query/action_service.h"

#include "collector/query/action_api.h"
#include "collector/query/unary_calls.h"
#include "fleetmark/v1/action.grpc.pb.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kThreads = 1;
constexpr size_t kQueue = 16;

}  // namespace

class ActionService::Impl final : public v1::ActionService::CallbackService {
 public:
  Impl(const ActionApi& api, CallerCheck check_caller) : calls_(api, check_caller, kThreads, kQueue) {}

  grpc::ServerUnaryReactor* ListActions(grpc::CallbackServerContext* context,
                                        const v1::ListActionsRequest* request,
                                        v1::ListActionsResponse* response) override {
    return calls_.Answer(context, request, response, &ActionApi::ListActions);
  }
  grpc::ServerUnaryReactor* GetAction(grpc::CallbackServerContext* context,
                                      const v1::GetActionRequest* request,
                                      v1::GetActionResponse* response) override {
    return calls_.Answer(context, request, response, &ActionApi::GetAction);
  }
  grpc::ServerUnaryReactor* SwitchActions(grpc::CallbackServerContext* context,
                                          const v1::SwitchActionsRequest* request,
                                          v1::SwitchActionsResponse* response) override {
    return calls_.Answer(context, request, response, &ActionApi::SwitchActions);
  }
  grpc::ServerUnaryReactor* UndoAction(grpc::CallbackServerContext* context,
                                       const v1::UndoActionRequest* request,
                                       v1::UndoActionResponse* response) override {
    return calls_.Answer(context, request, response, &ActionApi::UndoAction);
  }

 private:
  UnaryCalls<ActionApi> calls_;
};

ActionService::ActionService(const ActionApi& api, CallerCheck check_caller)
    : impl_(std::make_unique<Impl>(api, check_caller)) {}
ActionService::~ActionService() = default;
grpc::Service* ActionService::service() { return impl_.get(); }

}  // namespace fleetmark::collector
