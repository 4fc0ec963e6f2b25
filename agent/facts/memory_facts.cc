// Memory: its size, modules, nodes and pages.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "agent/facts/smbios.h"
#include "agent/facts/sources.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMaxNumaNodes = 64;

std::optional<std::string> Total(const FactSources& sources, const std::string& path) {
  const auto bytes = MemoryTotal(sources.Text(path).value_or(""));
  if (!bytes.has_value()) return std::nullopt;
  return absl::StrCat(*bytes);
}

void AddPages(const FactSources& sources, FactSet& facts) {
  facts.Add("memory.hugepages", sources.Line("/proc/sys/vm/nr_hugepages"));  // of the default size
  if (const auto thp = sources.Line("/sys/kernel/mm/transparent_hugepage/enabled")) {
    facts.Add("memory.thp", Bracketed(*thp));
  }
  const std::string folder = "/sys/kernel/mm/hugepages";
  for (const std::string& name : sources.List(folder)) {
    absl::string_view size = name;
    if (!absl::ConsumePrefix(&size, "hugepages-")) continue;
    facts.Add(absl::StrCat("memory.hugepages.", size),
              sources.Line(absl::StrCat(folder, "/", name, "/nr_hugepages")));
  }
}

void AddNumaNodes(const FactSources& sources, FactSet& facts) {
  const std::string folder = "/sys/devices/system/node";
  size_t nodes = 0;
  for (const std::string& name : sources.List(folder)) {
    const bool is_node = absl::StartsWith(name, "node") && name.size() > 4 &&
                         name.find_first_not_of("0123456789", 4) == std::string::npos;
    if (!is_node || ++nodes > kMaxNumaNodes) continue;
    facts.Add(absl::StrCat("numa.", name, ".memory"),
              Total(sources, absl::StrCat(folder, "/", name, "/meminfo")));
    facts.Add(absl::StrCat("numa.", name, ".cpus"),
              sources.Line(absl::StrCat(folder, "/", name, "/cpulist")));
  }
}

void AddModules(const FactSources& sources, FactSet& facts) {
  const auto table = sources.Text("/sys/firmware/dmi/tables/DMI");  // root's alone
  if (!table.has_value()) return;
  const MemoryModules modules = ReadMemoryModules(*table);
  if (modules.count == 0) return;
  facts.Add("memory.modules", absl::StrCat(modules.count));
  facts.Add("memory.modules.slots", absl::StrCat(modules.slots));
  facts.Add("memory.modules.size", modules.sizes);
  facts.Add("memory.modules.type", modules.types);
  facts.Add("memory.modules.speed", modules.speeds);
  facts.Add("memory.modules.part", modules.parts);
}

}  // namespace

void AddMemoryFacts(const FactSources& sources, FactSet& facts) {
  facts.Add("memory.total", Total(sources, "/proc/meminfo"));
  AddPages(sources, facts);
  AddNumaNodes(sources, facts);
  AddModules(sources, facts);
}

}  // namespace fleetmark::agent
