// The record of all actions: what is written here is durable before anything is done, and is how the
// collector knows its own work again after a crash.
//
// Memory: the newest 10,000 actions, and all that are active.
// Thread-safety: all methods, any thread; an action is changed by one thread at a time. Blocks for the disk.
// Ownership: tables and clock must outlive it. Errors: the store's; then nothing has changed.
#ifndef FLEETMARK_COLLECTOR_ACTION_ACTION_BOOK_H_
#define FLEETMARK_COLLECTOR_ACTION_ACTION_BOOK_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "fleetmark/v1/action.pb.h"

namespace fleetmark::collector {

class ActionTables;

class ActionBook {
 public:
  ActionBook(ActionTables& tables, Clock& clock) : tables_(tables), clock_(clock) {}

  // Reads what the store has. Before all else.
  absl::Status Load();

  // Enters a new action: gives it its id and stamps it.
  absl::Status Enter(v1::Action* action, std::string_view text);
  // Writes `action` as it is now, with an entry of its history; an end is stamped.
  absl::Status Change(v1::Action* action, std::string_view by, std::string_view text);
  // In memory alone, for what may be lost.
  void Remember(const v1::Action& action);

  // Copies, oldest first: all; those that are not over; those of a node.
  std::vector<v1::Action> All() const;
  std::vector<v1::Action> Active() const;
  std::vector<v1::Action> OfNode(const std::string& node) const;
  // By its id or the last characters of it. NotFound; InvalidArgument when several end so.
  absl::StatusOr<v1::Action> Find(const std::string& id) const;

  v1::ActionSwitch Switch() const;
  absl::Status SetSwitch(const v1::ActionSwitch& value);

  // Drops what ended before then.
  absl::Status DropEndedBefore(absl::Time time);

 private:
  static constexpr size_t kRemembered = 10'000;

  ActionTables& tables_;
  Clock& clock_;
  Mutex switching_;
  mutable Mutex mu_ ABSL_ACQUIRED_AFTER(switching_);
  std::map<std::string, v1::Action> actions_ ABSL_GUARDED_BY(mu_);             // by id, which sorts by time
  std::map<std::string, std::set<std::string>> by_node_ ABSL_GUARDED_BY(mu_);  // ids
  v1::ActionSwitch switch_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_ACTION_BOOK_H_
