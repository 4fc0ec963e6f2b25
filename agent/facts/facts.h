// Facts: what hardware and software this node is, as name and value. They explain changes of performance
// and tell which nodes ought to perform alike.
//
// Only what stays the same while nobody changes the node is a fact. A clock's present frequency, a load, a
// container's host name or a USB stick is none.
//
// Thread-safety: functions without state; they read files and so block, milliseconds as a rule.
// Errors: what can't be read is left out; nothing fails as a whole.
#ifndef FLEETMARK_AGENT_FACTS_FACTS_H_
#define FLEETMARK_AGENT_FACTS_FACTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "fleetmark/v1/types.pb.h"

namespace fleetmark::agent {

struct FactsOptions {
  std::string root = "/";  // where /proc, /sys and /etc are looked for
};

// Sorted by name, each name once; within limits::kFactsPerNode and the limits of a fact.
std::vector<v1::Fact> CollectFacts(const FactsOptions& options = {});

// Another one after each boot. Not a fact, since it says nothing of what the node is.
absl::StatusOr<std::string> BootId(const FactsOptions& options = {});

// 16 hex digits: the same for the same facts, whatever their order.
std::string FactsDigest(absl::Span<const v1::Fact> facts);

// One event for each fact that came, went or changed, by name; `old_value` or `new_value` is empty where
// there is none.
std::vector<v1::Event> DiffFacts(absl::Span<const v1::Fact> before, absl::Span<const v1::Fact> after,
                                 const std::string& node, absl::Time now);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_FACTS_FACTS_H_
