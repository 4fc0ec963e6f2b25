// What the collector did to nodes, with its history, and the switch that stops it, as tables of the store.
//
// Thread-safety: all methods, any thread. Two writers must not write the same action at once.
// Ownership: the database must outlive it.
// Errors: those of the database; InvalidArgument for an id that is no ULID; NotFound where said.
#ifndef FLEETMARK_COLLECTOR_STORE_ACTION_TABLES_H_
#define FLEETMARK_COLLECTOR_STORE_ACTION_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "fleetmark/v1/action.pb.h"

namespace fleetmark::collector {

class Database;

class ActionTables {
 public:
  static constexpr size_t kMaxHistory = 1000;  // entries of one action

  explicit ActionTables(Database* db) : db_(*db) {}

  // The action and the newest entry of its history, in one synced write.
  absl::Status Write(const v1::Action& action, const v1::ActionChange& change);

  absl::StatusOr<v1::Action> GetAction(const std::string& action_id) const;  // NotFound
  // From the newest on, or from the newest that is older than `before`, until `visit` returns false.
  absl::Status ScanActions(const std::string& before, absl::FunctionRef<bool(const v1::Action&)> visit) const;
  // Oldest first.
  absl::StatusOr<std::vector<v1::ActionChange>> History(const std::string& action_id) const;

  // Not stopped where nobody ever used it.
  absl::StatusOr<v1::ActionSwitch> GetSwitch() const;
  absl::Status PutSwitch(const v1::ActionSwitch& value);

  // Drops at most `limit` actions with their history that ended before then. Returns how many.
  absl::StatusOr<size_t> DropEndedBefore(int64_t unix_ns, size_t limit);

 private:
  Database& db_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_ACTION_TABLES_H_
