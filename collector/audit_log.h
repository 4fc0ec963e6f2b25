// Writes what people did, and what was refused to them, to the audit log in the store and to the daemon's
// log.
//
// What was done is on disk when Record returns, so before its caller is answered. What was refused costs
// nobody a write: it waits in a queue of 1,000 for this thread; beyond, it is in the daemon's log alone, and
// counted. When the store takes no writes the daemon's log still has all of it.
//
// Thread-safety: Record from any thread. Ownership: owns its thread; table, clock and metrics must outlive
// it.
#ifndef FLEETMARK_COLLECTOR_AUDIT_LOG_H_
#define FLEETMARK_COLLECTOR_AUDIT_LOG_H_

#include <thread>

#include "absl/time/time.h"

#include "collector/access/access_control.h"
#include "collector/store/audit_table.h"
#include "common/base/bounded_queue.h"
#include "common/base/clock.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {

class AuditLog {
 public:
  // `keep`: how long entries are kept; of the newest there are at most a million.
  AuditLog(AuditTable& table, absl::Duration keep, Clock& clock, Metrics& metrics);
  ~AuditLog() { Stop(); }
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  void Record(const AccessEvent& event);
  // Drops what is too old or too much. From time to time.
  void Maintain();
  // Writes what waits. Idempotent.
  void Stop();

 private:
  void Write(absl::Span<const v1::AuditEntry> entries);

  AuditTable& table_;
  const absl::Duration keep_;
  Clock& clock_;
  Counter& lost_;
  BoundedQueue<v1::AuditEntry> refused_;
  std::thread writer_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_AUDIT_LOG_H_
