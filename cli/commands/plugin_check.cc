#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"

#include "cli/commands/commands.h"
#include "cli/commands/run_report.h"
#include "cli/output/text.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/run/check.h"
#include "common/run/process_runner.h"

namespace fleetmark::cli {
namespace {

// A private folder in $TMPDIR, removed with everything in it.
class TemporaryFolder {
 public:
  static absl::StatusOr<TemporaryFolder> Make() {
    const char* root = getenv("TMPDIR");
    std::string path = absl::StrCat(root == nullptr || *root == '\0' ? "/tmp" : root, "/fleetmark-XXXXXX");
    if (mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, absl::StrCat("make a folder like ", path));
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    if (!path_.empty()) RemoveTree(path_).IgnoreError();  // it is in /tmp: nothing else can be done
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// fleetmark-launch is installed beside this program.
absl::StatusOr<std::string> LauncherPath() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return absl::InternalError(absl::StrCat("read /proc/self/exe: ", error.message()));
  const std::string path = (self.parent_path() / "fleetmark-launch").string();
  if (access(path.c_str(), X_OK) != 0) {
    return ErrnoStatus(errno, absl::StrCat(path, ", which runs plugins and belongs beside this program"));
  }
  return path;
}

void PrintReport(const PluginCheck& check, const Output& output) {
  for (const PluginCheck::Line& line : check.lines) {
    const std::string mark = line.ok ? "ok    " : "wrong ";
    const Look look = line.ok ? Look::kGood : Look::kBad;
    output.Say(absl::StrCat(output.color() ? Colored(mark, look) : mark, Printable(line.text)));
  }
  if (output.csv()) output.Print(MetricsTable(check.run), "");
  if (!check.ok() && !check.run.log_tail().empty()) {
    output.Say("\nIts log:");
    output.Say(Printable(check.run.log_tail(), /*keep_lines=*/true));
  }
}

}  // namespace

CommandResult CheckPluginFolder(const PluginCheckOptions& options, const Output& output, Clock& clock) {
  std::error_code error;
  if (!std::filesystem::is_directory(options.folder, error)) {
    return absl::NotFoundError(
        absl::StrCat(options.folder, " is not a folder; `fleetmark plugin new` makes one"));
  }
  // The folder's name is the plugin's, so "." must become its real name.
  const std::string folder = std::filesystem::canonical(options.folder, error).string();
  FM_ASSIGN_OR_RETURN(const std::string launcher, LauncherPath());
  FM_ASSIGN_OR_RETURN(const TemporaryFolder work_root, TemporaryFolder::Make());
  ProcessRunner runner({.launcher = launcher}, clock);
  CancelToken cancel;
  const PluginCheck check = CheckPlugin(folder, work_root.path(), runner, clock, cancel);
  if (output.json()) {
    FM_RETURN_IF_ERROR(output.Json(check.run));
  } else {
    PrintReport(check, output);
    output.Say(check.ok() ? "\nThe plugin is fine." : "\nThe plugin is not fine yet.");
  }
  return check.ok() ? kExitOk : kExitProblem;
}

}  // namespace fleetmark::cli
