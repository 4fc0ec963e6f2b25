#include "agent/spool/schema.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/base/ulid.h"

namespace fleetmark::agent {
namespace {

constexpr int64_t kFormat = 2;  // PRAGMA user_version

// AUTOINCREMENT: numbers are not used again, even when every record is gone.
constexpr const char* kSchema[] = {
    "CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), epoch BLOB NOT NULL, dropped INTEGER NOT "
    "NULL)",
    "CREATE TABLE records (sequence INTEGER PRIMARY KEY AUTOINCREMENT, rank INTEGER NOT NULL, "
    "time_unix_ns INTEGER NOT NULL, checksum INTEGER NOT NULL, body BLOB NOT NULL)",
    "CREATE INDEX records_by_rank ON records (rank, sequence)",
};

// Of format 2. A run stands here from before it begins until its record is appended.
constexpr const char kStartedTable[] = "CREATE TABLE started (run_id BLOB PRIMARY KEY, body BLOB NOT NULL)";

absl::Status CreateTables(Database& database) {
  return database.Transact([&]() -> absl::Status {
    for (const char* statement : kSchema) FM_RETURN_IF_ERROR(database.Run(statement));
    const std::string epoch = RandomHex128();
    FM_RETURN_IF_ERROR(database.Run("INSERT INTO state VALUES (1, ?, 0)", {std::string_view(epoch)}));
    FM_RETURN_IF_ERROR(database.Run(kStartedTable));
    return database.Run("PRAGMA user_version = 2");
  });
}

absl::Status UpgradeFromFormat1(Database& database) {
  return database.Transact([&]() -> absl::Status {
    FM_RETURN_IF_ERROR(database.Run(kStartedTable));
    return database.Run("PRAGMA user_version = 2");
  });
}

}  // namespace

absl::Status PrepareTables(Database& database) {
  int64_t format = 0;
  FM_RETURN_IF_ERROR(database.Run("PRAGMA user_version", {}, [&](const Database::Row& row) {
    format = row.Int(0);
    return true;
  }));
  if (format > kFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("is of format ", format, ", written by a newer version"));
  }
  if (format == 0) return CreateTables(database);
  return format == 1 ? UpgradeFromFormat1(database) : absl::OkStatus();
}

}  // namespace fleetmark::agent
