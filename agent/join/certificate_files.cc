#include "agent/join/certificate_files.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/digest.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/tls/authority.h"
#include "common/tls/key_request.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kFingerprintDigits = 64;

absl::Status MakeFolderOf(const std::string& path) {
  return MakeFolders(std::filesystem::path(path).parent_path().string());
}

absl::Status Write(const TlsFiles& files, const std::string& key_pem, const std::string& certificate_pem,
                   const std::string& authorities_pem) {
  for (const std::string& path : {files.ca, files.certificate, files.key}) {
    FM_RETURN_IF_ERROR(MakeFolderOf(path));
  }
  FM_RETURN_IF_ERROR(ReplaceFile(files.ca, authorities_pem, 0644));
  if (files.key == files.certificate) {
    return ReplaceFile(files.key, absl::StrCat(certificate_pem, key_pem), 0600);
  }
  FM_RETURN_IF_ERROR(ReplaceFile(files.key, key_pem, 0600));
  return ReplaceFile(files.certificate, certificate_pem, 0644);
}

}  // namespace

absl::StatusOr<JoinToken> ParseJoinToken(const std::string& text) {
  JoinToken token;
  token.text = std::string(absl::StripAsciiWhitespace(text));
  const std::vector<std::string> parts = absl::StrSplit(token.text, '.');
  if (parts.size() != 4 || parts[0] != "fmj1" || parts[3].size() != kFingerprintDigits) {
    return absl::InvalidArgumentError("this is no token of `fleetmark-collector ca token`");
  }
  token.authority = parts[3];
  return token;
}

absl::StatusOr<CertificateRequest> MakeCertificateRequest(const std::string& node) {
  CertificateRequest out;
  FM_ASSIGN_OR_RETURN(out.key_pem, MakeKey());
  FM_ASSIGN_OR_RETURN(out.request_pem, MakeRequest(out.key_pem, node.substr(0, 64)));
  return out;
}

absl::Status TakeCertificate(const CertificateRequest& asked, const std::string& node,
                             const std::string& certificate_pem, const std::string& authorities_pem,
                             const std::string& authority, const TlsFiles& files) {
  FM_RETURN_IF_ERROR(Annotate(CheckPair(certificate_pem, asked.key_pem), "the collector's answer"));
  FM_ASSIGN_OR_RETURN(const Certificate certificate, ReadCertificate(certificate_pem));
  FM_ASSIGN_OR_RETURN(const std::vector<Certificate> authorities, ReadCertificates(authorities_pem));
  const auto is_node = [&node](const std::string& uri) { return uri == absl::StrCat(kNodeUriPrefix, node); };
  if (std::none_of(certificate.uris.begin(), certificate.uris.end(), is_node)) {
    return absl::PermissionDeniedError("the collector's answer is the certificate of another node");
  }
  const bool known = std::any_of(authorities.begin(), authorities.end(),
                                 [&authority](const Certificate& c) { return c.fingerprint == authority; });
  if (!authority.empty() && !known) {
    return absl::PermissionDeniedError("the collector's answer lacks the authority that the token names");
  }
  return Write(files, asked.key_pem, certificate_pem, authorities_pem);
}

absl::Time RenewalTime(const Certificate& certificate, const std::string& node) {
  const auto is_ours = [](const std::string& uri) { return absl::StartsWith(uri, kNodeUriPrefix); };
  if (std::none_of(certificate.uris.begin(), certificate.uris.end(), is_ours)) return absl::InfiniteFuture();
  const absl::Duration life = certificate.not_after - certificate.not_before;
  const double spread = static_cast<double>(StableHash64(node) % 1000) / 1000;
  return certificate.not_after - life / 3 - life / 30 * spread;
}

}  // namespace fleetmark::agent
