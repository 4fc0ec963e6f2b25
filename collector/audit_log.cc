#include "collector/audit_log.h"

#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/model/labels.h"
#include "common/obs/log.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kWaiting = 1000;
constexpr uint64_t kMaxEntries = 1'000'000;
constexpr size_t kDroppedAtOnce = 10'000;
constexpr size_t kTextBytes = 500;  // of each text

// Bounded, and UTF-8, which a path of a request need not be.
std::string Text(const std::string& text) {
  bool repaired = false;
  return RepairUtf8(text.substr(0, kTextBytes), &repaired);
}

v1::AuditEntry ToEntry(const AccessEvent& event, absl::Time now) {
  v1::AuditEntry entry;
  entry.set_audit_id(NewUlid(now));
  entry.set_time_unix_ns(absl::ToUnixNanos(now));
  entry.set_person(Text(event.person.name));
  entry.set_role(RoleName(event.person.role));
  entry.set_means(event.person.means);
  entry.set_address(event.address);
  entry.set_action(Text(event.action));
  entry.set_status(absl::StatusCodeToString(event.status.code()));
  entry.set_reason(Text(event.refused ? event.reason : Message(event.status)));
  entry.set_refused(event.refused);
  return entry;
}

void ToLog(const v1::AuditEntry& entry) {
  Log(entry.refused() ? LogLevel::kWarn : LogLevel::kInfo,
      entry.refused() ? "a request was refused" : "a person did something",
      {{"action", entry.action()},
       {"person", entry.person()},
       {"role", entry.role()},
       {"means", entry.means()},
       {"address", entry.address()},
       {"status", entry.status()},
       {"reason", entry.reason()}});
}

}  // namespace

AuditLog::AuditLog(AuditTable& table, absl::Duration keep, Clock& clock, Metrics& metrics)
    : table_(table),
      keep_(keep),
      clock_(clock),
      lost_(metrics.AddCounter("fleetmark_audit_not_stored_total",
                               "Entries of the audit log that are in the daemon's log alone")),
      refused_(kWaiting),
      writer_([this] {
        for (auto batch = refused_.PopBatch(kWaiting); !batch.empty(); batch = refused_.PopBatch(kWaiting))
          Write(batch);
      }) {}

void AuditLog::Write(absl::Span<const v1::AuditEntry> entries) {
  const absl::Status status = table_.Append(entries);
  if (status.ok()) return;
  lost_.Add(static_cast<double>(entries.size()));
  LogError("the audit log can't be written; this log has what is missing there", {{"error", status}});
}

void AuditLog::Record(const AccessEvent& event) {
  v1::AuditEntry entry = ToEntry(event, clock_.Now());
  ToLog(entry);
  if (!entry.refused()) {
    Write(absl::MakeConstSpan(&entry, 1));
  } else if (!refused_.TryPush(std::move(entry))) {
    lost_.Add();
  }
}

void AuditLog::Maintain() {
  const int64_t before = keep_ == absl::InfiniteDuration() ? 0 : absl::ToUnixNanos(clock_.Now() - keep_);
  const absl::StatusOr<size_t> dropped = table_.Drop(before, kMaxEntries, kDroppedAtOnce);
  if (!dropped.ok()) LogError("old entries of the audit log were not dropped", {{"error", dropped.status()}});
}

void AuditLog::Stop() {
  refused_.Close();
  if (writer_.joinable()) writer_.join();
}

}  // namespace fleetmark::collector
