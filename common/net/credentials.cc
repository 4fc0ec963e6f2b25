#include "common/net/credentials.h"

#include <stdlib.h>

#include <utility>
#include <vector>

#include "grpcpp/security/auth_context.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "grpcpp/server_context.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/net/grpc_status.h"
#include "grpc/grpc_security_constants.h"

namespace fleetmark {
namespace {

namespace tls = grpc::experimental;

constexpr unsigned kServerReloadSeconds = 2;
constexpr size_t kMaxPemBytes = 1 << 20;

// See the header. The list of TLS 1.3's own ciphers is a separate one.
void RefuseOlderTls() { setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES256-GCM-SHA384", /*overwrite=*/1); }

std::shared_ptr<tls::CertificateProviderInterface> Watch(const TlsMaterial& material) {
  return std::make_shared<tls::FileWatcherCertificateProvider>(
      material.identity_path(), material.identity_path(), material.authorities_path(), kServerReloadSeconds);
}

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(const TlsMaterial& material) {
  const std::string identity = material.identity();
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<tls::StaticDataCertificateProvider>(
      material.authorities(), std::vector<tls::IdentityKeyCertPair>{{identity, identity}}));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return tls::TlsCredentials(options);
}

// Shows no certificate.
std::shared_ptr<grpc::ChannelCredentials> Trusting(const std::string& authorities) {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<tls::StaticDataCertificateProvider>(authorities));
  options.watch_root_certs();
  return tls::TlsCredentials(options);
}

// Runs in a handshake, after OpenSSL has checked the chain.
class NotRevoked final : public tls::ExternalCertificateVerifier {
 public:
  explicit NotRevoked(std::shared_ptr<TlsMaterial> material) : material_(std::move(material)) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    const grpc::string_ref pem = request->peer_cert();
    if (pem.empty()) return true;  // none was shown; whether one must be, is asked elsewhere
    const absl::StatusOr<Certificate> peer = ReadCertificate(std::string_view(pem.data(), pem.size()));
    if (!peer.ok()) {
      *status = ToGrpc(peer.status());
    } else if (material_->IsRevoked(*peer)) {
      *status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "the certificate is revoked");
    }
    return true;  // done at once
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::shared_ptr<TlsMaterial> material_;
};

// Runs in a handshake in which OpenSSL has not checked the chain: this is the whole check.
class Pinned final : public tls::ExternalCertificateVerifier {
 public:
  Pinned(std::string pin, Clock& clock) : pin_(std::move(pin)), clock_(clock) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    const grpc::string_ref chain = request->peer_cert_full_chain();
    const grpc::string_ref target = request->target_name();
    HostPort address;
    const std::string name(target.data(), target.size());
    if (!ParseHostPort(name, &address).ok()) address.host = name;
    *status = ToGrpc(
        VerifyPinnedServer(std::string_view(chain.data(), chain.size()), pin_, address.host, clock_.Now()));
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::string pin_;
  Clock& clock_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(const TlsFiles& files) {
  if (!files.enabled()) return grpc::InsecureChannelCredentials();
  RefuseOlderTls();
  if (files.certificate.empty() && files.key.empty()) {
    FM_ASSIGN_OR_RETURN(const std::string authorities, ReadFile(files.ca, kMaxPemBytes));
    FM_RETURN_IF_ERROR(Annotate(ReadCertificates(authorities).status(), files.ca));
    return Trusting(authorities);
  }
  FM_ASSIGN_OR_RETURN(const auto material, TlsMaterial::Load(files));
  return ChannelCredentials(*material);
}

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const TlsMaterial* material) {
  if (material == nullptr) return grpc::InsecureChannelCredentials();
  RefuseOlderTls();
  return ChannelCredentials(*material);
}

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(std::shared_ptr<TlsMaterial> material,
                                                               ClientCertificates clients) {
  if (material == nullptr) return grpc::InsecureServerCredentials();
  RefuseOlderTls();
  tls::TlsServerCredentialsOptions options(Watch(*material));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(clients == ClientCertificates::kRequired
                                    ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                    : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<NotRevoked>(std::move(material)));
  return tls::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> MakeJoinServerCredentials(std::shared_ptr<TlsMaterial> material) {
  RefuseOlderTls();
  tls::TlsServerCredentialsOptions options(Watch(*material));
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  return tls::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> MakeJoinChannelCredentials(const std::string& pin, Clock& clock) {
  RefuseOlderTls();
  tls::TlsChannelCredentialsOptions options;
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<Pinned>(pin, std::ref(clock)));
  return tls::TlsCredentials(options);
}

absl::StatusOr<Certificate> PeerCertificate(const grpc::ServerContextBase& context) {
  const auto pem = context.auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (pem.empty()) return absl::NotFoundError("the peer has shown no certificate");
  return ReadCertificate(std::string_view(pem.front().data(), pem.front().size()));
}

}  // namespace fleetmark
