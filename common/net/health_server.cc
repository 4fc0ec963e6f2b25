#include "common/net/health_server.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

namespace fleetmark {
namespace {

constexpr int kMaxRequestBytes = 4096;
constexpr int kIdleMs = 60'000;
constexpr int kMaxStreamsPerConnection = 16;
constexpr size_t kQuotaBytes = 16 << 20;
constexpr auto kDrain = std::chrono::seconds(1);

}  // namespace

struct HealthServer::Impl {
  Impl(HealthService::States states, Clock& c)
      : clock(c), health(HealthService::Options{.states = std::move(states)}, c) {}

  Clock& clock;
  HealthService health;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

absl::StatusOr<std::unique_ptr<HealthServer>> HealthServer::Start(const HostPort& address,
                                                                  HealthService::States states,
                                                                  Clock& clock) {
  auto impl = std::make_unique<Impl>(std::move(states), clock);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address.ToString(), grpc::InsecureServerCredentials(), &impl->port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  grpc::ResourceQuota quota("health");
  quota.Resize(kQuotaBytes);
  builder.SetResourceQuota(quota);
  builder.RegisterService(impl->health.service());
  impl->server = builder.BuildAndStart();
  if (impl->server == nullptr || impl->port == 0) {
    return absl::UnavailableError(absl::StrCat("gRPC health: can't listen on ", address.ToString(),
                                               ": the address is in use or not this machine's"));
  }
  return std::unique_ptr<HealthServer>(new HealthServer(std::move(impl)));
}

HealthServer::HealthServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HealthServer::~HealthServer() { Stop(); }

int HealthServer::port() const { return impl_->port; }

void HealthServer::Stop() {
  impl_->health.Stop();
  impl_->server->Shutdown(absl::ToChronoTime(impl_->clock.Now()) + kDrain);
  impl_->server->Wait();
}

}  // namespace fleetmark
