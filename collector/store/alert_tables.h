// Alerts, their history, notices that wait to be sent or were given up, and silences, as tables of the store.
// What an alert's step changes, its history and the notices that it makes become durable in one synced write,
// so that no crash loses or doubles a notice.
//
// Thread-safety: all methods, any thread. Two writers must not write the same alert at once.
// Ownership: the database must outlive it.
// Errors: those of the database; InvalidArgument for an id that is no ULID; NotFound where said.
#ifndef FLEETMARK_COLLECTOR_STORE_ALERT_TABLES_H_
#define FLEETMARK_COLLECTOR_STORE_ALERT_TABLES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "fleetmark/v1/alert.pb.h"

namespace fleetmark::collector {

class Database;

// A notice's place in a queue: notices of one receiver and one alert sort as they were made.
struct NoticeKey {
  std::string receiver;
  std::string alert_id;
  uint64_t number = 0;  // of the alert's notices

  friend auto operator<=>(const NoticeKey&, const NoticeKey&) = default;
};

struct StoredNotice {
  NoticeKey key;
  v1::Notice notice;
};

struct AlertWrite {
  struct Change {
    std::string alert_id;
    v1::AlertChange change;
  };
  std::vector<v1::Alert> alerts;  // made or replaced
  std::vector<Change> changes;    // a history's entries; beyond the newest 1,000 of an alert they are dropped
  std::vector<StoredNotice> queued;  // put into the queue, or replaced in it
  std::vector<NoticeKey> sent;       // taken out of it
  std::vector<StoredNotice> dead;    // moved from the queue, if there, to those that were given up
  std::vector<NoticeKey> buried;     // removed from those
  std::vector<v1::Silence> silences;
};

class AlertTables {
 public:
  static constexpr size_t kMaxHistory = 1000;  // entries of one alert

  explicit AlertTables(Database* db) : db_(*db) {}

  // All of it, or nothing.
  absl::Status Write(const AlertWrite& write);
  // Moves with each write, so that who shows alerts knows when to look again.
  uint64_t Version() const { return version_; }

  absl::StatusOr<v1::Alert> GetAlert(const std::string& alert_id) const;  // NotFound
  // From the newest on, or from the newest that is older than `before`, until `visit` returns false.
  absl::Status ScanAlerts(const std::string& before, absl::FunctionRef<bool(const v1::Alert&)> visit) const;
  // Oldest first.
  absl::StatusOr<std::vector<v1::AlertChange>> History(const std::string& alert_id) const;

  // All that wait; all that were given up.
  absl::StatusOr<std::vector<StoredNotice>> Queue() const;
  absl::StatusOr<std::vector<StoredNotice>> Dead() const;

  // Oldest first.
  absl::StatusOr<std::vector<v1::Silence>> Silences() const;

  // Drops at most `limit` alerts with their history that were resolved before then, and silences that ended
  // before then. How many were dropped.
  absl::StatusOr<size_t> DropResolvedBefore(int64_t unix_ns, size_t limit);

 private:
  Database& db_;
  std::atomic<uint64_t> version_ = 0;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_ALERT_TABLES_H_
