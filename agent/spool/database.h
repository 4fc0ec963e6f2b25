// The little of SQLite that the spool needs. database.cc is the only file that includes sqlite3.h.
//
// The file is in write-ahead mode with full synchronisation and locked for one process, so a transaction
// that returned OK survives a power cut. Memory is bounded by a page cache of 256 KiB.
//
// Thread-safety: none; the owner locks. All methods block on the disk.
// Errors: ResourceExhausted (disk full), DataLoss (the file is damaged or no database), FailedPrecondition
// (another process has it), PermissionDenied, Unavailable (input or output failed), Internal.
#ifndef FLEETMARK_AGENT_SPOOL_DATABASE_H_
#define FLEETMARK_AGENT_SPOOL_DATABASE_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fleetmark::agent {

class Database {
 public:
  // A parameter of a statement. Text is bound as a blob and must live until Run returns.
  using Value = std::variant<int64_t, std::string_view>;

  // The current row; valid only inside the callback that gets it.
  class Row {
   public:
    explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
    int64_t Int(int column) const;
    std::string_view Blob(int column) const;

   private:
    sqlite3_stmt* statement_;
  };
  using OnRow = absl::FunctionRef<bool(const Row&)>;

  // Opens or creates the file and checks its structure.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs one statement; `on_row` sees each row until it returns false.
  absl::Status Run(const char* sql, std::initializer_list<Value> parameters, OnRow on_row);
  absl::Status Run(const char* sql, std::initializer_list<Value> parameters = {});

  // Runs `body` in a transaction: committed when it returns OK, else undone.
  absl::Status Transact(absl::FunctionRef<absl::Status()> body);

  int64_t last_insert_id() const;

 private:
  explicit Database(sqlite3* handle) : handle_(handle) {}
  absl::Status Error(int code, std::string_view what) const;
  absl::Status Configure();
  absl::Status CheckStructure();

  sqlite3* handle_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_SPOOL_DATABASE_H_
