#include "collector/join/authority_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "collector/join/join_tokens.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/model/labels.h"
#include "common/tls/key_request.h"
#include "common/tls/revocations.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMaxPemBytes = 1 << 20;
constexpr size_t kMaxCrlBytes = 64 << 20;
constexpr size_t kMaxIssuedBytes = 1 << 20;
constexpr size_t kMaxRequestBytes = 8 << 10;
constexpr absl::Duration kAuthorityLifetime = absl::Hours(24 * 3650);
// A list is made at each revocation, not by the calendar.
constexpr absl::Duration kCrlLifetime = absl::Hours(24 * 3650);
constexpr absl::Duration kClockTolerance = absl::Hours(1);  // or a quarter of a shorter life

// Held while it lives, against other threads and processes.
class FolderLock {
 public:
  static absl::StatusOr<FolderLock> Take(const std::string& folder) {
    FolderLock lock;
    const std::string path = absl::StrCat(folder, "/lock");
    lock.fd_.Reset(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock.fd_.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
    while (flock(lock.fd_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return ErrnoStatus(errno, absl::StrCat("lock ", path));
    }
    return lock;
  }

 private:
  UniqueFd fd_;
};

bool IsThere(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

std::string AuthorityFolder::Path(const std::string& name) const {
  return absl::StrCat(options_.folder, "/", name);
}

absl::Status AuthorityFolder::Write(const std::string& name, const std::string& content, int mode) const {
  return ReplaceFile(Path(name), content, mode);
}

TlsFiles AuthorityFolder::ServerFiles(const std::string& folder) {
  const std::string own = absl::StrCat(folder, "/collector.pem");
  return {absl::StrCat(folder, "/ca.pem"), own, own, absl::StrCat(folder, "/crl.pem")};
}

absl::StatusOr<Signer> AuthorityFolder::ReadSigner() const {
  Signer signer;
  absl::StatusOr<std::string> certificate = ReadFile(Path("ca.pem"), kMaxPemBytes);
  if (absl::IsNotFound(certificate.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(options_.folder, " holds no authority; `fleetmark-collector ca init` makes one"));
  }
  FM_RETURN_IF_ERROR(certificate.status());
  signer.certificate_pem = *std::move(certificate);
  FM_ASSIGN_OR_RETURN(signer.key_pem, ReadFile(Path("ca.key"), kMaxPemBytes));
  return signer;
}

absl::Status AuthorityFolder::Init(const std::vector<std::string>& names) {
  FM_RETURN_IF_ERROR(MakeFolders(options_.folder, 0700));
  FM_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(options_.folder));
  if (IsThere(Path("ca.pem")) || IsThere(Path("ca.key"))) {
    return absl::FailedPreconditionError(
        absl::StrCat(options_.folder, " holds an authority already; a new one would shut out every node"));
  }
  FM_RETURN_IF_ERROR(MakeFolders(Path("tokens"), 0700));
  FM_RETURN_IF_ERROR(MakeFolders(Path("issued"), 0700));
  const absl::Time now = clock_.Now();
  // Told apart from an earlier one of this site's in lists and logs.
  FM_ASSIGN_OR_RETURN(const std::string tag, RandomHex(4));
  FM_ASSIGN_OR_RETURN(const Signer signer, MakeAuthority(absl::StrCat("Fleetmark authority ", tag),
                                                         {now - kClockTolerance, now + kAuthorityLifetime}));
  FM_RETURN_IF_ERROR(WriteServerCertificate(signer, names));
  FM_RETURN_IF_ERROR(WriteRevocations(signer, {}));
  FM_RETURN_IF_ERROR(Write("names", absl::StrJoin(names, "\n"), 0600));
  FM_RETURN_IF_ERROR(Write("ca.key", signer.key_pem, 0600));
  return Write("ca.pem", signer.certificate_pem, 0644);
}

absl::Status AuthorityFolder::WriteServerCertificate(const Signer& signer,
                                                     const std::vector<std::string>& names) {
  const absl::Time now = clock_.Now();
  FM_ASSIGN_OR_RETURN(const std::string key, MakeKey());
  FM_ASSIGN_OR_RETURN(
      const std::string certificate,
      SignServer(signer, key, names, {now - kClockTolerance, now + options_.server_lifetime}));
  // With the authority's own certificate, by whose fingerprint a joining node checks the chain.
  return Write("collector.pem", absl::StrCat(certificate, signer.certificate_pem, key), 0600);
}

absl::Status AuthorityFolder::WriteRevocations(const Signer& signer, const std::vector<Revoked>& revoked) {
  const absl::Time now = clock_.Now();
  FM_ASSIGN_OR_RETURN(const std::string crl, SignRevocations(signer, revoked, {now, now + kCrlLifetime}));
  return Write("crl.pem", crl, 0644);
}

absl::StatusOr<std::string> AuthorityFolder::NewToken(const std::string& node, absl::Duration valid) {
  FM_RETURN_IF_ERROR(CheckNodeName(node));
  FM_ASSIGN_OR_RETURN(const Signer signer, ReadSigner());
  FM_ASSIGN_OR_RETURN(const Certificate authority, ReadCertificate(signer.certificate_pem));
  return MakeJoinToken(Path("tokens"), node, authority.fingerprint, clock_.Now() + valid);
}

absl::StatusOr<AuthorityFolder::Issued> AuthorityFolder::Join(const std::string& token,
                                                              const std::string& node,
                                                              const std::string& request_pem) {
  FM_RETURN_IF_ERROR(CheckNodeName(node));
  FM_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(options_.folder));
  FM_RETURN_IF_ERROR(UseJoinToken(Path("tokens"), token, node, clock_.Now()));
  return Issue(node, request_pem);
}

absl::StatusOr<AuthorityFolder::Issued> AuthorityFolder::Renew(const Certificate& current,
                                                               const std::string& request_pem) {
  FM_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(options_.folder));
  std::string node;
  for (const std::string& uri : current.uris) {
    if (absl::StartsWith(uri, kNodeUriPrefix)) node = uri.substr(sizeof(kNodeUriPrefix) - 1);
  }
  if (node.empty() || !CheckNodeName(node).ok()) {
    return absl::PermissionDeniedError("the certificate is none of this authority's");
  }
  // It must be in the book: another authority that is trusted too may not have its certificates renewed here,
  // and what was revoked after the handshake is not renewed either.
  FM_ASSIGN_OR_RETURN(const std::vector<NodeCertificate> issued, IssuedTo(node));
  FM_ASSIGN_OR_RETURN(const std::string crl, ReadFile(Path("crl.pem"), kMaxCrlBytes));
  FM_ASSIGN_OR_RETURN(const Signer signer, ReadSigner());
  FM_ASSIGN_OR_RETURN(const Revocations revoked, Revocations::Read(crl, signer.certificate_pem));
  const bool known = std::any_of(issued.begin(), issued.end(),
                                 [&current](const auto& c) { return c.serial == current.serial; });
  if (!known || revoked.Holds(current)) {
    return absl::PermissionDeniedError(absl::StrCat("certificate ", current.serial, " of node '", node,
                                                    "' is ",
                                                    known ? "revoked" : "not in this authority's book"));
  }
  return Issue(node, request_pem);
}

absl::StatusOr<AuthorityFolder::Issued> AuthorityFolder::Issue(const std::string& node,
                                                               const std::string& request_pem) {
  if (request_pem.size() > kMaxRequestBytes) return absl::InvalidArgumentError("the request is too long");
  FM_ASSIGN_OR_RETURN(const Signer signer, ReadSigner());
  FM_ASSIGN_OR_RETURN(const Certificate authority, ReadCertificate(signer.certificate_pem));
  const absl::Time now = clock_.Now();
  const absl::Time until = std::min(now + options_.node_lifetime, authority.not_after);
  const absl::Duration early = std::min(kClockTolerance, options_.node_lifetime / 4);
  Issued out;
  FM_ASSIGN_OR_RETURN(out.certificate_pem, SignNode(signer, request_pem, node, {now - early, until}));
  FM_RETURN_IF_ERROR(Note(node, out.certificate_pem));
  out.authorities_pem = signer.certificate_pem;
  return out;
}

absl::Status AuthorityFolder::Note(const std::string& node, const std::string& certificate_pem) {
  FM_ASSIGN_OR_RETURN(const Certificate certificate, ReadCertificate(certificate_pem));
  FM_ASSIGN_OR_RETURN(std::vector<NodeCertificate> all, IssuedTo(node));
  if (all.size() >= options_.max_certificates_of_node) {
    return absl::ResourceExhaustedError(absl::StrCat("node '", node, "' has ", all.size(),
                                                     " certificates that are valid; revoke them first"));
  }
  all.push_back({node, certificate.serial, certificate.not_after});
  std::string text;
  for (const NodeCertificate& c : all) {
    absl::StrAppend(&text, c.serial, " ", absl::ToUnixSeconds(c.not_after), "\n");
  }
  return Write(absl::StrCat("issued/", node), text, 0600);
}

absl::StatusOr<std::vector<AuthorityFolder::NodeCertificate>> AuthorityFolder::IssuedTo(
    const std::string& node) const {
  const absl::StatusOr<std::string> text = ReadFile(Path(absl::StrCat("issued/", node)), kMaxIssuedBytes);
  std::vector<NodeCertificate> out;
  if (absl::IsNotFound(text.status())) return out;
  FM_RETURN_IF_ERROR(text.status());
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    int64_t end = 0;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &end)) {
      return absl::DataLossError(absl::StrCat(Path("issued"), "/", node, ": '", line, "'"));
    }
    if (absl::FromUnixSeconds(end) > clock_.Now()) {
      out.push_back({node, parts[0], absl::FromUnixSeconds(end)});
    }
  }
  return out;
}

absl::StatusOr<size_t> AuthorityFolder::Revoke(const std::string& node) {
  FM_RETURN_IF_ERROR(CheckNodeName(node));
  FM_ASSIGN_OR_RETURN(const Signer signer, ReadSigner());
  FM_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(options_.folder));
  const absl::Time now = clock_.Now();
  FM_ASSIGN_OR_RETURN(const size_t tokens, RemoveJoinTokens(Path("tokens"), node, now));
  FM_ASSIGN_OR_RETURN(const std::vector<NodeCertificate> issued, IssuedTo(node));
  if (issued.empty() && tokens == 0) {
    return absl::NotFoundError(absl::StrCat("node '", node, "' has no certificate and no token"));
  }
  FM_ASSIGN_OR_RETURN(const std::string crl, ReadFile(Path("crl.pem"), kMaxCrlBytes));
  FM_ASSIGN_OR_RETURN(const Revocations known, Revocations::Read(crl, signer.certificate_pem));
  std::vector<Revoked> revoked = known.entries();
  // What was revoked so long ago has expired by itself.
  revoked.erase(std::remove_if(revoked.begin(), revoked.end(),
                               [&](const Revoked& r) {
                                 return r.when + std::max(options_.node_lifetime, absl::Hours(24 * 366)) <
                                        now;
                               }),
                revoked.end());
  for (const NodeCertificate& c : issued) revoked.push_back({c.serial, now});
  FM_RETURN_IF_ERROR(WriteRevocations(signer, revoked));
  FM_RETURN_IF_ERROR(Write(absl::StrCat("issued/", node), "", 0600));
  return issued.size();
}

absl::StatusOr<std::vector<AuthorityFolder::NodeCertificate>> AuthorityFolder::List() const {
  FM_RETURN_IF_ERROR(ReadSigner().status());
  std::error_code error;
  std::vector<NodeCertificate> out;
  for (auto it = std::filesystem::directory_iterator(Path("issued"), error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string node = it->path().filename().string();
    if (!CheckNodeName(node).ok()) continue;  // a file that is being written
    FM_ASSIGN_OR_RETURN(const std::vector<NodeCertificate> issued, IssuedTo(node));
    out.insert(out.end(), issued.begin(), issued.end());
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("read ", Path("issued")));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::tie(a.node, a.not_after) < std::tie(b.node, b.not_after);
  });
  return out;
}

absl::StatusOr<bool> AuthorityFolder::RenewServerIfDue() {
  FM_ASSIGN_OR_RETURN(const Signer signer, ReadSigner());
  FM_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(options_.folder));
  const absl::StatusOr<std::string> pem = ReadFile(Path("collector.pem"), kMaxPemBytes);
  FM_RETURN_IF_ERROR(pem.status());
  FM_ASSIGN_OR_RETURN(const Certificate own, ReadCertificate(*pem));
  if (own.not_after - clock_.Now() > (own.not_after - own.not_before) / 3) return false;
  FM_ASSIGN_OR_RETURN(const std::string names, ReadFile(Path("names"), kMaxPemBytes));
  FM_RETURN_IF_ERROR(WriteServerCertificate(signer, absl::StrSplit(names, '\n', absl::SkipEmpty())));
  return true;
}

absl::Status AuthorityFolder::RemoveExpiredTokens() {
  return RemoveJoinTokens(Path("tokens"), "", clock_.Now()).status();
}

}  // namespace fleetmark::collector
