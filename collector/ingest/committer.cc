#include "collector/ingest/committer.h"

#include <utility>

#include "common/base/status.h"
#include "common/obs/log.h"

namespace fleetmark::collector {

Committer::Committer(const Options& options, CommitFn commit,
                     std::function<void(const CommitResult&)> on_committed, Clock& clock,
                     IngestMetrics& metrics)
    : options_(options),
      commit_(std::move(commit)),
      on_committed_(std::move(on_committed)),
      clock_(clock),
      metrics_(metrics),
      thread_([this] { Loop(); }) {}

Committer::~Committer() { Stop(); }

void Committer::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    waiting_for_room_.clear();
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

bool Committer::FullLocked(size_t bytes) const {
  if (queue_.empty()) return false;
  return queue_.size() >= options_.max_queued || queued_bytes_ + bytes > options_.max_queued_bytes;
}

void Committer::ReportQueueLocked() {
  metrics_.queued_offers.Set(static_cast<double>(queue_.size()));
  metrics_.queued_bytes.Set(static_cast<double>(queued_bytes_));
}

bool Committer::TryOffer(Offer&& offer, std::function<void()> on_room) {
  MutexLock lock(mu_);
  if (stopping_) return false;
  if (FullLocked(offer.bytes)) {
    waiting_for_room_.push_back(std::move(on_room));
    return false;
  }
  queued_bytes_ += offer.bytes;
  queue_.push_back({std::move(offer), nullptr});
  ReportQueueLocked();
  changed_.NotifyOne();
  return true;
}

bool Committer::TryRun(std::function<void()> task) {
  MutexLock lock(mu_);
  if (stopping_ || FullLocked(0)) return false;
  queue_.push_back({{}, std::move(task)});
  changed_.NotifyOne();
  return true;
}

void Committer::Loop() {
  for (;;) {
    std::vector<Work> group = NextGroup();
    if (group.empty()) return;
    CallWaitersForRoom();
    if (group.front().task) {
      group.front().task();
    } else {
      CommitGroup(std::move(group));
    }
  }
}

std::vector<Committer::Work> Committer::NextGroup() {
  MutexLock lock(mu_);
  while (queue_.empty() && !stopping_) changed_.Wait(mu_);
  std::vector<Work> group;
  size_t bytes = 0;
  while (!queue_.empty() && bytes < options_.max_group_bytes) {
    const bool is_task = queue_.front().task != nullptr;
    if (is_task && !group.empty()) break;
    bytes += queue_.front().offer.bytes;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
    if (is_task) break;
  }
  queued_bytes_ -= bytes;
  ReportQueueLocked();
  return group;
}

// Once half of the room is free; those that find it taken again wait again, behind the others.
void Committer::CallWaitersForRoom() {
  std::deque<std::function<void()>> waiters;
  {
    MutexLock lock(mu_);
    if (queue_.size() > options_.max_queued / 2 || queued_bytes_ > options_.max_queued_bytes / 2) return;
    waiters.swap(waiting_for_room_);
  }
  for (const std::function<void()>& on_room : waiters) on_room();
}

void Committer::CommitGroup(std::vector<Work> group) {
  std::vector<Offer*> good;
  for (Work& work : group) {
    if (work.offer.lane->failed_.ok()) {
      good.push_back(&work.offer);
    } else {
      work.offer.done(work.offer.lane->failed_);
    }
  }
  if (!good.empty()) CommitOffers(good);
}

void Committer::CommitOffers(absl::Span<Offer* const> offers) {
  std::vector<SenderRecords> batch;
  batch.reserve(offers.size());
  for (Offer* offer : offers) batch.push_back(std::move(offer->records));
  const MonoTime began = clock_.Mono();
  const absl::StatusOr<CommitResult> result = commit_(batch);
  if (result.ok()) {
    metrics_.Committed(*result, absl::ToDoubleSeconds(clock_.Mono() - began));
    if (on_committed_) on_committed_(*result);
    for (Offer* offer : offers) offer->done(absl::OkStatus());
    return;
  }
  metrics_.commit_failures.Add();
  // What can't succeed later is the fault of one offer: it must not fail the others.
  if (!IsRetryable(result.status()) && offers.size() > 1) {
    for (size_t i = 0; i < offers.size(); ++i) {
      offers[i]->records = std::move(batch[i]);
      if (offers[i]->lane->failed_.ok()) {
        CommitOffers(offers.subspan(i, 1));
      } else {
        offers[i]->done(offers[i]->lane->failed_);
      }
    }
    return;
  }
  LogError("commit failed", {{"offers", offers.size()}, {"error", result.status()}});
  for (Offer* offer : offers) {
    offer->lane->failed_ = result.status();
    offer->done(result.status());
  }
}

}  // namespace fleetmark::collector
