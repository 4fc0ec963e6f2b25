#include "common/net/tls_material.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark {
namespace {

constexpr size_t kMaxPemBytes = 1 << 20;
constexpr size_t kMaxCrlBytes = 64 << 20;  // some authorities' lists are long

// An anonymous file with `content`.
absl::StatusOr<UniqueFd> ToMemory(std::string_view content) {
  UniqueFd fd(memfd_create("fleetmark-tls", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "memfd_create");
  while (!content.empty()) {
    const ssize_t written = write(fd.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, "write to a memfd");
    content.remove_prefix(static_cast<size_t>(written));
  }
  return fd;
}

// Whoever opens /proc/self/fd/N sees the old content whole, or the new.
absl::Status Put(std::string_view content, int* fd) {
  FM_ASSIGN_OR_RETURN(UniqueFd next, ToMemory(content));
  if (*fd < 0) {
    *fd = next.Release();
  } else if (dup3(next.get(), *fd, O_CLOEXEC) < 0) {
    return ErrnoStatus(errno, "dup3");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<TlsMaterial>> TlsMaterial::Load(const TlsFiles& files) {
  FM_RETURN_IF_ERROR(CheckTlsFiles(files));
  std::shared_ptr<TlsMaterial> material(new TlsMaterial(files));
  FM_RETURN_IF_ERROR(material->Refresh().status());
  MutexLock lock(material->mu_);
  material->identity_path_ = absl::StrCat("/proc/self/fd/", material->identity_fd_);
  material->authorities_path_ = absl::StrCat("/proc/self/fd/", material->authorities_fd_);
  return material;
}

absl::StatusOr<TlsMaterial::Content> TlsMaterial::ReadFiles() const {
  Content content;
  FM_ASSIGN_OR_RETURN(content.authorities, ReadFile(files_.ca, kMaxPemBytes));
  FM_ASSIGN_OR_RETURN(content.identity, ReadFile(files_.certificate, kMaxPemBytes));
  if (files_.key != files_.certificate) {
    FM_ASSIGN_OR_RETURN(const std::string key, ReadFile(files_.key, kMaxPemBytes));
    absl::StrAppend(&content.identity, "\n", key);
  }
  if (!files_.crl.empty()) {
    FM_ASSIGN_OR_RETURN(content.crl, ReadFile(files_.crl, kMaxCrlBytes));
  }
  return content;
}

absl::StatusOr<bool> TlsMaterial::Refresh() {
  FM_ASSIGN_OR_RETURN(Content content, ReadFiles());
  MutexLock lock(mu_);
  if (content.identity == content_.identity && content.authorities == content_.authorities &&
      content.crl == content_.crl) {
    return false;
  }
  FM_RETURN_IF_ERROR(Use(content));
  content_ = std::move(content);
  return true;
}

absl::Status TlsMaterial::Use(const Content& content) {
  FM_RETURN_IF_ERROR(Annotate(CheckPair(content.identity, content.identity),
                              absl::StrCat(files_.certificate, " and ", files_.key)));
  const absl::StatusOr<Certificate> own = ReadCertificate(content.identity);
  FM_RETURN_IF_ERROR(Annotate(own.status(), files_.certificate));
  FM_RETURN_IF_ERROR(Annotate(ReadCertificates(content.authorities).status(), files_.ca));
  absl::StatusOr<Revocations> revocations = Revocations();
  if (!files_.crl.empty()) revocations = Revocations::Read(content.crl, content.authorities);
  FM_RETURN_IF_ERROR(Annotate(revocations.status(), files_.crl));
  FM_RETURN_IF_ERROR(Put(content.identity, &identity_fd_));
  FM_RETURN_IF_ERROR(Put(content.authorities, &authorities_fd_));
  own_ = *own;
  revocations_ = *std::move(revocations);
  return absl::OkStatus();
}

bool TlsMaterial::IsRevoked(const Certificate& certificate) const {
  MutexLock lock(mu_);
  return revocations_.Holds(certificate);
}

bool TlsMaterial::RevocationsAreStale(absl::Time now) const {
  MutexLock lock(mu_);
  return revocations_.stale(now);
}

std::string TlsMaterial::identity() const {
  MutexLock lock(mu_);
  return content_.identity;
}

std::string TlsMaterial::authorities() const {
  MutexLock lock(mu_);
  return content_.authorities;
}

Certificate TlsMaterial::own() const {
  MutexLock lock(mu_);
  return own_;
}

}  // namespace fleetmark
