// What the readers of facts share: files under a root, the set of facts found, and who finds what.
//
// Thread-safety: none; one collection owns them.
#ifndef FLEETMARK_AGENT_FACTS_SOURCES_H_
#define FLEETMARK_AGENT_FACTS_SOURCES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/facts/ethtool.h"
#include "agent/gpu/gpu_reader.h"

namespace fleetmark::agent {

// Paths are given from the root on, as "/proc/cpuinfo". Whatever can't be read is as if it weren't there.
class FactSources {
 public:
  explicit FactSources(std::string root);

  std::optional<std::string> Text(std::string_view path) const;  // at most 4 MiB
  std::optional<std::string> Line(std::string_view path) const;  // stripped; nothing when empty
  std::vector<std::string> List(std::string_view folder) const;  // names, sorted, at most 4096
  bool Exists(std::string_view path) const;
  std::optional<std::string> LinkName(std::string_view path) const;  // the last part of a link's target

 private:
  std::string Under(std::string_view path) const;

  const std::string root_;
};

class FactSet {
 public:
  // Value cut to its limit, repaired, stripped; nothing, or an empty one, is no fact.
  void Add(const std::string& name, const std::optional<std::string>& value);
  const std::map<std::string, std::string>& all() const { return facts_; }

 private:
  std::map<std::string, std::string> facts_;
};

// MemTotal, in bytes, of a text like /proc/meminfo, to the nearest 64 MiB: the kernel's own share differs by
// some pages from boot to boot; a module's size doesn't.
std::optional<uint64_t> MemoryTotal(std::string_view meminfo);

// "0-3,8" holds five.
size_t CountOfCpuList(std::string_view list);

// The choice in brackets of "always [madvise] never"; the whole text where there are none.
std::string Bracketed(std::string_view text);

// The value of "key : value" in the first paragraph of such a text.
std::optional<std::string> ValueOf(std::string_view text, std::string_view key);

void AddCpuFacts(const FactSources& sources, FactSet& facts);
void AddMemoryFacts(const FactSources& sources, FactSet& facts);
void AddSystemFacts(const FactSources& sources, FactSet& facts);
void AddDeviceFacts(const FactSources& sources,
                    const std::function<std::optional<NicDriver>(const std::string&)>& nic_driver,
                    FactSet& facts);
void AddGpuFacts(const std::vector<GpuState>& gpus, FactSet& facts);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_FACTS_SOURCES_H_
