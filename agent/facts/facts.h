// Facts: what hardware and software this node is, as name and value. They explain changes of performance
// and tell which nodes ought to perform alike.
//
// Only what stays the same while nobody changes the node is a fact. A clock's present frequency, a load, a
// container's host name or a USB stick is none.
//
// Thread-safety: functions without state, and a collector that one thread uses. They read files and so block,
// milliseconds as a rule; with GPUs for as long as their driver takes.
// Errors: what can't be read is left out; nothing fails as a whole.
#ifndef FLEETMARK_AGENT_FACTS_FACTS_H_
#define FLEETMARK_AGENT_FACTS_FACTS_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "agent/facts/ethtool.h"
#include "agent/facts/sources.h"
#include "agent/gpu/gpu_reader.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::agent {

// A file of the operator's with facts of the site, and what their names begin with (fact_file.h).
struct FactFile {
  std::string path;
  std::string prefix;
};

struct FactsOptions {
  std::string root = "/";       // where /proc, /sys and /etc are looked for
  std::vector<FactFile> files;  // not under the root
  std::string image_digest;     // of the agent's container; empty: from kImageDigestFile, if it is there
  std::function<std::optional<NicDriver>(const std::string& nic)> nic_driver = ReadNicDriver;
  std::function<absl::StatusOr<std::vector<GpuState>>()> gpus;  // none: no facts of GPUs
};

inline constexpr char kImageDigestFile[] = "/etc/fleetmark/image-digest";

// Finds the facts again and again. A GPU probe that fails leaves the GPUs as they were the last time, since a
// driver that hangs has not gone; a file that can't be read, or is faulty, is left out and logged once.
//
// Ownership: what the callbacks use outlives it.
class FactCollector {
 public:
  explicit FactCollector(FactsOptions options) : options_(std::move(options)) {}

  // Sorted by name, each name once; within limits::kFactsPerNode and the limits of a fact. `last`: the facts
  // that were found the last time, also by an earlier process.
  std::vector<v1::Fact> Collect(absl::Span<const v1::Fact> last = {});

 private:
  void AddGpus(absl::Span<const v1::Fact> last, FactSet& facts);
  // Logs `status` unless what it says was logged since it was last well.
  void Tell(const std::string& source, const absl::Status& status);

  const FactsOptions options_;
  std::set<std::string> told_;
};

// A new collector's look.
std::vector<v1::Fact> CollectFacts(const FactsOptions& options = {});

// Another one after each boot. Not a fact, since it says nothing of what the node is.
absl::StatusOr<std::string> BootId(const FactsOptions& options = {});

// The GPUs with these names, or all when none is named, as the facts tell them. None at all when the facts
// do not tell one of them: whoever asks must then take any GPU for it.
std::vector<Gpu> GpusOf(absl::Span<const v1::Fact> facts, absl::Span<const std::string> names);

// 16 hex digits: the same for the same facts, whatever their order.
std::string FactsDigest(absl::Span<const v1::Fact> facts);

// One event for each fact that came, went or changed, by name; `old_value` or `new_value` is empty where
// there is none.
std::vector<v1::Event> DiffFacts(absl::Span<const v1::Fact> before, absl::Span<const v1::Fact> after,
                                 const std::string& node, absl::Time now);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_FACTS_FACTS_H_
