// ingest_load --port N …: sends runs of known content to a collector, as agents do, whatever becomes of it in
// between, and later says whether they are there.
//
//   ingest_load send   --port N --nodes K --t0_ns T --step_ns S [--per_second R] [--metrics M]
//     Sends until its standard input ends, reconnecting when the collector goes away; then waits for what is
//     under way. Prints one line, {"acked":[…],"sent":[…],"reconnects":n}, a number for each node. A
//     watermark below what was acknowledged ends it with exit status 1.
//   ingest_load verify --port N … --acked A,B,… --sent A,B,… [--oldest_ns T]
//     Every run up to `acked` whose time is at least oldest_ns is there, once, each value bit for bit; none
//     is there beyond `sent`. Prints {"samples":n}; a fault is a line on standard error and exit status 1.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "common/base/clock.h"
#include "common/base/ulid.h"
#include "fleetmark/v1/agent.grpc.pb.h"
#include "fleetmark/v1/fleet.grpc.pb.h"

namespace fleetmark {
namespace {

constexpr uint64_t kBatch = 20;
constexpr size_t kWindow = 4;  // batches that are not acknowledged yet
constexpr uint32_t kPage = 50'000;

struct Options {
  std::string address;
  int nodes = 4;
  int metrics = 5;
  int64_t t0_ns = 0;
  int64_t step_ns = 1'000'000;
  double per_second = 400;  // runs of each node
  std::string prefix = "load";
  std::vector<uint64_t> acked, sent;
  int64_t oldest_ns = INT64_MIN;
};

// The finaliser of splitmix64 (Steele, Lea and Flood, 2014).
uint64_t Mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// A pure function of its place. All shapes that the codecs tell apart, any finite bits among them.
double ValueOf(int node, int metric, uint64_t sequence) {
  const uint64_t hash =
      Mixed(Mixed(static_cast<uint64_t>(node) * 64 + static_cast<uint64_t>(metric)) + sequence);
  const auto small = static_cast<double>(hash % 100'000);
  switch (metric % 5) {
    case 0:
      return std::round(small) / 100;
    case 1:
      return 1e6 * static_cast<double>(hash >> 11) / 9007199254740992.0;
    case 2:
      return small;
    case 3: {
      const double any = std::bit_cast<double>(hash);
      return std::isfinite(any) ? any : -0.0;
    }
    default:
      return 42.5;
  }
}

std::string NodeName(const Options& o, int node) { return absl::StrCat(o.prefix, "-", node); }

int64_t TimeOf(const Options& o, uint64_t sequence) {
  return o.t0_ns + static_cast<int64_t>(sequence) * o.step_ns;
}

void FillRun(const Options& o, int node, uint64_t sequence, v1::Run* run) {
  const int64_t time = TimeOf(o, sequence);
  run->set_run_id(NewUlid(absl::FromUnixNanos(time)));
  run->set_benchmark("load");
  run->set_plugin("load");
  run->set_plugin_version("1");
  run->set_params_digest("0011223344556677");
  run->set_outcome(v1::OUTCOME_OK);
  run->set_started_unix_ns(time);
  run->set_duration_seconds(0.001);
  for (int metric = 0; metric < o.metrics; ++metric) {
    v1::Metric& to = *run->add_metrics();
    to.set_name(absl::StrCat("m", metric));
    to.set_unit("GB/s");
    to.set_better(v1::BETTER_HIGHER);
    to.set_value(ValueOf(node, metric, sequence));
  }
}

[[noreturn]] void Die(const std::string& what) {
  fprintf(stderr, "ingest_load: %s\n", what.c_str());
  std::exit(1);
}

std::shared_ptr<grpc::Channel> MakeChannel(const Options& o) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  return grpc::CreateCustomChannel(o.address, grpc::InsecureChannelCredentials(), arguments);
}

// One node's life across connections.
class Sender {
 public:
  Sender(const Options& o, int node, const std::atomic<bool>& stop)
      : o_(o), node_(node), stop_(stop), channel_(MakeChannel(o)), began_(RealClock().Now()) {}

  // Until it is to stop and everything sent is acknowledged.
  void Run() {
    const auto stub = v1::AgentService::NewStub(channel_);
    while (!stop_ || acked_ < sent_) {
      Connection(stub.get());
      ++connections_;
      WaitFor(RealClock(), absl::Milliseconds(20));
    }
  }

  uint64_t acked() const { return acked_; }
  uint64_t sent() const { return sent_; }
  uint64_t connections() const { return connections_; }

 private:
  using Stream = grpc::ClientReaderWriter<v1::AgentMessage, v1::CollectorMessage>;

  void Connection(v1::AgentService::Stub* stub) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    const std::unique_ptr<Stream> stream = stub->Connect(&context);
    if (Hello(stream.get())) Send(stream.get());
    context.TryCancel();
    (void)stream->Finish();
  }

  bool Hello(Stream* stream) {
    v1::AgentMessage message;
    v1::Hello& hello = *message.mutable_hello();
    hello.set_protocol(1);
    hello.mutable_node()->set_name(NodeName(o_, node_));
    hello.set_epoch("00000000000000000000000000000001");
    hello.set_agent_version("load");
    v1::CollectorMessage answer;
    if (!stream->Write(message) || !stream->Read(&answer) || !answer.has_welcome()) return false;
    const uint64_t stored = answer.welcome().acked_sequence();
    if (stored < acked_)
      Die(absl::StrCat(NodeName(o_, node_), ": ", acked_, " were acknowledged, and ", stored, " are stored"));
    if (stored > sent_)
      Die(absl::StrCat(NodeName(o_, node_), ": ", stored, " are stored, and ", sent_, " were sent"));
    acked_ = next_ = stored;
    return true;
  }

  // Until the stream ends, or all is done.
  void Send(Stream* stream) {
    while (true) {
      const bool more = !stop_ || next_ < sent_;
      if (!more && acked_ >= next_) return;
      if (more && (next_ - acked_) / kBatch < kWindow) {
        if (!WriteBatch(stream)) return;
      } else if (!ReadOne(stream)) {
        return;
      }
    }
  }

  bool WriteBatch(Stream* stream) {
    const absl::Time due = began_ + absl::Seconds(static_cast<double>(next_) / o_.per_second);
    if (next_ >= sent_ && due > RealClock().Now()) {
      WaitFor(RealClock(), absl::Milliseconds(5));
      return next_ == acked_ || ReadOne(stream);
    }
    v1::AgentMessage message;
    for (uint64_t i = 0; i < kBatch; ++i) {
      v1::Record& record = *message.mutable_records()->add_records();
      record.set_sequence(++next_);
      FillRun(o_, node_, next_, record.mutable_run());
    }
    sent_ = std::max(sent_, next_);
    return stream->Write(message);
  }

  bool ReadOne(Stream* stream) {
    v1::CollectorMessage answer;
    if (!stream->Read(&answer)) return false;
    if (answer.has_ack()) acked_ = std::max(acked_, answer.ack().sequence());
    return !answer.has_pause();
  }

  const Options& o_;
  const int node_;
  const std::atomic<bool>& stop_;
  const std::shared_ptr<grpc::Channel> channel_;
  const absl::Time began_;
  uint64_t acked_ = 0, sent_ = 0, next_ = 0, connections_ = 0;
};

int SendAll(const Options& o) {
  std::atomic<bool> stop = false;
  std::vector<std::unique_ptr<Sender>> senders;
  std::vector<std::thread> threads;
  for (int node = 0; node < o.nodes; ++node) {
    senders.push_back(std::make_unique<Sender>(o, node, stop));
    threads.emplace_back([sender = senders.back().get()] { sender->Run(); });
  }
  char ignored[64];
  while (read(STDIN_FILENO, ignored, sizeof ignored) > 0) {
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::vector<uint64_t> acked, sent;
  uint64_t reconnects = 0;
  for (const auto& sender : senders) {
    acked.push_back(sender->acked());
    sent.push_back(sender->sent());
    reconnects += sender->connections() - 1;
  }
  printf("{\"acked\":[%s],\"sent\":[%s],\"reconnects\":%llu}\n", absl::StrJoin(acked, ",").c_str(),
         absl::StrJoin(sent, ",").c_str(), static_cast<unsigned long long>(reconnects));
  return 0;
}

class Verifier {
 public:
  explicit Verifier(const Options& o) : o_(o), stub_(v1::FleetService::NewStub(MakeChannel(o))) {}

  int Run() {
    for (int node = 0; node < o_.nodes; ++node) {
      for (int metric = 0; metric < o_.metrics; ++metric) Check(node, metric);
    }
    printf("{\"samples\":%llu}\n", static_cast<unsigned long long>(samples_));
    return 0;
  }

 private:
  void Check(int node, int metric) {
    const auto n = static_cast<size_t>(node);
    const std::string what = absl::StrCat(NodeName(o_, node), " m", metric);
    v1::ListSeriesRequest list;
    list.mutable_selector()->set_node(NodeName(o_, node));
    list.mutable_selector()->set_metric(absl::StrCat("m", metric));
    v1::ListSeriesResponse series;
    Call(&v1::FleetService::Stub::ListSeries, list, &series);
    if (series.series_size() != 1)
      Die(absl::StrCat(what, ": there are ", series.series_size(), " such series"));
    uint64_t last = 0;  // sequence
    v1::ReadSamplesRequest read;
    read.set_series_id(series.series(0).series_id());
    read.set_limit(kPage);
    v1::ReadSamplesResponse page;
    do {
      Call(&v1::FleetService::Stub::ReadSamples, read, &page);
      for (const v1::Sample& sample : page.samples()) {
        const int64_t since = sample.time_unix_ns() - o_.t0_ns;
        const auto sequence = static_cast<uint64_t>(since / o_.step_ns);
        if (since % o_.step_ns != 0 || sequence <= last) {
          Die(absl::StrCat(what, ": a sample at ", sample.time_unix_ns(),
                           " that was not sent, or came twice"));
        }
        for (uint64_t gone = last + 1; gone < sequence; ++gone) Missing(what, gone, n);
        if (sequence > o_.sent[n]) Die(absl::StrCat(what, ": ", sequence, " was never sent"));
        const double right = ValueOf(node, metric, sequence);
        if (std::bit_cast<uint64_t>(sample.value()) != std::bit_cast<uint64_t>(right)) {
          Die(absl::StrCat(what, ": sample ", sequence, " is ", sample.value(), " and not ", right));
        }
        last = sequence;
        ++samples_;
      }
      read.mutable_range()->set_from_unix_ns(TimeOf(o_, last) + 1);
    } while (page.truncated());
    for (uint64_t gone = last + 1; gone <= o_.acked[n]; ++gone) Missing(what, gone, n);
  }

  void Missing(const std::string& what, uint64_t sequence, size_t node) const {
    if (sequence > o_.acked[node] || TimeOf(o_, sequence) < o_.oldest_ns) return;
    Die(absl::StrCat(what, ": sample ", sequence, " of ", o_.acked[node], " acknowledged ones is not there"));
  }

  template <typename Request, typename Response>
  void Call(grpc::Status (v1::FleetService::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
            const Request& request, Response* response) const {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    response->Clear();
    const grpc::Status status = (stub_.get()->*method)(&context, request, response);
    if (!status.ok()) Die(status.error_message());
  }

  const Options& o_;
  const std::unique_ptr<v1::FleetService::Stub> stub_;
  uint64_t samples_ = 0;
};

std::vector<uint64_t> Numbers(const std::string& text) {
  std::vector<uint64_t> numbers;
  for (const auto& part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    numbers.push_back(std::strtoull(std::string(part).c_str(), nullptr, 10));
  }
  return numbers;
}

Options Read(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 2; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
  Options o;
  o.address = absl::StrCat("127.0.0.1:", flags["--port"]);
  if (flags.contains("--prefix")) o.prefix = flags["--prefix"];
  if (flags.contains("--nodes")) o.nodes = std::atoi(flags["--nodes"].c_str());
  if (flags.contains("--metrics")) o.metrics = std::atoi(flags["--metrics"].c_str());
  if (flags.contains("--t0_ns")) o.t0_ns = std::atoll(flags["--t0_ns"].c_str());
  if (flags.contains("--step_ns")) o.step_ns = std::atoll(flags["--step_ns"].c_str());
  if (flags.contains("--per_second")) o.per_second = std::atof(flags["--per_second"].c_str());
  if (flags.contains("--oldest_ns")) o.oldest_ns = std::atoll(flags["--oldest_ns"].c_str());
  o.acked = Numbers(flags["--acked"]);
  o.sent = Numbers(flags["--sent"]);
  return o;
}

int Main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const Options options = Read(argc, argv);
  if (mode == "send") return SendAll(options);
  const auto nodes = static_cast<size_t>(options.nodes);
  if (mode == "verify" && options.acked.size() == nodes && options.sent.size() == nodes)
    return Verifier(options).Run();
  fprintf(stderr, "usage: ingest_load send|verify --port N …\n");
  return 2;
}

}  // namespace
}  // namespace fleetmark

int main(int argc, char** argv) { return fleetmark::Main(argc, argv); }
