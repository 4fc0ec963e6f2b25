#include "collector/fleet/node_class.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace fleetmark::collector {
namespace {

constexpr std::array<const char*, 9> kHardware = {"cpu.model",       "cpu.count",        "cpu.sockets",
                                                  "hardware.vendor", "hardware.product", "memory.total",
                                                  "gpu.count",       "gpu.model",        "numa.nodes"};
constexpr std::array<const char*, 3> kRackLabels = {"rack", "topology.kubernetes.io/rack", "topology/rack"};
// Ends of names whose values identify one machine or part.
constexpr std::array<const char*, 9> kIdentities = {".uuid", ".pci",       ".serial", "hostname", ".address",
                                                    ".mac",  "machine_id", ".guid",   "boot_id"};

bool Identifies(const std::string& name) {
  return std::any_of(kIdentities.begin(), kIdentities.end(),
                     [&](const char* end) { return absl::EndsWith(name, end); });
}

}  // namespace

std::string AttributeName(const std::string& fact) {
  const size_t dot = fact.find('.');
  size_t end = dot == std::string::npos ? fact.size() : dot;
  while (end > 0 && std::isdigit(static_cast<unsigned char>(fact[end - 1])) != 0) --end;
  if (end == 0 || dot == std::string::npos) return fact;
  return fact.substr(0, end) + fact.substr(dot);
}

Attributes NodeAttributes(const v1::Node& node) {
  Attributes attributes;
  std::set<std::string> mixed;  // numbered devices that do not agree
  for (const v1::Fact& fact : node.facts()) {
    if (Identifies(fact.name())) continue;
    const std::string name = AttributeName(fact.name());
    const auto [it, inserted] = attributes.emplace(name, fact.value());
    if (!inserted && it->second != fact.value()) mixed.insert(name);
  }
  for (const std::string& name : mixed) attributes.erase(name);
  for (const v1::Fact& fact : node.facts()) {
    if (mixed.contains(AttributeName(fact.name())) && !Identifies(fact.name())) {
      attributes.emplace(fact.name(), fact.value());
    }
  }
  attributes["class"] = NodeClass(node);
  if (!node.agent_version().empty()) attributes["agent"] = node.agent_version();
  for (const auto& [name, value] : node.identity().labels()) attributes[name] = value;
  return attributes;
}

std::string NodeClass(const v1::Node& node) {
  if (const auto it = node.identity().labels().find("class"); it != node.identity().labels().end()) {
    return it->second;
  }
  std::set<std::string> hardware;  // "gpu.model A100" once for eight of them
  for (const v1::Fact& fact : node.facts()) {
    const std::string name = AttributeName(fact.name());
    const bool counts =
        std::any_of(kHardware.begin(), kHardware.end(), [&](const char* known) { return name == known; });
    if (counts) hardware.insert(absl::StrCat(name, " ", fact.value()));
  }
  if (hardware.empty()) return "unknown";
  std::string text;
  for (const std::string& fact : hardware) absl::StrAppend(&text, text.empty() ? "" : ", ", fact);
  return text;
}

std::string NodeRack(const v1::Node& node) {
  for (const char* label : kRackLabels) {
    const auto it = node.identity().labels().find(label);
    if (it != node.identity().labels().end()) return it->second;
  }
  return "";
}

}  // namespace fleetmark::collector
