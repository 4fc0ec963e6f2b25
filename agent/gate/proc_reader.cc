#include "agent/gate/proc_reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "common/base/file.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMaxFileBytes = 8 << 20;

bool IsPid(const std::string& name) { return !name.empty() && name[0] >= '1' && name[0] <= '9'; }

pid_t ToPid(absl::string_view text) {
  int pid = 0;
  return absl::SimpleAtoi(text, &pid) ? pid : 0;
}

// `roots` and all that descends from them, by what `add_children` appends. Nothing when it returns false.
template <typename AddChildren>
std::optional<std::set<pid_t>> Closure(const std::vector<pid_t>& roots, const AddChildren& add_children) {
  std::set<pid_t> found;
  std::vector<pid_t> open = roots;
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    if (found.insert(pid).second && !add_children(pid, open)) return std::nullopt;
  }
  return found;
}

}  // namespace

std::optional<std::vector<std::string>> FolderNames(const std::string& path, size_t max) {
  DIR* dir = opendir(path.c_str());
  if (dir == nullptr) return std::nullopt;
  std::vector<std::string> names;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && names.size() < max) names.push_back(name);
  }
  closedir(dir);
  return names;
}

ProcReader::ProcReader(std::string root) : proc_(std::move(root) + "/proc/") {}

std::optional<std::string> ProcReader::Text(const std::string& path) const {
  absl::StatusOr<std::string> text = ReadFile(proc_ + path, kMaxFileBytes);
  if (!text.ok()) return std::nullopt;
  return *std::move(text);
}

std::optional<CpuTimes> ProcReader::Cpu() const {
  const std::optional<std::string> text = Text("stat");
  if (!text.has_value() || !absl::StartsWith(*text, "cpu ")) return std::nullopt;
  const std::string line = text->substr(0, text->find('\n'));
  std::vector<int64_t> ticks;
  for (absl::string_view field : absl::StrSplit(line.substr(4), ' ', absl::SkipEmpty())) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(field, &value)) return std::nullopt;
    ticks.push_back(value);
  }
  // user nice system idle [iowait irq softirq steal]; guest is in user already.
  if (ticks.size() < 4) return std::nullopt;
  CpuTimes times;
  times.user = ticks[0] + ticks[1];
  times.system = ticks[2];
  for (size_t i = 0; i < ticks.size() && i < 8; ++i) times.total += ticks[i];
  return times;
}

std::optional<double> ProcReader::Pressure(const std::string& resource) const {
  const std::optional<std::string> text = Text(absl::StrCat("pressure/", resource));
  if (!text.has_value()) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (!absl::ConsumePrefix(&line, "some avg10=")) continue;
    double percent = 0;
    if (absl::SimpleAtod(line.substr(0, line.find(' ')), &percent)) return percent / 100;
  }
  return std::nullopt;
}

std::optional<ProcessStat> ProcReader::Read(pid_t pid) const {
  const std::optional<std::string> text = Text(absl::StrCat(pid, "/stat"));
  if (!text.has_value()) return std::nullopt;
  // "pid (name) state parent …": the name may hold anything, also ')'.
  const size_t open = text->find('(');
  const size_t close = text->rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  const std::vector<std::string> fields = absl::StrSplit(text->substr(close + 1), ' ', absl::SkipEmpty());
  // From the state on: 1 parent, 11 to 14 utime stime cutime cstime, 19 start.
  if (fields.size() < 20) return std::nullopt;
  ProcessStat process;
  process.pid = pid;
  process.name = text->substr(open + 1, close - open - 1);
  process.state = fields[0][0];
  process.parent = ToPid(fields[1]);
  int64_t user = 0, system = 0, children_user = 0, children_system = 0;
  if (!absl::SimpleAtoi(fields[11], &user) || !absl::SimpleAtoi(fields[12], &system) ||
      !absl::SimpleAtoi(fields[13], &children_user) || !absl::SimpleAtoi(fields[14], &children_system) ||
      !absl::SimpleAtoi(fields[19], &process.start)) {
    return std::nullopt;
  }
  process.user = user + children_user;
  process.system = system + children_system;
  return process;
}

std::vector<pid_t> ProcReader::All() const {
  std::vector<pid_t> pids;
  for (const std::string& name : FolderNames(proc_).value_or(std::vector<std::string>())) {
    if (IsPid(name)) pids.push_back(ToPid(name));
  }
  return pids;
}

bool ProcReader::AddChildren(pid_t pid, std::vector<pid_t>& out) const {
  // Each thread has a list of the children that it started.
  const std::string tasks = absl::StrCat(pid, "/task");
  const auto threads = FolderNames(proc_ + tasks);
  if (!threads.has_value()) return true;  // it has ended
  bool told = threads->empty();
  for (const std::string& thread : *threads) {
    const std::optional<std::string> text = Text(absl::StrCat(tasks, "/", thread, "/children"));
    if (!text.has_value()) continue;
    told = true;
    for (absl::string_view child : absl::StrSplit(*text, ' ', absl::SkipWhitespace())) {
      if (const pid_t child_pid = ToPid(child); child_pid > 0) out.push_back(child_pid);
    }
  }
  return told;
}

std::vector<pid_t> ProcReader::Children(pid_t pid) const {
  std::vector<pid_t> children;
  if (AddChildren(pid, children)) return children;
  children.clear();
  for (pid_t other : All()) {
    const std::optional<ProcessStat> process = Read(other);
    if (process.has_value() && process->parent == pid) children.push_back(other);
  }
  return children;
}

std::set<pid_t> ProcReader::Tree(const std::vector<pid_t>& roots) const {
  std::optional<std::set<pid_t>> told = Closure(roots, [this](pid_t pid, std::vector<pid_t>& children) {
    // One that ended between the reads looks like a kernel that does not tell.
    return AddChildren(pid, children) || !Read(pid).has_value();
  });
  return told.has_value() ? *std::move(told) : TreeByParents(roots);
}

std::set<pid_t> ProcReader::TreeByParents(const std::vector<pid_t>& roots) const {
  std::multimap<pid_t, pid_t> by_parent;
  for (pid_t pid : All()) {
    if (const std::optional<ProcessStat> process = Read(pid)) by_parent.emplace(process->parent, pid);
  }
  return *Closure(roots, [&by_parent](pid_t pid, std::vector<pid_t>& children) {
    const auto [begin, end] = by_parent.equal_range(pid);
    for (auto it = begin; it != end; ++it) children.push_back(it->second);
    return true;
  });
}

std::optional<std::string> ProcReader::Environment(pid_t pid, const std::string& name) const {
  const std::optional<std::string> text = Text(absl::StrCat(pid, "/environ"));
  if (!text.has_value()) return std::nullopt;
  const std::string prefix = absl::StrCat(name, "=");
  for (absl::string_view entry : absl::StrSplit(*text, '\0')) {
    if (absl::ConsumePrefix(&entry, prefix)) return std::string(entry);
  }
  return std::nullopt;
}

}  // namespace fleetmark::agent
