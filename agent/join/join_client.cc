#include "agent/join/join_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

#include "agent/join/certificate_files.h"
#include "common/base/status.h"
#include "common/net/credentials.h"
#include "common/net/grpc_status.h"
#include "common/obs/log.h"
#include "fleetmark/v1/join.grpc.pb.h"

namespace fleetmark::agent {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(30);
constexpr int kAnswerBytes = 4 << 20;  // authorities of a large site

absl::Duration LookInterval(const Certificate& certificate) {
  const absl::Duration life = certificate.not_after - certificate.not_before;
  return std::clamp(life / 40, absl::Seconds(1), absl::Minutes(1));
}

std::shared_ptr<grpc::Channel> Channel(const std::string& address,
                                       const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kAnswerBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace

absl::Status JoinFleet(const std::string& address, const std::string& token, const std::string& node,
                       const TlsFiles& files, Clock& clock) {
  FM_ASSIGN_OR_RETURN(const JoinToken parsed, ParseJoinToken(token));
  FM_ASSIGN_OR_RETURN(const CertificateRequest asked, MakeCertificateRequest(node));
  v1::JoinRequest request;
  request.set_token(parsed.text);
  request.set_node(node);
  request.set_request_pem(asked.request_pem);
  v1::JoinResponse response;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(clock.Now() + kTimeout));
  const auto stub =
      v1::JoinService::NewStub(Channel(address, MakeJoinChannelCredentials(parsed.authority, clock)));
  FM_RETURN_IF_ERROR(
      Annotate(FromGrpc(stub->Join(&context, request, &response)), absl::StrCat("join by ", address)));
  return TakeCertificate(asked, node, response.certificate_pem(), response.authorities_pem(),
                         parsed.authority, files);
}

CertificateRenewal::CertificateRenewal(Options options, std::shared_ptr<TlsMaterial> material, Clock& clock)
    : options_(std::move(options)),
      material_(std::move(material)),
      clock_(clock),
      thread_(clock, LookInterval(material_->own()), [this] { Look(); }) {
  thread_.Start();
}

CertificateRenewal::~CertificateRenewal() { Stop(); }

void CertificateRenewal::Stop() { thread_.Stop(); }

absl::Status CertificateRenewal::Renew() {
  FM_ASSIGN_OR_RETURN(const CertificateRequest asked, MakeCertificateRequest(options_.node));
  v1::RenewRequest request;
  request.set_request_pem(asked.request_pem);
  absl::Status status = absl::UnavailableError("no collector is configured");
  for (const std::string& address : options_.collectors) {
    v1::RenewResponse response;
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(clock_.Now() + kTimeout));
    const auto stub =
        v1::CertificateService::NewStub(Channel(address, MakeChannelCredentials(material_.get())));
    status = FromGrpc(stub->Renew(&context, request, &response));
    if (!status.ok()) continue;
    return TakeCertificate(asked, options_.node, response.certificate_pem(), response.authorities_pem(), "",
                           options_.files);
  }
  return status;
}

void CertificateRenewal::Look() {
  absl::Status status;
  if (RenewalTime(material_->own(), options_.node) <= clock_.Now()) {
    status = Renew();
    if (status.ok()) LogInfo("the node's certificate was renewed", {{"node", options_.node}});
  }
  if (const absl::StatusOr<bool> changed = material_->Refresh(); status.ok()) status = changed.status();
  // Each fault is told once.
  const std::string fault = status.ok() ? "" : status.ToString();
  if (!status.ok() && fault != fault_) {
    LogWarn("the node's certificate was not renewed; it is tried again",
            {{"error", status},
             {"ends", absl::FormatTime(absl::RFC3339_sec, material_->own().not_after, absl::UTCTimeZone())}});
  }
  fault_ = fault;
}

}  // namespace fleetmark::agent
