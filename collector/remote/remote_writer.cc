#include "collector/remote/remote_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMaxRequestBytes = 4 << 20;  // before compression
constexpr size_t kMaxTokenBytes = 16 * 1024;
constexpr absl::Duration kMaxRetryAfter = absl::Minutes(10);
constexpr absl::Duration kIdle = absl::Hours(1);

Counter& Dropped(Metrics& metrics, const char* reason) {
  return metrics.AddCounter(
      "fleetmark_remote_write_samples_dropped_total",
      "Samples that were not sent on: refused by the receiver, dropped from the full queue, or "
      "never queued as the disk failed.",
      {{"reason", reason}});
}

// Retry-After in seconds; the form with a date is not used by such stores.
absl::Duration RetryAfter(const HttpResponse& answer) {
  const auto it = answer.headers.find("Retry-After");
  int64_t seconds = 0;
  if (it == answer.headers.end() || !absl::SimpleAtoi(it->second, &seconds) || seconds < 0) {
    return absl::ZeroDuration();
  }
  return std::min(absl::Seconds(seconds), kMaxRetryAfter);
}

}  // namespace

RemoteWriter::RemoteWriter(Options options, Clock& clock, Metrics& metrics)
    : options_(std::move(options)),
      clock_(clock),
      sent_(metrics.AddCounter("fleetmark_remote_write_samples_sent_total",
                               "Samples that a Prometheus-compatible store has taken.")),
      refused_(Dropped(metrics, "refused")),
      overflowed_(Dropped(metrics, "queue_full")),
      unqueued_(Dropped(metrics, "disk")),
      retries_(metrics.AddCounter("fleetmark_remote_write_retries_total",
                                  "Requests that will be sent again: no answer, 429, or 5xx.")),
      backoff_(options_.backoff, options_.seed) {
  Gauge& waiting =
      metrics.AddGauge("fleetmark_remote_write_samples_pending", "Samples that wait to be sent on.");
  metrics.OnScrape([this, &waiting] { waiting.Set(static_cast<double>(pending())); });
}

RemoteWriter::~RemoteWriter() { Stop(); }

absl::Status RemoteWriter::Start() {
  FM_ASSIGN_OR_RETURN(queue_, SegmentQueue::Open(options_.queue));
  thread_ = std::thread([this] { Loop(); });
  return absl::OkStatus();
}

void RemoteWriter::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

uint64_t RemoteWriter::pending() const { return queue_ == nullptr ? 0 : queue_->pending_weight(); }

void RemoteWriter::Offer(absl::Span<const SenderRecords> batch) {
  remote::WriteRequest all = ToWriteRequest(batch, options_.node_labels);
  const int most = static_cast<int>(options_.max_samples_per_request);
  for (int begin = 0; begin < all.timeseries_size(); begin += most) {
    remote::WriteRequest part;
    for (int i = begin; i < std::min(all.timeseries_size(), begin + most); ++i) {
      part.add_timeseries()->Swap(all.mutable_timeseries(i));
    }
    const auto samples = static_cast<uint32_t>(part.timeseries_size());
    const absl::Status appended = queue_->Append(part.SerializeAsString(), samples);
    if (!appended.ok()) {
      unqueued_.Add(samples);
      LogWarn("samples will not be sent on by remote write",
              {{"error", Message(appended)}, {"samples", samples}});
    }
  }
  const uint64_t dropped = queue_->dropped_weight();
  overflowed_.Add(static_cast<double>(dropped - std::exchange(overflow_seen_, dropped)));
  MutexLock lock(mu_);
  offered_ = true;
  changed_.NotifyAll();
}

bool RemoteWriter::WaitUntil(MonoTime deadline) {
  MutexLock lock(mu_);
  while (!stopping_ && clock_.Mono() < deadline) clock_.WaitUntil(changed_, mu_, deadline);
  return !stopping_;
}

bool RemoteWriter::WaitForWork() {
  MutexLock lock(mu_);
  while (!stopping_ && !offered_) clock_.WaitUntil(changed_, mu_, clock_.Mono() + kIdle);
  offered_ = false;
  return !stopping_;
}

void RemoteWriter::Loop() {
  while (true) {
    absl::Duration wait;
    const auto batch = queue_->Peek(options_.max_samples_per_request, kMaxRequestBytes);
    if (!batch.ok()) {
      ReportTrouble(Message(batch.status()));
      if (!WaitUntil(clock_.Mono() + backoff_.Next())) return;
      continue;
    }
    if (batch->records.empty()) {
      if (!WaitForWork()) return;
      continue;
    }
    const Verdict verdict = Send(*batch, &wait);
    if (verdict == Verdict::kAgain) {
      retries_.Add();
      if (!WaitUntil(clock_.Mono() + std::max(wait, backoff_.Next()))) return;
      continue;
    }
    backoff_.Reset();
    (verdict == Verdict::kTaken ? sent_ : refused_).Add(static_cast<double>(batch->weight));
    if (const absl::Status advanced = queue_->Advance(batch->end); !advanced.ok()) {
      ReportTrouble(Message(advanced));
    }
    MutexLock lock(mu_);
    if (stopping_) return;
  }
}

RemoteWriter::Verdict RemoteWriter::Send(const SegmentQueue::Batch& batch, absl::Duration* wait) {
  std::string message;
  for (const std::string& record : batch.records) message += record;
  HttpPost post;
  post.url = options_.url;
  post.content_type = "application/x-protobuf";
  post.headers = {{"Content-Encoding", "snappy"},
                  {"User-Agent", absl::StrCat("fleetmark-collector/", FM_VERSION)},
                  {"X-Prometheus-Remote-Write-Version", "0.1.0"}};
  post.timeout = options_.timeout;
  post.ca_file = options_.ca_file;
  if (!options_.bearer_token_file.empty()) {
    const absl::StatusOr<std::string> token = ReadFile(options_.bearer_token_file, kMaxTokenBytes);
    if (!token.ok()) {
      ReportTrouble(Message(token.status()));
      return Verdict::kAgain;
    }
    post.headers["Authorization"] = absl::StrCat("Bearer ", absl::StripAsciiWhitespace(*token));
  }
  post.body = SnappyCompress(message);
  return Judge(SendPost(post), wait);
}

RemoteWriter::Verdict RemoteWriter::Judge(const absl::StatusOr<HttpResponse>& answer, absl::Duration* wait) {
  if (!answer.ok()) {
    ReportTrouble(Message(answer.status()));
    return Verdict::kAgain;
  }
  if (answer->status / 100 == 2) {
    if (std::exchange(troubled_, false)) LogInfo("remote write goes on", {{"url", options_.url.server}});
    return Verdict::kTaken;
  }
  ReportTrouble(absl::StrCat("HTTP status ", answer->status, ": ", answer->body.substr(0, 200)));
  if (answer->status == 429 || answer->status / 100 == 5) {
    *wait = RetryAfter(*answer);
    return Verdict::kAgain;
  }
  return Verdict::kRefused;
}

void RemoteWriter::ReportTrouble(const std::string& what) {
  if (!std::exchange(troubled_, true)) {
    LogWarn("remote write has trouble", {{"url", options_.url.server}, {"error", what}});
  }
}

}  // namespace fleetmark::collector
