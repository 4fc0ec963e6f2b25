// Which node a certificate speaks for: the rule by which an agent writes as itself alone.
//
// A rule is KIND:PATTERN, where KIND is `uri`, `dns` (both of the subject's alternative names) or `cn`, and
// PATTERN holds {node} at most once: `uri:spiffe://example.org/fleetmark/{node}`. One without {node} lets its
// holder speak for every node, for sites whose agents share one certificate.
//
// Thread-safety: constant once made.
#ifndef FLEETMARK_COLLECTOR_ACCESS_NODE_NAMES_H_
#define FLEETMARK_COLLECTOR_ACCESS_NODE_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/tls/certificate.h"

namespace fleetmark::collector {

class NodeNames {
 public:
  // Certificates that this collector's authority made are always taken by their URI.
  static absl::StatusOr<NodeNames> Create(const std::vector<std::string>& rules);
  static std::vector<std::string> DefaultRules() { return {"dns:{node}", "cn:{node}"}; }

  // OK when the certificate speaks for `node`; PermissionDenied with what it does speak for.
  absl::Status Check(const Certificate& certificate, const std::string& node) const;

  // Was it made by an authority of ours, for a node? Such a one is never a person's.
  static bool IsNodes(const Certificate& certificate);
  // The node of such a one; empty for others.
  static std::string NodeOf(const Certificate& certificate);

 private:
  enum class Kind { kUri, kDns, kCommonName };
  struct Rule {
    Kind kind;
    std::string before;  // {node}, or the whole
    std::string after;
    bool any_node;
  };
  bool Allows(const Rule& rule, const Certificate& certificate, const std::string& node) const;

  std::vector<Rule> rules_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACCESS_NODE_NAMES_H_
