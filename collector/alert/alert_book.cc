#include "collector/alert/alert_book.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kLeastIdCharacters = 4;

}  // namespace

AlertBook::AlertBook(Options options)
    : options_(std::move(options)),
      tables_(*options_.tables),
      made_(options_.metrics->AddCounter("fleetmark_alert_notices_total", "Notices that were made.")),
      dead_(options_.metrics->AddCounter(
          "fleetmark_alert_notices_dead_total",
          "Notices that were given up: refused, too old, or the queue was full.")) {}

absl::Status AlertBook::Load(absl::FunctionRef<bool(const v1::Alert&)> keep) {
  std::map<std::string, AlertPtr> alerts;
  FM_RETURN_IF_ERROR(tables_.ScanAlerts("", [&](const v1::Alert& alert) {
    if (keep(alert)) alerts.emplace(alert.alert_id(), std::make_shared<v1::Alert>(alert));
    return true;
  }));
  FM_ASSIGN_OR_RETURN(std::vector<v1::Silence> silences, tables_.Silences());
  FM_ASSIGN_OR_RETURN(const std::vector<StoredNotice> dead, tables_.Dead());
  {
    MutexLock lock(mu_);
    alerts_ = std::move(alerts);
    silences_ = std::move(silences);
    for (const StoredNotice& stored : dead) dead_keys_[stored.key.receiver].push_back(stored.key);
  }
  FM_ASSIGN_OR_RETURN(std::vector<StoredNotice> queue, tables_.Queue());
  std::vector<StoredNotice> wait;
  Batch batch;
  for (StoredNotice& stored : queue) {
    ++waiting_[stored.key.receiver];
    if (HasReceiver(stored.key.receiver)) {
      wait.push_back(std::move(stored));
    } else {
      stored.notice.set_last_error("the receiver is not configured any more");
      AddDead(std::move(stored), &batch);
    }
  }
  FM_RETURN_IF_ERROR(Commit(&batch));
  if (options_.on_notices && !wait.empty()) options_.on_notices(std::move(wait));
  return absl::OkStatus();
}

std::map<std::string, AlertBook::AlertPtr> AlertBook::Known() const {
  MutexLock lock(mu_);
  return alerts_;
}

std::vector<AlertBook::AlertPtr> AlertBook::Current() const {
  std::vector<AlertPtr> out;
  MutexLock lock(mu_);
  for (auto it = alerts_.rbegin(); it != alerts_.rend(); ++it) out.push_back(it->second);
  return out;
}

absl::StatusOr<v1::Alert> AlertBook::Find(const std::string& id) const {
  if (IsUlid(id)) {
    {
      MutexLock lock(mu_);
      const auto it = alerts_.find(id);
      if (it != alerts_.end()) return *it->second;
    }
    return tables_.GetAlert(id);
  }
  if (id.size() < kLeastIdCharacters) {
    return absl::InvalidArgumentError("alert_id: needs the whole id, or at least its last 4 characters");
  }
  AlertPtr found;
  for (const AlertPtr& alert : Current()) {
    if (!absl::EndsWithIgnoreCase(alert->alert_id(), id)) continue;
    if (found != nullptr) return absl::InvalidArgumentError(absl::StrCat("alert_id: several end with ", id));
    found = alert;
  }
  if (found == nullptr) return absl::NotFoundError(absl::StrCat("no alert of late has the id ", id));
  return *found;
}

std::vector<v1::Silence> AlertBook::Silences() const {
  MutexLock lock(mu_);
  return {silences_.rbegin(), silences_.rend()};
}

size_t AlertBook::DeadOf(const std::string& receiver) const {
  MutexLock lock(mu_);
  const auto it = dead_keys_.find(receiver);
  return it == dead_keys_.end() ? 0 : it->second.size();
}

bool AlertBook::HasReceiver(const std::string& name) const {
  return std::find(options_.receivers.begin(), options_.receivers.end(), name) != options_.receivers.end();
}

void AlertBook::AddStep(v1::Alert alert, const AlertStep& step, absl::Time now, Batch* batch) {
  for (const v1::AlertChange& change : step.changes) {
    batch->write.changes.push_back({alert.alert_id(), change});
    LogInfo("alert changed", {{"alert", alert.alert_id()},
                              {"change", v1::AlertChange::Kind_Name(change.kind())},
                              {"title", alert.title()},
                              {"text", change.text()}});
  }
  for (const DueNotice& due : step.notices) {
    for (const std::string& receiver : due.receivers) {
      if (!HasReceiver(receiver)) continue;  // it was removed from the configuration
      StoredNotice stored;
      stored.key = {receiver, alert.alert_id(), due.number};
      stored.notice.set_notice_id(absl::StrCat(alert.alert_id(), "-", due.number));
      stored.notice.set_receiver(receiver);
      stored.notice.set_reason(due.reason);
      stored.notice.set_made_unix_ns(absl::ToUnixNanos(now));
      *stored.notice.mutable_alert() = alert;
      if (waiting_[receiver] + batch->queued[receiver] >= options_.max_waiting) {
        stored.notice.set_last_error("the receiver's queue is full");
        AddDead(std::move(stored), batch);
        continue;
      }
      ++batch->queued[receiver];
      batch->write.queued.push_back(std::move(stored));
    }
  }
  batch->write.alerts.push_back(std::move(alert));
}

void AlertBook::AddDead(StoredNotice stored, Batch* batch) {
  LogError("a notice was given up", {{"receiver", stored.key.receiver},
                                     {"alert", stored.key.alert_id},
                                     {"error", stored.notice.last_error()}});
  MutexLock lock(mu_);
  const auto keys = dead_keys_.find(stored.key.receiver);
  size_t kept = keys == dead_keys_.end() ? 0 : keys->second.size();
  for (const StoredNotice& other : batch->write.dead)
    kept += other.key.receiver == stored.key.receiver ? 1 : 0;
  if (kept >= options_.max_dead && keys != dead_keys_.end() && !keys->second.empty()) {
    batch->write.buried.push_back(keys->second.front());
    keys->second.pop_front();
  }
  batch->write.dead.push_back(std::move(stored));
}

absl::Status AlertBook::Commit(Batch* batch) {
  AlertWrite& write = batch->write;
  if (write.alerts.empty() && write.queued.empty() && write.sent.empty() && write.dead.empty()) {
    return absl::OkStatus();
  }
  FM_RETURN_IF_ERROR(tables_.Write(write));
  for (const auto& [receiver, count] : batch->queued) waiting_[receiver] += count;
  made_.Add(static_cast<double>(write.queued.size()));
  dead_.Add(static_cast<double>(write.dead.size()));
  {
    MutexLock lock(mu_);
    for (v1::Alert& alert : write.alerts) {
      std::string id = alert.alert_id();
      alerts_[std::move(id)] = std::make_shared<v1::Alert>(std::move(alert));
    }
    for (const StoredNotice& stored : write.dead) dead_keys_[stored.key.receiver].push_back(stored.key);
  }
  if (options_.on_notices && !write.queued.empty()) options_.on_notices(std::move(write.queued));
  *batch = Batch();
  return absl::OkStatus();
}

void AlertBook::TookOut(const std::string& receiver) {
  size_t& waiting = waiting_[receiver];
  if (waiting > 0) --waiting;
}

absl::Status AlertBook::PutSilence(const v1::Silence& silence) {
  AlertWrite write;
  write.silences.push_back(silence);
  FM_RETURN_IF_ERROR(tables_.Write(write));
  MutexLock lock(mu_);
  for (v1::Silence& known : silences_) {
    if (known.silence_id() != silence.silence_id()) continue;
    known = silence;
    return absl::OkStatus();
  }
  silences_.push_back(silence);
  return absl::OkStatus();
}

void AlertBook::Forget(absl::FunctionRef<bool(const v1::Alert&)> done) {
  MutexLock lock(mu_);
  for (auto it = alerts_.begin(); it != alerts_.end();) {
    it = done(*it->second) ? alerts_.erase(it) : std::next(it);
  }
}

}  // namespace fleetmark::collector
