#include "collector/ingest/ingest_service.h"

#include <map>
#include <utility>

#include "grpcpp/server_context.h"

#include "collector/ingest/agent_stream.h"
#include "common/base/mutex.h"
#include "common/net/credentials.h"
#include "fleetmark/v1/agent.grpc.pb.h"

namespace fleetmark::collector {
namespace {

std::optional<Certificate> Peer(const grpc::CallbackServerContext& context) {
  absl::StatusOr<Certificate> certificate = PeerCertificate(context);
  if (!certificate.ok()) return std::nullopt;
  return *std::move(certificate);
}

}  // namespace

struct IngestService::Impl final : v1::AgentService::CallbackService {
  explicit Impl(IngestParts p) : parts(std::move(p)) {}

  grpc::ServerBidiReactor<v1::AgentMessage, v1::CollectorMessage>* Connect(
      grpc::CallbackServerContext* context) override;
  void Forget(AgentStream* stream);
  std::vector<std::shared_ptr<AgentStream>> Open() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  IngestParts parts;
  Mutex mu;
  bool stopping ABSL_GUARDED_BY(mu) = false;
  std::map<AgentStream*, std::weak_ptr<AgentStream>> streams ABSL_GUARDED_BY(mu);
};

grpc::ServerBidiReactor<v1::AgentMessage, v1::CollectorMessage>* IngestService::Impl::Connect(
    grpc::CallbackServerContext* context) {
  auto stream =
      std::make_shared<AgentStream>(parts, Peer(*context), [this](AgentStream* ended) { Forget(ended); });
  absl::Status status;
  {
    MutexLock lock(mu);
    if (stopping) {
      status = absl::UnavailableError("the collector is stopping");
    } else if (streams.size() >= parts.options.max_streams) {
      status = absl::ResourceExhaustedError("too many agents are connected");
    }
    streams.emplace(stream.get(), stream);
    parts.metrics.streams.Set(static_cast<double>(streams.size()));
  }
  stream->Begin();
  if (!status.ok()) stream->Close(status);
  return stream.get();  // which keeps itself until OnDone
}

void IngestService::Impl::Forget(AgentStream* stream) {
  MutexLock lock(mu);
  streams.erase(stream);
  parts.metrics.streams.Set(static_cast<double>(streams.size()));
}

IngestService::IngestService(Options options, Store& store, Committer& committer, Sessions& sessions,
                             LeaseTable& leases, PlanBook& plans, IngestMetrics& metrics, Clock& clock)
    : impl_(std::make_unique<Impl>(
          IngestParts{std::move(options), store, committer, sessions, leases, plans, metrics, clock})) {}

IngestService::~IngestService() = default;

grpc::Service* IngestService::service() { return impl_.get(); }

std::vector<std::shared_ptr<AgentStream>> IngestService::Impl::Open() {
  std::vector<std::shared_ptr<AgentStream>> open;
  for (const auto& [key, stream] : streams) {
    if (auto alive = stream.lock()) open.push_back(std::move(alive));
  }
  return open;
}

void IngestService::Recheck() {
  std::vector<std::shared_ptr<AgentStream>> open;
  {
    MutexLock lock(impl_->mu);
    open = impl_->Open();
  }
  for (const auto& stream : open) stream->Recheck();
}

void IngestService::Stop() {
  std::vector<std::shared_ptr<AgentStream>> open;
  {
    MutexLock lock(impl_->mu);
    impl_->stopping = true;
    open = impl_->Open();
  }
  for (const auto& stream : open) stream->Close(absl::UnavailableError("the collector is stopping"));
}

}  // namespace fleetmark::collector
