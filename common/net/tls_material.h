// The key, certificates and lists of revoked ones that a daemon uses: its files as they last were good.
//
// gRPC watches files by itself, but takes a half-written or mismatched pair as it comes, and then refuses
// every new connection. So the files are read and checked here, and gRPC watches a copy in memory (memfd), in
// one piece and replaced in one step (dup2).
//
// Thread-safety: all methods, any thread. Ownership: shared by whoever makes credentials of it. Its two
// descriptors stay open for the life of the process, since a thread of gRPC's reads through them until some
// time after the credentials are gone.
// Errors: InvalidArgument for files that are no PEM, a key that is not the certificate's, or a revocation
// list that no authority signed; those of reading a file.
#ifndef FLEETMARK_COMMON_NET_TLS_MATERIAL_H_
#define FLEETMARK_COMMON_NET_TLS_MATERIAL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/base/file.h"
#include "common/base/mutex.h"
#include "common/net/endpoint.h"
#include "common/tls/certificate.h"
#include "common/tls/revocations.h"

namespace fleetmark {

class TlsMaterial {
 public:
  static absl::StatusOr<std::shared_ptr<TlsMaterial>> Load(const TlsFiles& files);

  // Reads the files again. True when something has changed, which is then in use; on an error nothing is.
  absl::StatusOr<bool> Refresh();

  bool IsRevoked(const Certificate& certificate) const;
  // Is the revocation list past the time at which a new one should have come?
  bool RevocationsAreStale(absl::Time now) const;
  // The daemon's own certificate.
  Certificate own() const;

  // In PEM: the key with its certificates, and the authorities.
  std::string identity() const;
  std::string authorities() const;
  // The same as files, for gRPC to watch.
  const std::string& identity_path() const { return identity_path_; }
  const std::string& authorities_path() const { return authorities_path_; }

 private:
  struct Content {
    std::string identity;
    std::string authorities;
    std::string crl;
  };
  explicit TlsMaterial(const TlsFiles& files) : files_(files) {}
  absl::StatusOr<Content> ReadFiles() const;
  absl::Status Use(const Content& content) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const TlsFiles files_;
  mutable Mutex mu_;
  Content content_ ABSL_GUARDED_BY(mu_);
  Certificate own_ ABSL_GUARDED_BY(mu_);
  Revocations revocations_ ABSL_GUARDED_BY(mu_);
  int identity_fd_ ABSL_GUARDED_BY(mu_) = -1;
  int authorities_fd_ ABSL_GUARDED_BY(mu_) = -1;
  std::string identity_path_;     // constant once loaded
  std::string authorities_path_;  // likewise
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_NET_TLS_MATERIAL_H_
