#include "common/net/health_service.h"

#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "grpcpp/server_context.h"

#include "common/base/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace fleetmark {
namespace {

namespace proto = grpc::health::v1;
using Response = proto::HealthCheckResponse;
using ServingStatus = Response::ServingStatus;

grpc::Status Stopping() { return {grpc::StatusCode::UNAVAILABLE, "the process stops"}; }

}  // namespace

struct HealthService::Impl final : proto::Health::CallbackService {
  Impl(Options o, Clock& c) : options(std::move(o)), clock(c), looker([this] { Look(); }) {}

  // One stream of Watch. gRPC allows one write at a time, and no end while one is under way. All of it is
  // guarded by Impl::mu, which whoever calls Tell or End holds. Deletes itself when gRPC is done with it.
  class Watcher final : public grpc::ServerWriteReactor<Response> {
   public:
    Watcher(Impl& owner, std::string service) : owner_(owner), service_(std::move(service)) {}

    void OnWriteDone(bool ok) override;
    void OnCancel() override;
    void OnDone() override;

    const std::string& service() const { return service_; }
    void Tell(ServingStatus now);
    void End(grpc::Status status);

   private:
    void GoOn();

    Impl& owner_;
    const std::string service_;
    Response message_;                   // the one that is being written, or was last
    std::optional<ServingStatus> told_;  // what the client knows
    std::optional<ServingStatus> next_;  // what it is to be told
    std::optional<grpc::Status> end_;    // after that
    bool writing_ = false;
    bool finished_ = false;
  };

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const proto::HealthCheckRequest* request, Response* response) override;
  grpc::ServerWriteReactor<Response>* Watch(grpc::CallbackServerContext* context,
                                            const proto::HealthCheckRequest* request) override;
  ServingStatus StatusOf(const std::string& service);
  std::map<std::string, ServingStatus> AllStates();
  void Look();
  void Stop();

  const Options options;
  Clock& clock;
  Mutex mu;
  CondVar changed;
  bool stopping ABSL_GUARDED_BY(mu) = false;
  std::set<Watcher*> watchers ABSL_GUARDED_BY(mu);
  std::thread looker;  // last: it uses the rest
};

void HealthService::Impl::Watcher::Tell(ServingStatus now) {
  next_ = now;
  GoOn();
}

void HealthService::Impl::Watcher::End(grpc::Status status) {
  if (!end_.has_value()) end_ = std::move(status);
  GoOn();
}

void HealthService::Impl::Watcher::GoOn() {
  if (writing_ || finished_) return;
  if (next_.has_value() && next_ != told_) {
    told_ = std::exchange(next_, std::nullopt);
    message_.set_status(*told_);
    writing_ = true;
    StartWrite(&message_);
  } else if (end_.has_value()) {
    finished_ = true;
    Finish(*end_);
  }
}

void HealthService::Impl::Watcher::OnWriteDone(bool ok) {
  MutexLock lock(owner_.mu);
  writing_ = false;
  if (ok) return GoOn();
  next_.reset();
  End(grpc::Status::CANCELLED);
}

void HealthService::Impl::Watcher::OnCancel() {
  MutexLock lock(owner_.mu);
  next_.reset();
  End(grpc::Status::CANCELLED);
}

void HealthService::Impl::Watcher::OnDone() {
  {
    MutexLock lock(owner_.mu);
    owner_.watchers.erase(this);
  }
  delete this;
}

ServingStatus HealthService::Impl::StatusOf(const std::string& service) {
  const auto it = options.states.find(service);
  if (it == options.states.end()) return Response::SERVICE_UNKNOWN;
  {
    MutexLock lock(mu);
    if (stopping) return Response::NOT_SERVING;
  }
  return it->second() ? Response::SERVING : Response::NOT_SERVING;
}

grpc::ServerUnaryReactor* HealthService::Impl::Check(grpc::CallbackServerContext* context,
                                                     const proto::HealthCheckRequest* request,
                                                     Response* response) {
  const ServingStatus status = StatusOf(request->service());
  response->set_status(status);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status == Response::SERVICE_UNKNOWN
                      ? grpc::Status(grpc::StatusCode::NOT_FOUND, "no such service")
                      : grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<Response>* HealthService::Impl::Watch(grpc::CallbackServerContext*,
                                                               const proto::HealthCheckRequest* request) {
  const ServingStatus status = StatusOf(request->service());
  auto* watcher = new Watcher(*this, request->service());
  MutexLock lock(mu);
  if (!stopping && watchers.size() >= options.max_watches) {
    watchers.insert(watcher);
    watcher->End({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watches"});
    return watcher;
  }
  watchers.insert(watcher);
  watcher->Tell(stopping ? Response::NOT_SERVING : status);
  if (stopping) watcher->End(Stopping());
  changed.NotifyAll();
  return watcher;
}

std::map<std::string, ServingStatus> HealthService::Impl::AllStates() {
  std::map<std::string, ServingStatus> states;
  for (const auto& [service, serves] : options.states) {
    states[service] = serves() ? Response::SERVING : Response::NOT_SERVING;
  }
  return states;
}

void HealthService::Impl::Look() {
  MutexLock lock(mu);
  while (!stopping) {
    if (watchers.empty()) {
      changed.Wait(mu);
      continue;
    }
    const MonoTime next = clock.Mono() + options.look_interval;
    while (!stopping && clock.Mono() < next) clock.WaitUntil(changed, mu, next);
    if (stopping) return;
    mu.Unlock();
    const std::map<std::string, ServingStatus> states = AllStates();
    mu.Lock();
    for (Watcher* watcher : watchers) {
      const auto state = states.find(watcher->service());
      if (!stopping && state != states.end()) watcher->Tell(state->second);
    }
  }
}

void HealthService::Impl::Stop() {
  {
    MutexLock lock(mu);
    if (std::exchange(stopping, true)) return;
    for (Watcher* watcher : watchers) {
      watcher->Tell(Response::NOT_SERVING);
      watcher->End(Stopping());
    }
    changed.NotifyAll();
  }
  looker.join();
}

HealthService::HealthService(Options options, Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(options), clock)) {}

HealthService::~HealthService() { Stop(); }

grpc::Service* HealthService::service() { return impl_.get(); }

void HealthService::Stop() { impl_->Stop(); }

}  // namespace fleetmark
