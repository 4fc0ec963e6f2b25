#include "collector/notify/notifier.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

constexpr int kFailuresOfReceiver = 3;  // in a row: it is not one alert's fault
constexpr uint32_t kLeastAttempts = 3;  // before a notice is given up for its age, whatever the clock says

}  // namespace

class Notifier::Worker {
 public:
  Worker(const Options& options, Receiver receiver)
      : options_(options),
        clock_(*options.clock),
        name_(receiver.name),
        sender_(std::move(receiver.sender)),
        backoff_(options.backoff, SeedOf("")),
        sent_(options.metrics->AddCounter("fleetmark_notify_delivered_total", "Notices that a receiver took.",
                                          {{"receiver", name_}})),
        failed_(options.metrics->AddCounter("fleetmark_notify_failures_total",
                                            "Attempts to send a notice that failed.",
                                            {{"receiver", name_}})) {
    Gauge& waiting = options.metrics->AddGauge("fleetmark_notify_waiting", "Notices that wait to be sent.",
                                               {{"receiver", name_}});
    options.metrics->OnScrape([this, &waiting] { waiting.Set(static_cast<double>(Status().waiting())); });
  }

  const std::string& name() const { return name_; }

  void Start() {
    thread_ = std::thread([this] { Loop(); });
  }

  void Stop() {
    {
      MutexLock lock(mu_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    if (thread_.joinable()) thread_.join();
  }

  void Take(StoredNotice stored) {
    MutexLock lock(mu_);
    AlertQueue& queue = Queue(stored.key.alert_id);
    queue.waiting.emplace(stored.key.number, std::move(stored));
    changed_.NotifyAll();
  }

  v1::ReceiverStatus Status() const {
    MutexLock lock(mu_);
    v1::ReceiverStatus status;
    status.set_name(name_);
    status.set_kind(sender_->kind());
    size_t waiting = 0;
    int64_t oldest = 0;
    for (const auto& [alert, queue] : queues_) {
      waiting += queue.waiting.size();
      const int64_t made = queue.waiting.begin()->second.notice.made_unix_ns();
      oldest = oldest == 0 ? made : std::min(oldest, made);
    }
    status.set_waiting(waiting);
    status.set_oldest_unix_ns(oldest);
    status.set_delivered(delivered_);
    status.set_trouble(trouble_);
    return status;
  }

 private:
  // What waits about one alert, never empty; the first is sent first.
  struct AlertQueue {
    std::map<uint64_t, StoredNotice> waiting;
    MonoTime not_before;
    Backoff backoff;
  };

  uint64_t SeedOf(const std::string& alert) const {
    return options_.seed ^ StableHash64(absl::StrCat(name_, "/", alert));
  }

  AlertQueue& Queue(const std::string& alert) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto it = queues_.find(alert);
    if (it != queues_.end()) return it->second;
    return queues_.emplace(alert, AlertQueue{{}, MonoTime(), Backoff(options_.backoff, SeedOf(alert))})
        .first->second;
  }

  void Loop() {
    const absl::Duration refresh_every = sender_->RefreshInterval();
    MonoTime next_refresh =
        refresh_every == absl::InfiniteDuration() ? MonoTime::InfiniteFuture() : clock_.Mono();
    while (true) {
      std::optional<StoredNotice> next;
      bool refresh = false;
      {
        MutexLock lock(mu_);
        while (!stopping_) {
          MonoTime wake = next_refresh;
          next = PickNext(&wake);
          refresh = !next.has_value() && next_refresh <= clock_.Mono();
          if (next.has_value() || refresh) break;
          clock_.WaitUntil(changed_, mu_, wake);
        }
        if (stopping_) return;
      }
      if (refresh) {
        Refresh();
        next_refresh = clock_.Mono() + refresh_every;
      } else {
        SendOne(*std::move(next));
      }
    }
  }

  // The oldest that may be sent now; `*wake` becomes when the first may be, if that is sooner.
  std::optional<StoredNotice> PickNext(MonoTime* wake) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const MonoTime now = clock_.Mono();
    const StoredNotice* best = nullptr;
    for (const auto& [alert, queue] : queues_) {
      const MonoTime from =
          std::max(queue.not_before, not_before_, [](MonoTime a, MonoTime b) { return a < b; });
      if (now < from) {
        if (from < *wake) *wake = from;
        continue;
      }
      const StoredNotice& head = queue.waiting.begin()->second;
      if (best == nullptr || head.notice.made_unix_ns() < best->notice.made_unix_ns()) best = &head;
    }
    if (best == nullptr) return std::nullopt;
    return *best;
  }

  void SendOne(StoredNotice stored) {
    const SendResult result = sender_->Send(stored.notice, clock_.Now());
    switch (result.kind) {
      case SendResult::kDelivered:
        Note("");
        return Finish(stored, true, result.text);
      case SendResult::kRefused:
        failed_.Add();
        Note(result.text);
        return Finish(stored, false, absl::StrCat("refused: ", result.text));
      default:
        failed_.Add();
        Note(result.text);
        return TryAgain(stored, result);
    }
  }

  void TryAgain(const StoredNotice& stored, const SendResult& result) {
    bool give_up = false;
    {
      MutexLock lock(mu_);
      if (stopping_) return;
      AlertQueue& queue = Queue(stored.key.alert_id);
      v1::Notice& notice = queue.waiting.at(stored.key.number).notice;
      notice.set_attempts(notice.attempts() + 1);
      const absl::Duration age = clock_.Now() - absl::FromUnixNanos(notice.made_unix_ns());
      give_up = age > options_.give_up_after && notice.attempts() >= kLeastAttempts;
      ++failures_;
      const MonoTime now = clock_.Mono();
      queue.not_before = now + std::max(result.retry_after, queue.backoff.Next());
      const bool all = result.kind == SendResult::kUnreachable || failures_ >= kFailuresOfReceiver ||
                       result.retry_after > absl::ZeroDuration();
      if (all) not_before_ = now + std::max(result.retry_after, backoff_.Next());
    }
    if (give_up) Finish(stored, false, absl::StrCat("not taken in time: ", result.text));
  }

  void Finish(const StoredNotice& stored, bool delivered, const std::string& text) {
    const absl::Status finished = options_.finish(stored, delivered, text);
    MutexLock lock(mu_);
    AlertQueue& queue = Queue(stored.key.alert_id);
    if (!finished.ok()) {
      LogWarn("what became of a notice can't be stored; it is sent again",
              {{"receiver", name_}, {"notice", stored.notice.notice_id()}, {"error", finished}});
      queue.not_before = not_before_ = clock_.Mono() + backoff_.Next();
      return;
    }
    queue.waiting.erase(stored.key.number);
    queue.not_before = MonoTime();
    queue.backoff.Reset();
    if (queue.waiting.empty()) queues_.erase(stored.key.alert_id);
    if (!delivered) return;
    failures_ = 0;
    not_before_ = MonoTime();
    backoff_.Reset();
    ++delivered_;
    sent_.Add();
  }

  void Refresh() {
    const SendResult result = sender_->Refresh(options_.told_to(name_), clock_.Now());
    if (result.kind == SendResult::kDelivered) {
      Note("");
      MutexLock lock(mu_);  // it is there: what waits need not wait on
      failures_ = 0;
      not_before_ = MonoTime();
      for (auto& [alert, queue] : queues_) queue.not_before = MonoTime();
      return;
    }
    failed_.Add();
    Note(result.text);
  }

  // Logs the first of a row of failures, and their end.
  void Note(const std::string& trouble) {
    bool begins = false, ends = false;
    {
      MutexLock lock(mu_);
      begins = trouble_.empty() && !trouble.empty();
      ends = !trouble_.empty() && trouble.empty();
      trouble_ = trouble;
    }
    if (begins) LogWarn("a receiver of alerts has trouble", {{"receiver", name_}, {"error", trouble}});
    if (ends) LogInfo("a receiver of alerts takes notices again", {{"receiver", name_}});
  }

  const Options& options_;
  Clock& clock_;
  const std::string name_;
  const std::unique_ptr<NoticeSender> sender_;

  mutable Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::map<std::string, AlertQueue> queues_ ABSL_GUARDED_BY(mu_);  // by alert
  MonoTime not_before_ ABSL_GUARDED_BY(mu_);                       // of all of them
  int failures_ ABSL_GUARDED_BY(mu_) = 0;                          // in a row
  Backoff backoff_ ABSL_GUARDED_BY(mu_);
  uint64_t delivered_ ABSL_GUARDED_BY(mu_) = 0;
  std::string trouble_ ABSL_GUARDED_BY(mu_);
  Counter& sent_;
  Counter& failed_;
  std::thread thread_;
};

Notifier::Notifier(Options options, std::vector<Receiver> receivers) : options_(std::move(options)) {
  for (Receiver& receiver : receivers) {
    workers_.push_back(std::make_unique<Worker>(options_, std::move(receiver)));
  }
}

Notifier::~Notifier() { Stop(nullptr); }

void Notifier::Start() {
  for (const auto& worker : workers_) worker->Start();
}

void Notifier::Stop(std::atomic<bool>* cancelled) {
  if (cancelled != nullptr) *cancelled = true;
  for (const auto& worker : workers_) worker->Stop();
}

void Notifier::Take(std::vector<StoredNotice> notices) {
  for (StoredNotice& stored : notices) {
    const auto worker = std::find_if(workers_.begin(), workers_.end(),
                                     [&](const auto& w) { return w->name() == stored.key.receiver; });
    if (worker != workers_.end()) (*worker)->Take(std::move(stored));
  }
}

std::vector<v1::ReceiverStatus> Notifier::Status() const {
  std::vector<v1::ReceiverStatus> out;
  for (const auto& worker : workers_) out.push_back(worker->Status());
  return out;
}

}  // namespace fleetmark::collector
