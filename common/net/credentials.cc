#include "common/net/credentials.h"

#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"

#include "common/base/status.h"

namespace fleetmark {
namespace {

namespace tls = grpc::experimental;

// How often the files are read. A client needs its certificate when it connects, and there are many clients,
// whose nodes are not to feel them.
constexpr unsigned kServerReloadSeconds = 5;
constexpr unsigned kClientReloadSeconds = 60;

std::shared_ptr<tls::FileWatcherCertificateProvider> Watch(const TlsFiles& files, unsigned reload_seconds) {
  return std::make_shared<tls::FileWatcherCertificateProvider>(files.key, files.certificate, files.ca,
                                                               reload_seconds);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(const TlsFiles& files) {
  if (!files.enabled()) return grpc::InsecureChannelCredentials();
  FM_RETURN_IF_ERROR(CheckTlsFiles(files));
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(Watch(files, kClientReloadSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return tls::TlsCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(const TlsFiles& files) {
  if (!files.enabled()) return grpc::InsecureServerCredentials();
  FM_RETURN_IF_ERROR(CheckTlsFiles(files));
  tls::TlsServerCredentialsOptions options(Watch(files, kServerReloadSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return tls::TlsServerCredentials(options);
}

}  // namespace fleetmark
