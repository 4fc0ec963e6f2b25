// Kernel, operating system, and whether this is a virtual machine or a container.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "agent/facts/sources.h"

namespace fleetmark::agent {
namespace {

std::optional<std::string> OsRelease(const FactSources& sources) {
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    const auto text = sources.Text(path);
    if (!text.has_value()) continue;
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      if (!absl::ConsumePrefix(&line, "PRETTY_NAME=")) continue;
      if (line.size() >= 2 && line.front() == line.back() && (line[0] == '"' || line[0] == '\'')) {
        line = line.substr(1, line.size() - 2);
      }
      return std::string(line);
    }
  }
  return std::nullopt;
}

std::optional<std::string> Container(const FactSources& sources) {
  const std::string groups = sources.Text("/proc/self/cgroup").value_or("");
  if (absl::StrContains(groups, "kubepods") || sources.Exists("/var/run/secrets/kubernetes.io"))
    return "kubernetes";
  if (sources.Exists("/.dockerenv") || absl::StrContains(groups, "/docker")) return "docker";
  if (sources.Exists("/run/.containerenv") || absl::StrContains(groups, "libpod")) return "podman";
  if (absl::StrContains(groups, "/lxc")) return "lxc";
  return std::nullopt;
}

void AddHardware(const FactSources& sources, FactSet& facts) {
  facts.Add("hardware.vendor", sources.Line("/sys/class/dmi/id/sys_vendor"));
  facts.Add("hardware.product", sources.Line("/sys/class/dmi/id/product_name"));
  facts.Add("hardware.bios", sources.Line("/sys/class/dmi/id/bios_version"));
  const std::string flags =
      absl::StrCat(" ", ValueOf(sources.Text("/proc/cpuinfo").value_or(""), "flags").value_or(""), " ");
  if (const auto type = sources.Line("/sys/hypervisor/type")) {
    facts.Add("virtualization", type);
  } else if (absl::StrContains(flags, " hypervisor ")) {
    facts.Add("virtualization", "virtual machine");
  }
}

}  // namespace

void AddSystemFacts(const FactSources& sources, FactSet& facts) {
  facts.Add("kernel.release", sources.Line("/proc/sys/kernel/osrelease"));
  facts.Add("kernel.cmdline", sources.Line("/proc/cmdline"));
  facts.Add("kernel.clocksource",
            sources.Line("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
  facts.Add("os.release", OsRelease(sources));
  const auto container = Container(sources);
  facts.Add("container", container);
  // A container's host name is made up anew with each container.
  if (!container.has_value()) facts.Add("os.hostname", sources.Line("/proc/sys/kernel/hostname"));
  AddHardware(sources, facts);
}

}  // namespace fleetmark::agent
