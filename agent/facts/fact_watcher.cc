#include "agent/facts/fact_watcher.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "agent/facts/facts.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/obs/log.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMaxFileBytes = 4 << 20;

std::string FileIn(const std::string& folder) { return absl::StrCat(folder, "/facts.pb"); }

// The facts last told; none on a node's first start, or when the file can't be read: then everything is told
// again, without events.
v1::FactsChanged LoadFacts(const std::string& folder) {
  v1::FactsChanged known;
  const absl::StatusOr<std::string> bytes = ReadFile(FileIn(folder), kMaxFileBytes);
  if (!bytes.ok()) {
    if (!absl::IsNotFound(bytes.status())) LogWarn("known facts can't be read", {{"status", bytes.status()}});
    return known;
  }
  if (!known.ParseFromString(*bytes)) {
    LogWarn("known facts are damaged; all facts are told again", {{"file", FileIn(folder)}});
    known.Clear();
  }
  return known;
}

}  // namespace

void FactWatcher::Start() {
  const v1::FactsChanged known = LoadFacts(options_.folder);
  {
    MutexLock lock(mu_);
    facts_.assign(known.facts().begin(), known.facts().end());
    digest_ = known.facts_digest();
  }
  Refresh();
  thread_ = std::thread([this] { Loop(); });
}

void FactWatcher::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void FactWatcher::RefreshSoon() {
  MutexLock lock(mu_);
  soon_ = true;
  changed_.NotifyAll();
}

void FactWatcher::Loop() {
  while (true) {
    {
      MutexLock lock(mu_);
      while (!stopping_ && clock_.Mono() < Due()) clock_.WaitUntil(changed_, mu_, Due());
      if (stopping_) return;
      soon_ = false;
    }
    Refresh();
  }
}

void FactWatcher::Refresh() {
  v1::FactsChanged now;
  const std::vector<v1::Fact> found = options_.collect();
  now.mutable_facts()->Add(found.begin(), found.end());
  now.set_facts_digest(FactsDigest(found));
  std::vector<v1::Fact> before;
  bool first = false;
  bool same = false;
  {
    MutexLock lock(mu_);
    refreshed_ = clock_.Mono();
    first = digest_.empty();
    same = now.facts_digest() == digest_;
    before = std::exchange(facts_, found);
    digest_ = now.facts_digest();
  }
  std::vector<v1::Event> events;
  if (!first && !same) events = DiffFacts(before, found, options_.node, clock_.Now());
  events = limiter_.Limit(std::move(events), clock_.Mono());
  if (same && events.empty()) return;
  if (!options_.on_change(found, events)) return;
  const absl::Status status = ReplaceFile(FileIn(options_.folder), now.SerializeAsString());
  if (!status.ok()) LogWarn("known facts can't be kept", {{"status", status}});
}

std::vector<v1::Fact> FactWatcher::facts() const {
  MutexLock lock(mu_);
  return facts_;
}

std::string FactWatcher::digest() const {
  MutexLock lock(mu_);
  return digest_;
}

}  // namespace fleetmark::agent
