// Asks a collector for the node's certificate, over gRPC: the first with a token, the next with the last.
//
// Thread-safety: Renewal belongs to its thread and its owner; the functions have no state. Calls block up to
// half a minute.
// Errors: Unavailable and DeadlineExceeded when no collector answers; PermissionDenied when one refuses;
// those of TakeCertificate.
#ifndef FLEETMARK_AGENT_JOIN_JOIN_CLIENT_H_
#define FLEETMARK_AGENT_JOIN_JOIN_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/periodic_thread.h"
#include "common/net/endpoint.h"
#include "common/net/tls_material.h"

namespace fleetmark::agent {

// Joins by the collector at `address` (authority.listen of its configuration) and writes the files.
absl::Status JoinFleet(const std::string& address, const std::string& token, const std::string& node,
                       const TlsFiles& files, Clock& clock);

// Looks after the agent's certificate: takes changed files, and renews what the collector made before it
// ends. It looks once a minute, or forty times in a shorter life, and what failed is tried again then.
// Ownership: owns its thread.
class CertificateRenewal {
 public:
  struct Options {
    std::string node;
    std::vector<std::string> collectors;  // tried in turn
    TlsFiles files;
  };
  CertificateRenewal(Options options, std::shared_ptr<TlsMaterial> material, Clock& clock);
  ~CertificateRenewal();

  void Stop();

 private:
  void Look();
  absl::Status Renew();

  const Options options_;
  const std::shared_ptr<TlsMaterial> material_;
  Clock& clock_;
  std::string fault_;  // told last; of the thread
  PeriodicThread thread_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_JOIN_JOIN_CLIENT_H_
