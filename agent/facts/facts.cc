#include "agent/facts/facts.h"

#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "agent/facts/fact_file.h"
#include "agent/facts/sources.h"
#include "common/base/digest.h"
#include "common/base/ulid.h"
#include "common/obs/log.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kDigestDigits = 16;

// gpu.count, gpu0.model, …
bool IsOfGpu(const std::string& name) {
  const size_t end = name.find_first_not_of("0123456789", 3);
  return absl::StartsWith(name, "gpu") && end != std::string::npos && name[end] == '.';
}

std::map<std::string, std::string> ByName(absl::Span<const v1::Fact> facts) {
  std::map<std::string, std::string> by_name;
  for (const v1::Fact& fact : facts) by_name.emplace(fact.name(), fact.value());
  return by_name;
}

v1::Event Changed(const std::string& name, const std::string& before, const std::string& after,
                  std::string message) {
  v1::Event event;
  event.set_kind(v1::Event::KIND_FACT_CHANGED);
  event.set_subject(name);
  event.set_old_value(before);
  event.set_new_value(after);
  event.set_message(std::move(message));
  event.set_author("agent");
  return event;
}

}  // namespace

std::vector<v1::Fact> FactCollector::Collect(absl::Span<const v1::Fact> last) {
  const FactSources sources(options_.root);
  FactSet set;
  AddCpuFacts(sources, set);
  AddMemoryFacts(sources, set);
  AddSystemFacts(sources, set);
  AddDeviceFacts(sources, options_.nic_driver, set);
  AddGpus(last, set);
  const auto image = options_.image_digest.empty() ? sources.Line(kImageDigestFile) : options_.image_digest;
  set.Add("container.image_digest", image);
  // Last: what the node says of itself comes before what a file says of it.
  for (const FactFile& file : options_.files) Tell(file.path, AddFileFacts(file.path, file.prefix, set));
  std::vector<v1::Fact> facts;
  for (const auto& [name, value] : set.all()) {
    v1::Fact& fact = facts.emplace_back();
    fact.set_name(name);
    fact.set_value(value);
  }
  return facts;
}

void FactCollector::AddGpus(absl::Span<const v1::Fact> last, FactSet& facts) {
  if (!options_.gpus) return;
  const absl::StatusOr<std::vector<GpuState>> gpus = options_.gpus();
  Tell("GPUs", gpus.status());
  if (gpus.ok()) return AddGpuFacts(*gpus, facts);
  for (const v1::Fact& fact : last) {
    if (IsOfGpu(fact.name())) facts.Add(fact.name(), fact.value());
  }
}

void FactCollector::Tell(const std::string& source, const absl::Status& status) {
  if (status.ok()) {
    told_.erase(source);
  } else if (told_.insert(source).second) {
    LogWarn("facts can't be read", {{"source", source}, {"status", status}});
  }
}

std::vector<v1::Fact> CollectFacts(const FactsOptions& options) { return FactCollector(options).Collect(); }

absl::StatusOr<std::string> BootId(const FactsOptions& options) {
  std::optional<std::string> id = FactSources(options.root).Line("/proc/sys/kernel/random/boot_id");
  if (!id.has_value()) return absl::NotFoundError("/proc/sys/kernel/random/boot_id can't be read");
  return *std::move(id);
}

std::vector<Gpu> GpusOf(absl::Span<const v1::Fact> facts, absl::Span<const std::string> names) {
  const std::map<std::string, std::string> values = ByName(facts);
  const auto find = [&](const std::string& gpu) -> std::optional<Gpu> {
    const auto pci = values.find(gpu + ".pci");
    if (pci == values.end()) return std::nullopt;
    const auto text = [&](const char* key) {
      const auto it = values.find(gpu + key);
      return it == values.end() ? "" : it->second;
    };
    return Gpu{gpu, text(".vendor"), text(".uuid"), pci->second};
  };
  std::vector<Gpu> gpus;
  for (const std::string& name : names) {
    std::optional<Gpu> gpu = find(name);
    if (!gpu.has_value()) return {};
    gpus.push_back(*std::move(gpu));
  }
  for (size_t i = 0; names.empty(); ++i) {
    std::optional<Gpu> gpu = find(absl::StrCat("gpu", i));
    if (!gpu.has_value()) break;
    gpus.push_back(*std::move(gpu));
  }
  return gpus;
}

std::string FactsDigest(absl::Span<const v1::Fact> facts) {
  std::string text;
  for (const auto& [name, value] : ByName(facts)) absl::StrAppend(&text, name, "=", value, "\n");
  return Sha256Hex(text).substr(0, kDigestDigits);
}

std::vector<v1::Event> DiffFacts(absl::Span<const v1::Fact> before, absl::Span<const v1::Fact> after,
                                 const std::string& node, absl::Time now) {
  const std::map<std::string, std::string> olds = ByName(before);
  const std::map<std::string, std::string> news = ByName(after);
  std::map<std::string, v1::Event> events;
  for (const auto& [name, value] : olds) {
    const auto it = news.find(name);
    if (it == news.end()) {
      events[name] = Changed(name, value, "", absl::StrCat(name, " is gone; it was ", value));
    } else if (it->second != value) {
      events[name] =
          Changed(name, value, it->second, absl::StrCat(name, " changed from ", value, " to ", it->second));
    }
  }
  for (const auto& [name, value] : news) {
    if (olds.count(name) == 0)
      events[name] = Changed(name, "", value, absl::StrCat(name, " is new: ", value));
  }
  std::vector<v1::Event> sorted;
  for (auto& [name, event] : events) {
    event.set_event_id(NewUlid(now));
    event.set_time_unix_ns(absl::ToUnixNanos(now));
    event.set_node(node);
    sorted.push_back(std::move(event));
  }
  return sorted;
}

}  // namespace fleetmark::agent
