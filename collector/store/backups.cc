#include "collector/store/backups.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "collector/store/folder_copy.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr char kNameFormat[] = "%Y%m%dT%H%M%E3SZ";
constexpr std::string_view kNameShape = "00000000T000000.000Z";
constexpr char kUnfinished[] = ".unfinished";

bool IsBackupName(std::string_view name) {
  return name.size() == kNameShape.size() &&
         std::equal(name.begin(), name.end(), kNameShape.begin(), [](char c, char shape) {
           return shape == '0' ? absl::ascii_isdigit(static_cast<unsigned char>(c)) : c == shape;
         });
}

bool IsUnfinished(std::string_view name) {
  constexpr size_t kTail = sizeof kUnfinished - 1;
  return name.ends_with(kUnfinished) && IsBackupName(name.substr(0, name.size() - kTail));
}

// Names in the folder that `wanted` takes, ascending; for backups that is their order in time.
std::vector<std::string> Names(const std::string& folder, bool (*wanted)(std::string_view)) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename();
    if (wanted(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool OnOneFileSystem(const std::string& a, const std::string& b) {
  struct stat one {};
  struct stat other {};
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev;
}

}  // namespace

std::vector<std::string> ListBackups(const std::string& folder) { return Names(folder, IsBackupName); }

Backups::Backups(Options options, Store& store, Clock& clock)
    : options_(std::move(options)), store_(store), clock_(clock) {
  RemoveStaging().IgnoreError();  // Make tries again, and says so
}

absl::Status Backups::RemoveStaging() const {
  FM_RETURN_IF_ERROR(RemoveTree(Staging()));
  return RemoveTree(Staging() + ".tmp");  // RocksDB's own
}

absl::Status Backups::CheckSpace() const {
  struct statvfs fs {};
  if (statvfs(options_.folder.c_str(), &fs) != 0) {
    return ErrnoStatus(errno, absl::StrCat("statvfs ", options_.folder));
  }
  FM_ASSIGN_OR_RETURN(const StoreCounts counts, store_.Counts());
  // Where table files are linked it needs as much as the log and what describes the store, which the reserve
  // covers.
  const uint64_t copied = OnOneFileSystem(options_.store_folder, options_.folder) ? 0 : counts.disk_bytes;
  const uint64_t free_bytes = static_cast<uint64_t>(fs.f_bavail) * fs.f_frsize;
  if (free_bytes >= copied + options_.reserve_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "a backup needs ", (copied + options_.reserve_bytes) >> 20, " MiB free where ", options_.folder,
      " lies (", options_.reserve_bytes >> 20, " of them to remain free), and ", free_bytes >> 20, " are"));
}

absl::StatusOr<Backups::Made> Backups::Make() {
  if (options_.folder.empty()) {
    return absl::FailedPreconditionError(
        "no backups are made: store.backup_dir is not set in the collector's configuration");
  }
  {
    MutexLock lock(mu_);
    if (stopping_) return absl::UnavailableError("the collector is stopping");
    if (making_) return absl::AbortedError("another backup is being made; try again when it is done");
    making_ = true;
  }
  absl::StatusOr<Made> made = MakeAlone();
  MutexLock lock(mu_);
  making_ = false;
  return made;
}

void Backups::Stop() {
  MutexLock lock(mu_);
  stopping_ = true;
}

absl::StatusOr<Backups::Made> Backups::MakeAlone() {
  if (const absl::Status status = MakeFolders(options_.folder, 0750); !status.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("store.backup_dir: ", Message(status)));
  }
  FM_RETURN_IF_ERROR(RemoveStaging());
  for (const std::string& name : Names(options_.folder, IsUnfinished)) {
    FM_RETURN_IF_ERROR(RemoveTree(absl::StrCat(options_.folder, "/", name)));
  }
  FM_RETURN_IF_ERROR(CheckSpace());

  Made made;
  made.time = clock_.Now();
  made.folder =
      absl::StrCat(options_.folder, "/", absl::FormatTime(kNameFormat, made.time, absl::UTCTimeZone()));
  const std::string unfinished = absl::StrCat(made.folder, kUnfinished);
  FM_RETURN_IF_ERROR(store_.Backup(Staging()));
  const absl::StatusOr<CopiedFolder> copied = CopyStoreFolder(Staging(), unfinished, [this] {
    MutexLock lock(mu_);
    return !stopping_;
  });
  FM_RETURN_IF_ERROR(RemoveStaging());
  FM_RETURN_IF_ERROR(Annotate(copied.status(), "copying the backup"));
  if (rename(unfinished.c_str(), made.folder.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("rename ", unfinished));
  }
  FM_RETURN_IF_ERROR(SyncFolder(options_.folder));
  made.files = copied->files;
  made.bytes = copied->bytes;
  made.linked = copied->linked > 0;

  std::vector<std::string> all = ListBackups(options_.folder);
  for (size_t i = 0; i + options_.kept < all.size(); ++i) {
    FM_RETURN_IF_ERROR(RemoveTree(absl::StrCat(options_.folder, "/", all[i])));
    made.removed.push_back(std::move(all[i]));
  }
  return made;
}

}  // namespace fleetmark::collector
