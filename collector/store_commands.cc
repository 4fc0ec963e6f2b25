#include "collector/store_commands.h"

#include <cinttypes>
#include <cstdio>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "collector/store/integrity.h"
#include "collector/store/restore.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/daemon/program.h"

ABSL_FLAG(bool, move_aside, false,
          "restore: move what is in the data folder to a folder in it instead of refusing");

namespace fleetmark::collector {
namespace {

int Check(const std::string& folder) {
  const auto report = CheckStore(folder);
  if (!report.ok()) return Fail(report.status(), kExitData);
  for (const std::string& problem : report->problems) printf("%s\n", problem.c_str());
  if (report->more_problems > 0) printf("and %" PRIu64 " more\n", report->more_problems);
  printf("%s: %" PRIu64 " files, %" PRIu64 " series, %" PRIu64 " chunk columns, %" PRIu64 " rows, %" PRIu64
         " runs: %s\n",
         folder.c_str(), report->files, report->series, report->chunk_columns, report->rows, report->runs,
         report->whole() ? "whole" : "damaged");
  return report->whole() ? kExitOk : kExitData;
}

int Repair(const std::string& folder) {
  const auto report = RepairStore(folder);
  if (!report.ok()) return Fail(report.status(), kExitData);
  for (const RepairReport::File& file : report->quarantined) {
    printf("lost: %s, %" PRIu64 " bytes, %" PRIu64 " entries of %s: %s\n", file.name.c_str(), file.bytes,
           file.entries, file.family.empty() ? "an unknown family" : file.family.c_str(),
           file.problem.c_str());
  }
  if (!report->quarantine.empty()) printf("the damaged files are in %s\n", report->quarantine.c_str());
  printf("%" PRIu64 " entries that made no sense without what is lost were dropped\n",
         report->entries_dropped);
  return kExitOk;
}

int Restore(const std::string& backup, const CollectorConfig& config) {
  RestoreOptions options;
  options.backup = backup;
  options.folder = config.data_dir;
  options.move_aside = absl::GetFlag(FLAGS_move_aside);
  options.time_name = absl::FormatTime("%Y%m%dT%H%M%E3SZ", RealClock().Now(), absl::UTCTimeZone());
  IntegrityReport problems;
  const auto report = RestoreStore(options, &problems);
  for (const std::string& problem : problems.problems) printf("%s\n", problem.c_str());
  if (!report.ok()) return Fail(report.status(), kExitData);
  if (!report->moved_aside.empty()) printf("what was there is in %s\n", report->moved_aside.c_str());
  printf("restored %s: %" PRIu64 " series, %" PRIu64 " runs, %" PRIu64 " files, %" PRIu64 " bytes\n",
         backup.c_str(), report->checked.series, report->checked.runs, report->files, report->bytes);
  return kExitOk;
}

int Compact(const std::string& folder) {
  Store::Options options;
  options.folder = folder;
  const auto store = Store::Open(options);
  if (!store.ok()) return Fail(store.status(), kExitData);
  if (const absl::Status status = (*store)->Compact(); !status.ok()) return Fail(status, kExitFailed);
  return kExitOk;
}

}  // namespace

int RunStoreCommand(const std::vector<std::string>& arguments, const CollectorConfig& config) {
  if (arguments.size() == 1 && arguments[0] == "check") return Check(config.data_dir);
  if (arguments.size() == 1 && arguments[0] == "repair") return Repair(config.data_dir);
  if (arguments.size() == 1 && arguments[0] == "compact") return Compact(config.data_dir);
  if (arguments.size() == 2 && arguments[0] == "restore") return Restore(arguments[1], config);
  return Fail(
      absl::InvalidArgumentError("the commands are check, repair, compact, restore BACKUP, ca and token"),
      kExitUsage);
}

}  // namespace fleetmark::collector
