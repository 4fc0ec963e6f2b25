// Answers the unary calls of a gRPC service for people: asks whether the caller may, hands the call to a
// small worker pool, and translates the API's status. A full queue of calls answers RESOURCE_EXHAUSTED.
//
// Thread-safety: gRPC calls it from its threads. Ownership: `api` must outlive it, and it the gRPC server.
#ifndef FLEETMARK_COLLECTOR_QUERY_UNARY_CALLS_H_
#define FLEETMARK_COLLECTOR_QUERY_UNARY_CALLS_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

#include "collector/access/actor.h"
#include "collector/query/caller_check.h"
#include "common/base/worker_pool.h"
#include "common/net/grpc_status.h"

namespace fleetmark::collector {

template <typename Api>
class UnaryCalls {
 public:
  UnaryCalls(const Api& api, CallerCheck check_caller, size_t threads, size_t queue)
      : api_(api), check_caller_(std::move(check_caller)), pool_(threads, queue) {}

  // The reactor of a call that `method` answers.
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const Request* request,
                                   Response* response,
                                   absl::StatusOr<Response> (Api::*method)(const Request&) const) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    // gRPC keeps request and response until Finish.
    const absl::Status begun =
        Begin<Request>(*context, [this, reactor, request, response, method](const AdmittedCall& call) {
          absl::StatusOr<Response> answer = (api_.*method)(ByPerson(*request, call));
          if (answer.ok()) *response = *std::move(answer);
          call.Ended(answer.status());
          reactor->Finish(ToGrpc(answer.status()));
        });
    if (!begun.ok()) reactor->Finish(ToGrpc(begun));
    return reactor;
  }

  // Runs `work` in a worker's thread, or says why not.
  template <typename Request>
  absl::Status Begin(const grpc::ServerContextBase& context, std::function<void(const AdmittedCall&)> work) {
    absl::StatusOr<AdmittedCall> call = CheckCaller(check_caller_, context, Request::descriptor());
    if (!call.ok()) return call.status();
    const bool taken = pool_.Submit([call = *std::move(call), work = std::move(work)] { work(call); });
    if (taken) return absl::OkStatus();
    return absl::ResourceExhaustedError("too many requests are waiting; try again later");
  }

  // The request as of the person who was admitted.
  template <typename Request>
  static Request ByPerson(Request request, const AdmittedCall& call) {
    SetActor(call.person(), &request);
    return request;
  }

 private:
  const Api& api_;
  const CallerCheck check_caller_;
  WorkerPool pool_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_UNARY_CALLS_H_
