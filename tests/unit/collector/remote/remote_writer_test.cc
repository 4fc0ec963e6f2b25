// Against a receiver of this test's own, which fails as it is told to. A real one is in tests/integration.
#include "collector/remote/remote_writer.h"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/http/http_server.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

namespace fs = std::filesystem;

// Takes remote writes; answers with the given statuses first, then 204.
class Receiver {
 public:
  explicit Receiver(std::vector<int> statuses = {}, int port = 0)
      : statuses_(std::move(statuses)), server_(4) {
    server_.Handle("POST", "/write", [this](const HttpRequest& request) { return Take(request); });
    const auto started = server_.Start("127.0.0.1", port);
    EXPECT_TRUE(started.ok()) << started.status();
    port_ = started.value_or(0);
  }
  ~Receiver() { server_.Stop(); }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/write"; }
  int port() const { return port_; }

  void WaitForSamples(size_t count) {
    MutexLock lock(mu_);
    const MonoTime deadline = RealClock().Mono() + absl::Seconds(30);
    while (values_.size() < count && RealClock().Mono() < deadline)
      RealClock().WaitUntil(changed_, mu_, deadline);
    EXPECT_GE(values_.size(), count);
  }
  void WaitForRequests(size_t count) {
    MutexLock lock(mu_);
    const MonoTime deadline = RealClock().Mono() + absl::Seconds(30);
    while (requests_ < count && RealClock().Mono() < deadline) RealClock().WaitUntil(changed_, mu_, deadline);
    EXPECT_GE(requests_, count);
  }
  // By series and time.
  std::map<std::pair<std::string, int64_t>, double> values() {
    MutexLock lock(mu_);
    return values_;
  }
  std::map<std::string, std::string> headers() {
    MutexLock lock(mu_);
    return headers_;
  }
  size_t most_in_one() {
    MutexLock lock(mu_);
    return most_;
  }

 private:
  absl::StatusOr<HttpResponse> Take(const HttpRequest& request) {
    HttpResponse response;
    MutexLock lock(mu_);
    changed_.NotifyAll();
    headers_ = request.headers;
    if (requests_++ < statuses_.size()) {
      response.status = statuses_[requests_ - 1];
      response.headers["Retry-After"] = "0";
      return response;
    }
    response.status = 204;
    remote::WriteRequest message;
    const auto body = SnappyDecompress(request.body, kMaxWriteBytes);
    if (!body.ok() || !message.ParseFromString(*body)) {
      response.status = 400;
      return response;
    }
    most_ = std::max(most_, static_cast<size_t>(message.timeseries_size()));
    for (const remote::TimeSeries& series : message.timeseries()) {
      std::string name;
      for (const remote::Label& label : series.labels()) name += label.name() + "=" + label.value() + ",";
      for (const remote::Sample& sample : series.samples())
        values_[{name, sample.timestamp()}] = sample.value();
    }
    return response;
  }

  const std::vector<int> statuses_;
  Mutex mu_;
  CondVar changed_;
  size_t requests_ ABSL_GUARDED_BY(mu_) = 0;
  size_t most_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::pair<std::string, int64_t>, double> values_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> headers_ ABSL_GUARDED_BY(mu_);
  HttpServer server_;
  int port_ = 0;
};

class RemoteWriterTest : public testing::Test {
 protected:
  RemoteWriterTest() {
    folder_ = testing::TempDir() + "remote_writer." + std::to_string(getpid());
    fs::remove_all(folder_);
  }
  ~RemoteWriterTest() override {
    writer_.reset();
    fs::remove_all(folder_);
  }

  void Start(const std::string& url) {
    writer_.reset();
    metrics_ = std::make_unique<Metrics>();
    options_.url = *ParseHttpUrl(url);
    options_.queue.folder = folder_;
    options_.backoff = {.first = absl::Milliseconds(1), .max = absl::Milliseconds(20)};
    options_.timeout = absl::Seconds(5);
    options_.node_labels = [](const std::string&) -> std::map<std::string, std::string> {
      return {{"rack", "r1"}};
    };
    writer_ = std::make_unique<RemoteWriter>(options_, RealClock(), *metrics_);
    ASSERT_TRUE(writer_->Start().ok());
  }

  // `count` runs, each with two metrics.
  void Offer(int count, v1::Outcome outcome = v1::OUTCOME_OK) {
    SenderRecords sender{"n1", "e", {}};
    for (int i = 0; i < count; ++i) {
      v1::Run* run = sender.records.emplace_back().mutable_run();
      run->set_benchmark("stream");
      run->set_outcome(outcome);
      run->set_started_unix_ns((1'790'000'000 + 60 * next_++) * 1'000'000'000LL);
      for (const char* name : {"copy", "triad"}) {
        v1::Metric* metric = run->add_metrics();
        metric->set_name(name);
        metric->set_unit("GB/s");
        metric->set_value(100.0 + static_cast<double>(next_));
      }
    }
    writer_->Offer({&sender, 1});
  }

  void WaitUntilEmpty() {
    const MonoTime deadline = RealClock().Mono() + absl::Seconds(30);
    while (writer_->pending() > 0 && RealClock().Mono() < deadline)
      WaitFor(RealClock(), absl::Milliseconds(2));
    EXPECT_EQ(writer_->pending(), 0U);
  }

  double Count(const std::string& name, const std::string& reason = "") {
    const Metrics::LabelMap labels =
        reason.empty() ? Metrics::LabelMap() : Metrics::LabelMap{{"reason", reason}};
    return metrics_->AddCounter("fleetmark_remote_write_" + name, "", labels).Value();
  }

  std::string folder_;
  RemoteWriter::Options options_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<RemoteWriter> writer_;
  int64_t next_ = 0;
};

TEST_F(RemoteWriterTest, SamplesArriveWithTheirNames) {
  Receiver receiver;
  Start(receiver.url());
  Offer(3);
  Offer(1, v1::OUTCOME_FAILED);
  WaitUntilEmpty();
  const auto values = receiver.values();
  ASSERT_EQ(values.size(), 6U);
  EXPECT_EQ(values.begin()->first.first,
            "__name__=fleetmark_stream_copy_gigabytes_per_second,benchmark=stream,node=n1,node_rack=r1,");
  EXPECT_EQ(values.begin()->first.second, 1'790'000'000'000);
  EXPECT_EQ(values.begin()->second, 101);
  EXPECT_EQ(receiver.headers()["content-encoding"], "snappy");
  EXPECT_EQ(receiver.headers()["x-prometheus-remote-write-version"], "0.1.0");
  EXPECT_EQ(Count("samples_sent_total"), 6);
}

TEST_F(RemoteWriterTest, LargeBatchesAreSplitAndSmallOnesJoined) {
  options_.max_samples_per_request = 100;
  Receiver receiver({503});
  Start(receiver.url());
  Offer(170);
  for (int i = 0; i < 10; ++i) Offer(1);
  WaitUntilEmpty();
  EXPECT_EQ(receiver.values().size(), 360U);
  EXPECT_LE(receiver.most_in_one(), 100U);
}

TEST_F(RemoteWriterTest, TriesAgainWhereThatHelps) {
  Receiver receiver({500, 503, 429, 502});
  Start(receiver.url());
  Offer(2);
  WaitUntilEmpty();
  EXPECT_EQ(receiver.values().size(), 4U);
  EXPECT_EQ(Count("retries_total"), 4);
  EXPECT_EQ(Count("samples_dropped_total", "refused"), 0);
}

TEST_F(RemoteWriterTest, DropsWhatIsRefusedAndGoesOn) {
  Receiver receiver({400});
  Start(receiver.url());
  Offer(1);
  WaitUntilEmpty();
  Offer(2);
  WaitUntilEmpty();
  EXPECT_EQ(receiver.values().size(), 4U);
  EXPECT_EQ(Count("samples_dropped_total", "refused"), 2);
  EXPECT_EQ(Count("samples_sent_total"), 4);
}

TEST_F(RemoteWriterTest, NothingIsLostWhileNobodyListensAndOverARestart) {
  int port = 0;
  {
    Receiver receiver;
    port = receiver.port();
  }
  Start("http://127.0.0.1:" + std::to_string(port) + "/write");
  Offer(5);
  writer_->Stop();
  EXPECT_EQ(writer_->pending(), 10U);
  Start("http://127.0.0.1:" + std::to_string(port) + "/write");
  EXPECT_EQ(writer_->pending(), 10U);
  Offer(1);
  Receiver receiver({}, port);
  receiver.WaitForSamples(12);
  WaitUntilEmpty();
  EXPECT_EQ(receiver.values().size(), 12U);
}

TEST_F(RemoteWriterTest, AFullQueueDropsTheOldestAndCounts) {
  options_.queue.segment_bytes = 1000;
  options_.queue.max_bytes = 5000;
  Receiver receiver(std::vector<int>(100'000, 503));
  Start(receiver.url());
  for (int i = 0; i < 100; ++i) Offer(1);
  EXPECT_EQ(static_cast<double>(writer_->pending()) + Count("samples_dropped_total", "queue_full"), 200);
  EXPECT_GT(writer_->pending(), 0U);
  EXPECT_GT(Count("samples_dropped_total", "queue_full"), 100);
}

TEST_F(RemoteWriterTest, TheTokenIsReadAnew) {
  const std::string token = folder_ + ".token";
  const auto write = [&token](const std::string& text) {
    FILE* file = fopen(token.c_str(), "w");
    fputs(text.c_str(), file);
    fclose(file);
  };
  write("first\n");
  options_.bearer_token_file = token;
  Receiver receiver;
  Start(receiver.url());
  Offer(1);
  WaitUntilEmpty();
  EXPECT_EQ(receiver.headers()["authorization"], "Bearer first");
  write("second");
  Offer(1);
  WaitUntilEmpty();
  EXPECT_EQ(receiver.headers()["authorization"], "Bearer second");
  fs::remove(token);
}

TEST(HttpUrlTest, Parts) {
  EXPECT_EQ(ParseHttpUrl("http://h:8428/api/v1/write?a=b")->server, "http://h:8428");
  EXPECT_EQ(ParseHttpUrl("http://h:8428/api/v1/write?a=b")->path, "/api/v1/write?a=b");
  EXPECT_EQ(ParseHttpUrl("https://[::1]")->path, "/");
  for (const std::string bad :
       {"", "h:80", "ftp://h", "http://", "http://h:0/", "http://h:70000", "http://u:p@h/", "http://h/a b"}) {
    EXPECT_FALSE(ParseHttpUrl(bad).ok()) << bad;
  }
}

TEST(SnappyTest, BoundedAndChecked) {
  const std::string data(100'000, 'x');
  EXPECT_EQ(*SnappyDecompress(SnappyCompress(data), 100'000), data);
  EXPECT_FALSE(SnappyDecompress(SnappyCompress(data), 99'999).ok());
  EXPECT_FALSE(SnappyDecompress("", 100).ok());
  EXPECT_FALSE(SnappyDecompress("\x05gar", 100).ok());
  // Says that it holds four gigabytes.
  EXPECT_FALSE(SnappyDecompress("\xff\xff\xff\xff\x0f", 1 << 20).ok());
}

}  // namespace
}  // namespace fleetmark::collector
