// The audit log as a table of the store: entries are added, read, and dropped when they are too old or too
// many; nothing changes one.
//
// Thread-safety: all methods, any thread. Ownership: the database must outlive it.
// Errors: those of the database; InvalidArgument for an id that is no ULID.
#ifndef FLEETMARK_COLLECTOR_STORE_AUDIT_TABLE_H_
#define FLEETMARK_COLLECTOR_STORE_AUDIT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "collector/store/store_types.h"
#include "fleetmark/v1/audit.pb.h"

namespace fleetmark::collector {

class Database;

class AuditTable {
 public:
  explicit AuditTable(Database* db) : db_(*db) {}

  // All of them, on disk, or none. AlreadyExists when an entry with such a time and id is there.
  absl::Status Append(absl::Span<const v1::AuditEntry> entries);

  // Newest first.
  absl::StatusOr<std::vector<v1::AuditEntry>> List(const v1::ListAuditRequest& filter, const Page& page,
                                                   std::string* next_token) const;

  // Drops the oldest: those of before then, and beyond the newest `max_entries`; at most `limit`. How many.
  absl::StatusOr<size_t> Drop(int64_t before_unix_ns, uint64_t max_entries, size_t limit);

 private:
  Database& db_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_AUDIT_TABLE_H_
