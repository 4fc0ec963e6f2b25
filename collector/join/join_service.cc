#include "collector/join/join_service.h"

#include <functional>
#include <string>
#include <utility>

#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

#include "common/base/status.h"
#include "common/base/worker_pool.h"
#include "common/model/limits.h"
#include "common/net/credentials.h"
#include "common/net/grpc_status.h"
#include "common/obs/log.h"
#include "fleetmark/v1/join.grpc.pb.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kThreads = 1;  // they would wait for the folder's lock anyway
constexpr size_t kQueue = 256;

using Issued = AuthorityFolder::Issued;

// Which of its faults a token has is nothing for one who guesses.
absl::Status ForTheOutside(const absl::Status& status) {
  if (absl::IsPermissionDenied(status)) {
    return absl::PermissionDeniedError("refused; the collector's log says why");
  }
  if (absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status)) return status;
  return absl::InternalError("the collector's authority failed; its log says how");
}

template <typename Response>
grpc::Status Answer(const absl::StatusOr<Issued>& issued, Response* response) {
  if (!issued.ok()) return ToGrpc(ForTheOutside(issued.status()));
  response->set_certificate_pem(issued->certificate_pem);
  response->set_authorities_pem(issued->authorities_pem);
  return grpc::Status::OK;
}

void Note(const char* what, const std::string& node, const std::string& peer,
          const absl::StatusOr<Issued>& issued) {
  const std::string shown = node.substr(0, limits::kNodeNameBytes);
  if (issued.ok()) {
    LogInfo(what, {{"node", shown}, {"peer", peer}});
  } else {
    LogWarn("a certificate was refused",
            {{"asked", what}, {"node", shown}, {"peer", peer}, {"reason", issued.status()}});
  }
}

}  // namespace

struct JoinServices::Impl {
  class JoinRpc final : public v1::JoinService::CallbackService {
   public:
    explicit JoinRpc(Impl& impl) : impl_(impl) {}
    grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext* context, const v1::JoinRequest* request,
                                   v1::JoinResponse* response) override {
      return impl_.Do(context, [this, context, request, response] {
        const auto issued = impl_.authority.Join(request->token(), request->node(), request->request_pem());
        Note("a node joined", request->node(), context->peer(), issued);
        return Answer(issued, response);
      });
    }

   private:
    Impl& impl_;
  };

  class CertificateRpc final : public v1::CertificateService::CallbackService {
   public:
    explicit CertificateRpc(Impl& impl) : impl_(impl) {}
    grpc::ServerUnaryReactor* Renew(grpc::CallbackServerContext* context, const v1::RenewRequest* request,
                                    v1::RenewResponse* response) override {
      return impl_.Do(context, [this, context, request, response] {
        const auto current = PeerCertificate(*context);
        if (!current.ok()) return ToGrpc(absl::PermissionDeniedError("no certificate was shown"));
        const auto issued = impl_.authority.Renew(*current, request->request_pem());
        Note("a node's certificate was renewed", current->common_name, context->peer(), issued);
        return Answer(issued, response);
      });
    }

   private:
    Impl& impl_;
  };

  explicit Impl(AuthorityFolder& a) : authority(a) {}

  // gRPC keeps request and response until Finish.
  grpc::ServerUnaryReactor* Do(grpc::CallbackServerContext* context, std::function<grpc::Status()> work) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const bool taken = pool.Submit([reactor, work = std::move(work)] { reactor->Finish(work()); });
    if (!taken) {
      reactor->Finish(
          ToGrpc(absl::ResourceExhaustedError("too many nodes ask for certificates; try again later")));
    }
    return reactor;
  }

  AuthorityFolder& authority;
  JoinRpc join{*this};
  CertificateRpc certificate{*this};
  WorkerPool pool{kThreads, kQueue};
};

JoinServices::JoinServices(AuthorityFolder& authority) : impl_(std::make_unique<Impl>(authority)) {}
JoinServices::~JoinServices() = default;
grpc::Service* JoinServices::join() { return &impl_->join; }
grpc::Service* JoinServices::certificate() { return &impl_->certificate; }

}  // namespace fleetmark::collector
