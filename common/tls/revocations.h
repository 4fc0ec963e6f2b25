// Which certificates were taken back: read from lists (CRL) in PEM, each signed by one of the authorities.
//
// A list past its nextUpdate is still used, since to refuse everybody on the day a job that writes it fails
// would be worse; stale() tells, and the daemon warns. Lists of several authorities may stand in one file.
//
// Thread-safety: constant once read.
#ifndef FLEETMARK_COMMON_TLS_REVOCATIONS_H_
#define FLEETMARK_COMMON_TLS_REVOCATIONS_H_

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/tls/authority.h"
#include "common/tls/certificate.h"

namespace fleetmark {

class Revocations {
 public:
  // InvalidArgument for what is no list; PermissionDenied for one that none of the authorities signed.
  static absl::StatusOr<Revocations> Read(std::string_view crl_pem, std::string_view authorities_pem);

  bool Holds(const Certificate& certificate) const {
    return revoked_.count({certificate.issuer, certificate.serial}) != 0;
  }
  bool stale(absl::Time now) const { return next_update_ < now; }
  // Everything listed, for an authority that makes its next list.
  const std::vector<Revoked>& entries() const { return entries_; }

 private:
  std::set<std::pair<std::string, std::string>> revoked_;  // issuer, serial
  std::vector<Revoked> entries_;
  absl::Time next_update_ = absl::InfiniteFuture();  // the earliest
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_TLS_REVOCATIONS_H_
