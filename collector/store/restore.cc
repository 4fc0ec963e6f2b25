#include "collector/store/restore.h"

#include <errno.h>
#include <stdio.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "collector/store/database.h"
#include "collector/store/folder_copy.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

namespace fs = std::filesystem;

constexpr char kCopy[] = "restored_copy";
constexpr char kAside[] = "before_restore_";

// What belongs to the store's folder whichever store is in it: what waits to be sent on, what an earlier
// restore moved aside, and what the file system itself makes.
bool Stays(std::string_view name) {
  return name == Database::kRestoreMark || name == kCopy || name == "remote_write" || name == "lost+found" ||
         name.starts_with(kAside);
}

absl::StatusOr<std::vector<std::string>> Entries(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename());
  }
  if (error) return absl::UnavailableError(absl::StrCat("reading folder ", folder, ": ", error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status Move(const std::string& from, const std::string& to, const std::string& name) {
  const std::string path = absl::StrCat(from, "/", name);
  if (rename(path.c_str(), absl::StrCat(to, "/", name).c_str()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("move ", path));
}

bool Inside(const std::string& inner, const std::string& outer) {
  std::error_code error;
  const fs::path in = fs::weakly_canonical(inner, error);
  const fs::path out = fs::weakly_canonical(outer, error);
  return std::mismatch(out.begin(), out.end(), in.begin(), in.end()).first == out.end();
}

class Restore {
 public:
  explicit Restore(const RestoreOptions& options)
      : options_(options),
        copy_(absl::StrCat(options.folder, "/", kCopy)),
        mark_(absl::StrCat(options.folder, "/", Database::kRestoreMark)) {}

  absl::StatusOr<RestoreReport> Run(IntegrityReport* problems) {
    RestoreReport report;
    FM_RETURN_IF_ERROR(CheckPlaces());
    FM_ASSIGN_OR_RETURN(report.checked, CheckStore(options_.backup));
    if (!report.checked.whole()) {
      *problems = std::move(report.checked);
      return absl::DataLossError(
          absl::StrCat(options_.backup,
                       " is damaged, so nothing was changed; take another backup, or repair "
                       "a copy of it"));
    }
    FM_RETURN_IF_ERROR(RemoveTree(copy_));
    FM_ASSIGN_OR_RETURN(const CopiedFolder copied,
                        CopyStoreFolder(options_.backup, copy_, [] { return true; }));
    report.files = copied.files;
    report.bytes = copied.bytes;
    FM_RETURN_IF_ERROR(ReplaceFile(mark_, absl::StrCat("restoring ", options_.backup, "\n"), 0640));
    FM_ASSIGN_OR_RETURN(report.moved_aside, MoveAside());
    FM_RETURN_IF_ERROR(MoveIn());
    return report;
  }

 private:
  absl::Status CheckPlaces() {
    std::error_code error;
    if (!fs::exists(absl::StrCat(options_.backup, "/CURRENT"), error)) {
      return absl::NotFoundError(absl::StrCat(options_.backup, " is not a backup: it has no file CURRENT"));
    }
    if (Inside(options_.backup, options_.folder) || Inside(options_.folder, options_.backup)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the backup ", options_.backup, " must not lie in the store's folder, nor that in it"));
    }
    FM_RETURN_IF_ERROR(MakeFolders(options_.folder, 0750));
    FM_RETURN_IF_ERROR(Database::CheckUnused(options_.folder));
    FM_ASSIGN_OR_RETURN(const std::vector<std::string> names, Entries(options_.folder));
    const bool interrupted = fs::exists(mark_, error);  // then it was allowed, or the folder was empty
    if (options_.move_aside || interrupted || std::all_of(names.begin(), names.end(), Stays))
      return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(options_.folder, " is not empty; --move_aside moves what is there to a folder in it"));
  }

  absl::StatusOr<std::string> MoveAside() {
    FM_ASSIGN_OR_RETURN(std::vector<std::string> names, Entries(options_.folder));
    std::erase_if(names, Stays);
    if (names.empty()) return std::string();
    const std::string aside = absl::StrCat(options_.folder, "/", kAside, options_.time_name);
    FM_RETURN_IF_ERROR(MakeFolders(aside, 0750));
    for (const std::string& name : names) FM_RETURN_IF_ERROR(Move(options_.folder, aside, name));
    FM_RETURN_IF_ERROR(SyncFolder(aside));
    FM_RETURN_IF_ERROR(SyncFolder(options_.folder));
    return aside;
  }

  absl::Status MoveIn() {
    FM_ASSIGN_OR_RETURN(const std::vector<std::string> names, Entries(copy_));
    for (const std::string& name : names) FM_RETURN_IF_ERROR(Move(copy_, options_.folder, name));
    FM_RETURN_IF_ERROR(SyncFolder(options_.folder));
    FM_RETURN_IF_ERROR(RemoveTree(copy_));
    if (remove(mark_.c_str()) != 0) return ErrnoStatus(errno, absl::StrCat("remove ", mark_));
    return SyncFolder(options_.folder);
  }

  const RestoreOptions& options_;
  const std::string copy_;
  const std::string mark_;
};

}  // namespace

absl::StatusOr<RestoreReport> RestoreStore(const RestoreOptions& options, IntegrityReport* problems) {
  return Restore(options).Run(problems);
}

}  // namespace fleetmark::collector
