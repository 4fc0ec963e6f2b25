#include "agent/spool/database.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark::agent {
namespace {

absl::StatusCode CodeOf(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kFailedPrecondition;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return absl::StatusCode::kPermissionDenied;
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

int Bind(sqlite3_stmt* statement, int index, const Database::Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return sqlite3_bind_int64(statement, index, *number);
  const auto text = std::get<std::string_view>(value);
  return sqlite3_bind_blob64(statement, index, text.data(), text.size(), SQLITE_STATIC);
}

}  // namespace

int64_t Database::Row::Int(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Database::Row::Blob(int column) const {
  // SQLite asks for the pointer to be taken before the size.
  const void* data = sqlite3_column_blob(statement_, column);
  return {static_cast<const char*>(data), static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (handle == nullptr) return absl::ResourceExhaustedError(absl::StrCat("open ", path, ": out of memory"));
  std::unique_ptr<Database> database(new Database(handle));
  if (code != SQLITE_OK) return database->Error(code, absl::StrCat("open ", path));
  FM_RETURN_IF_ERROR(Annotate(database->Configure(), path));
  FM_RETURN_IF_ERROR(Annotate(database->CheckStructure(), path));
  return database;
}

Database::~Database() { sqlite3_close(handle_); }

absl::Status Database::Configure() {
  sqlite3_extended_result_codes(handle_, 1);
  // Statements are few and short: the preallocated pool for them would only be resident memory.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_LOOKASIDE, nullptr, 0, 0);
  // Exclusive before the first access keeps the write-ahead index in the heap instead of shared memory,
  // and keeps a second agent out.
  for (const char* pragma : {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA cache_size=-256", "PRAGMA mmap_size=0",
                             "PRAGMA temp_store=MEMORY", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL",
                             "PRAGMA wal_autocheckpoint=128", "PRAGMA journal_size_limit=1048576"}) {
    FM_RETURN_IF_ERROR(Run(pragma));
  }
  // The lock is taken by the first write.
  return Transact([] { return absl::OkStatus(); });
}

absl::Status Database::CheckStructure() {
  std::string verdict;
  FM_RETURN_IF_ERROR(Run("PRAGMA quick_check(1)", {}, [&](const Row& row) {
    verdict = std::string(row.Blob(0));
    return true;
  }));
  if (verdict != "ok") return absl::DataLossError(absl::StrCat("damaged: ", verdict));
  return absl::OkStatus();
}

absl::Status Database::Error(int code, std::string_view what) const {
  const char* detail = (code & 0xff) == SQLITE_BUSY ? "another process is using it" : sqlite3_errmsg(handle_);
  return Annotate(absl::Status(CodeOf(code), detail), what);
}

absl::Status Database::Run(const char* sql, std::initializer_list<Value> parameters, OnRow on_row) {
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr);
  if (code != SQLITE_OK) return Error(code, sql);
  int index = 0;
  for (const Value& value : parameters) {
    if (code == SQLITE_OK) code = Bind(statement, ++index, value);
  }
  if (code == SQLITE_OK) {
    do {
      code = sqlite3_step(statement);
    } while (code == SQLITE_ROW && on_row(Row(statement)));
  }
  const bool fine = code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE;
  absl::Status status = fine ? absl::OkStatus() : Error(code, sql);
  sqlite3_finalize(statement);
  return status;
}

absl::Status Database::Run(const char* sql, std::initializer_list<Value> parameters) {
  return Run(sql, parameters, [](const Row&) { return true; });
}

absl::Status Database::Transact(absl::FunctionRef<absl::Status()> body) {
  FM_RETURN_IF_ERROR(Run("BEGIN IMMEDIATE"));
  absl::Status status = body();
  if (status.ok()) status = Run("COMMIT");
  // Some errors have already rolled back by themselves.
  if (!status.ok() && sqlite3_get_autocommit(handle_) == 0) Run("ROLLBACK").IgnoreError();
  return status;
}

int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(handle_); }

}  // namespace fleetmark::agent
