// The Kubernetes API as far as actions on nodes use it: nodes are read, listed and patched, events are made.
//
// Formats: core/v1 of the API, JSON merge patches (RFC 7386), strategic merge patches for a node's status.
// Each patch carries the resourceVersion that was read, so that it fails with Aborted when the node changed
// meanwhile.
//
// Thread-safety: calls from one thread at a time; `cancelled` may be set from any. Blocks: each request for
// Options::timeout at most. Ownership: `cancelled` must outlive it. Errors: NotFound, PermissionDenied (401
// and 403: no right, or no valid token), Aborted (409), InvalidArgument (the API does not take it, or its
// answer is none), DeadlineExceeded, Unavailable, Cancelled. The token is in no error.
#ifndef FLEETMARK_COLLECTOR_ACTION_KUBE_CLIENT_H_
#define FLEETMARK_COLLECTOR_ACTION_KUBE_CLIENT_H_

#include <atomic>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/action/kube_node.pb.h"

namespace fleetmark::collector {

class KubeClient {
 public:
  struct Options {
    std::string url = "https://kubernetes.default.svc";  // without a path
    // Read anew for each request, since Kubernetes renews it; empty: no token is sent.
    std::string token_file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
    std::string ca_file = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
    absl::Duration timeout = absl::Seconds(20);
  };

  KubeClient(Options options, const std::atomic<bool>& cancelled)
      : options_(std::move(options)), cancelled_(cancelled) {}

  absl::StatusOr<kube::Node> GetNode(const std::string& name);
  absl::StatusOr<std::vector<kube::Node>> ListNodes();
  absl::StatusOr<kube::Node> MergeNode(const std::string& name, const std::string& patch);
  absl::Status PatchNodeStatus(const std::string& name, const std::string& patch);
  absl::Status CreateEvent(const std::string& event);  // in the namespace "default", as those of nodes are

 private:
  // The body of an answer of 200 or 201.
  absl::StatusOr<std::string> Ask(const char* method, const std::string& path, const char* content_type,
                                  const std::string& body);

  const Options options_;
  const std::atomic<bool>& cancelled_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_KUBE_CLIENT_H_
