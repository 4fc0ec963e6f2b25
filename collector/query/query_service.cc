#include "collector/query/query_service.h"

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

#include "collector/query/query_api.h"
#include "collector/query/unary_calls.h"
#include "common/base/mutex.h"
#include "common/net/grpc_status.h"
#include "fleetmark/v1/fleet.grpc.pb.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kBufferedProgress = 64;

// One RunNow call. It lives until gRPC is done with it and the run's follower is gone, since either may end
// first. When the caller leaves, the run is no longer followed.
class RunNowReactor final : public grpc::ServerWriteReactor<v1::RunProgress>,
                            public std::enable_shared_from_this<RunNowReactor> {
 public:
  explicit RunNowReactor(const QueryApi& api) : api_(api) {}

  // Keeps itself alive until OnDone.
  void KeepAlive() { self_ = shared_from_this(); }

  // In a worker's thread. Whether the run was asked for.
  absl::Status Begin(const v1::RunNowRequest& request) {
    const auto self = shared_from_this();
    const absl::StatusOr<std::string> id =
        api_.RunNow(request, {[self](const v1::RunProgress& progress) { self->Push(progress); },
                              [self](const absl::Status& status) { self->End(status); }});
    if (!id.ok()) {
      End(id.status());
      return id.status();
    }
    bool left = false;
    {
      MutexLock lock(mu_);
      request_id_ = *id;
      left = finished_;
    }
    if (left) api_.Unfollow(*id);
    return absl::OkStatus();
  }

  // No more progress comes; what waits is still written.
  void End(const absl::Status& status) {
    MutexLock lock(mu_);
    if (ended_) return;
    ended_ = true;
    end_ = status;
    WriteNext();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Leave();
    MutexLock lock(mu_);
    writing_ = false;
    WriteNext();
  }
  void OnCancel() override { Leave(); }
  void OnDone() override { const std::shared_ptr<RunNowReactor> last = std::move(self_); }

 private:
  void Push(const v1::RunProgress& progress) {
    MutexLock lock(mu_);
    if (finished_ || ended_) return;
    if (waiting_.size() >= kBufferedProgress) waiting_.pop_front();
    waiting_.push_back(progress);
    WriteNext();
  }

  void Leave() {
    std::string id;
    {
      MutexLock lock(mu_);
      writing_ = false;
      FinishOnce(grpc::Status::CANCELLED);
      id = request_id_;
    }
    if (!id.empty()) api_.Unfollow(id);
  }

  // StartWrite and Finish only hand over to gRPC; they don't call back in this thread.
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (writing_ || finished_) return;
    if (!waiting_.empty()) {
      current_ = std::move(waiting_.front());
      waiting_.pop_front();
      writing_ = true;
      StartWrite(&current_);
    } else if (ended_) {
      FinishOnce(ToGrpc(end_));
    }
  }
  void FinishOnce(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (finished_) return;
    finished_ = true;
    Finish(status);
  }

  const QueryApi& api_;
  Mutex mu_;
  std::string request_id_ ABSL_GUARDED_BY(mu_);
  std::deque<v1::RunProgress> waiting_ ABSL_GUARDED_BY(mu_);
  v1::RunProgress current_ ABSL_GUARDED_BY(mu_);  // being written
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mu_);
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<RunNowReactor> self_;
};

}  // namespace

class QueryService::Impl final : public v1::FleetService::CallbackService {
 public:
  explicit Impl(const Options& options)
      : api_(*options.api), calls_(*options.api, options.check_caller, options.threads, options.queue) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest* request,
                                      v1::GetStatusResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::GetStatus);
  }
  grpc::ServerUnaryReactor* ListNodes(grpc::CallbackServerContext* context,
                                      const v1::ListNodesRequest* request,
                                      v1::ListNodesResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::ListNodes);
  }
  grpc::ServerUnaryReactor* ListSeries(grpc::CallbackServerContext* context,
                                       const v1::ListSeriesRequest* request,
                                       v1::ListSeriesResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::ListSeries);
  }
  grpc::ServerUnaryReactor* ReadSamples(grpc::CallbackServerContext* context,
                                        const v1::ReadSamplesRequest* request,
                                        v1::ReadSamplesResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::ReadSamples);
  }
  grpc::ServerUnaryReactor* ListLatest(grpc::CallbackServerContext* context,
                                       const v1::ListLatestRequest* request,
                                       v1::ListLatestResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::ListLatest);
  }
  grpc::ServerUnaryReactor* ReadQuantiles(grpc::CallbackServerContext* context,
                                          const v1::ReadQuantilesRequest* request,
                                          v1::ReadQuantilesResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::ReadQuantiles);
  }
  grpc::ServerUnaryReactor* ListRuns(grpc::CallbackServerContext* context, const v1::ListRunsRequest* request,
                                     v1::ListRunsResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::ListRuns);
  }
  grpc::ServerUnaryReactor* GetRun(grpc::CallbackServerContext* context, const v1::GetRunRequest* request,
                                   v1::GetRunResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::GetRun);
  }
  grpc::ServerUnaryReactor* ListFindings(grpc::CallbackServerContext* context,
                                         const v1::ListFindingsRequest* request,
                                         v1::ListFindingsResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::ListFindings);
  }
  grpc::ServerUnaryReactor* ListEvents(grpc::CallbackServerContext* context,
                                       const v1::ListEventsRequest* request,
                                       v1::ListEventsResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::ListEvents);
  }
  grpc::ServerUnaryReactor* GetFleet(grpc::CallbackServerContext* context, const v1::GetFleetRequest* request,
                                     v1::FleetResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::GetFleet);
  }
  grpc::ServerUnaryReactor* ListBenchmarks(grpc::CallbackServerContext* context,
                                           const v1::ListBenchmarksRequest* request,
                                           v1::BenchmarksResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::ListBenchmarks);
  }
  grpc::ServerUnaryReactor* ReadCurve(grpc::CallbackServerContext* context,
                                      const v1::ReadCurveRequest* request, v1::Curve* response) override {
    return calls_.Answer(context, request, response, &QueryApi::ReadCurve);
  }
  grpc::ServerUnaryReactor* Compare(grpc::CallbackServerContext* context, const v1::CompareRequest* request,
                                    v1::CompareResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::Compare);
  }
  grpc::ServerUnaryReactor* AddEvent(grpc::CallbackServerContext* context, const v1::AddEventRequest* request,
                                     v1::AddEventResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::AddEvent);
  }
  grpc::ServerUnaryReactor* ImportRuns(grpc::CallbackServerContext* context,
                                       const v1::ImportRunsRequest* request,
                                       v1::ImportRunsResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::ImportRuns);
  }
  grpc::ServerUnaryReactor* Backup(grpc::CallbackServerContext* context, const v1::BackupRequest* request,
                                   v1::BackupResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::Backup);
  }
  grpc::ServerUnaryReactor* CancelRun(grpc::CallbackServerContext* context,
                                      const v1::CancelRunRequest* request,
                                      v1::CancelRunResponse* response) override {
    return calls_.Answer(context, request, response, &QueryApi::CancelRun);
  }

  grpc::ServerWriteReactor<v1::RunProgress>* RunNow(grpc::CallbackServerContext* context,
                                                    const v1::RunNowRequest* request) override {
    auto reactor = std::make_shared<RunNowReactor>(api_);
    reactor->KeepAlive();
    const absl::Status begun =
        calls_.Begin<v1::RunNowRequest>(*context, [reactor, request = *request](const AdmittedCall& call) {
          call.Ended(reactor->Begin(UnaryCalls<QueryApi>::ByPerson(request, call)));
        });
    if (!begun.ok()) reactor->End(begun);
    return reactor.get();
  }

 private:
  const QueryApi& api_;
  UnaryCalls<QueryApi> calls_;
};

QueryService::QueryService(Options options) : impl_(std::make_unique<Impl>(options)) {}
QueryService::~QueryService() = default;
grpc::Service* QueryService::service() { return impl_.get(); }

}  // namespace fleetmark::collector
