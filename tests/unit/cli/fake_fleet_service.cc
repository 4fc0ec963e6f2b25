#include "tests/unit/cli/fake_fleet_service.h"

#include "absl/strings/str_cat.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

#include "common/base/mutex.h"
#include "fleetmark/v1/fleet.grpc.pb.h"

namespace fleetmark::cli {
namespace {

using grpc::ServerContext;
using grpc::Status;

constexpr const char* kRunOk = "01JAAAAAAAAAAAAAAAAAAAAAAA";
constexpr const char* kRunFailed = "01JBBBBBBBBBBBBBBBBBBBBBBB";
constexpr int kSeriesPages = 3;

class Service final : public v1::FleetService::Service {
 public:
  Service(absl::Time now, bool empty) : now_(now), empty_(empty) {}

  Received received() const {
    MutexLock lock(mu_);
    return received_;
  }

  Status GetStatus(ServerContext*, const v1::GetStatusRequest*, v1::GetStatusResponse* r) override {
    r->set_collector_version("9.8.7");
    r->set_time_unix_ns(Ago(absl::ZeroDuration()));
    r->set_started_unix_ns(Ago(absl::Hours(2) + absl::Minutes(5)));
    if (empty_) return Status::OK;
    r->set_nodes(2);
    r->set_nodes_connected(1);
    r->set_series(5);
    r->set_samples(120);
    r->set_runs(12);
    r->set_open_findings(2);
    r->set_open_findings_worse(1);
    (*r->mutable_runs_by_outcome())["ok"] = 11;
    (*r->mutable_runs_by_outcome())["failed"] = 1;
    r->set_store_bytes(1536 * 1024);
    r->add_problems("the store is nearly full");
    return Status::OK;
  }

  Status ListNodes(ServerContext*, const v1::ListNodesRequest* q, v1::ListNodesResponse* r) override {
    if (empty_) return Status::OK;
    if (q->name().empty() || q->name() == "n1") {
      v1::Node& node = *r->add_nodes();
      node.mutable_identity()->set_name("n1");
      (*node.mutable_identity()->mutable_labels())["rack"] = "r12";
      node.set_state(v1::NODE_STATE_CONNECTED);
      node.set_last_seen_unix_ns(Ago(absl::Seconds(5) + absl::Milliseconds(500)));
      node.set_last_run_unix_ns(Ago(absl::Minutes(3) + absl::Seconds(30)));
      node.set_open_findings(2);
      node.set_agent_version("1.2.3");
      node.mutable_heartbeat()->set_running_benchmark("stream");
      AddDetails(node);
    }
    if (q->name().empty()) {
      v1::Node& node = *r->add_nodes();
      node.mutable_identity()->set_name("knoten-ü");
      node.set_state(v1::NODE_STATE_GONE);
      node.set_last_seen_unix_ns(Ago(absl::Hours(49)));
    }
    return Status::OK;
  }

  Status GetFleet(ServerContext*, const v1::GetFleetRequest*, v1::FleetResponse* r) override {
    if (empty_) return Status::OK;
    r->add_names("knoten-ü");
    r->add_names("n1");
    return Status::OK;
  }

  Status ListBenchmarks(ServerContext*, const v1::ListBenchmarksRequest*,
                        v1::BenchmarksResponse* r) override {
    if (empty_) return Status::OK;
    v1::BenchmarkSummary& stream = *r->add_benchmarks();
    stream.set_name("stream");
    stream.set_nodes(2);
    stream.add_suites("base");
    stream.add_metrics()->set_name("triad_rate");
    stream.mutable_metrics(0)->set_unit("GB/s");
    return Status::OK;
  }

  // Three pages of one series each, whatever the limit.
  Status ListSeries(ServerContext*, const v1::ListSeriesRequest* q, v1::ListSeriesResponse* r) override {
    if (empty_ || q->selector().node() == "nobody") return Status::OK;
    const int page = q->page_token().empty() ? 0 : std::stoi(q->page_token());
    *r->add_series() = Series(static_cast<uint64_t>(page) + 7);
    if (page + 1 < kSeriesPages) r->set_next_page_token(absl::StrCat(page + 1));
    return Status::OK;
  }

  Status ReadSamples(ServerContext*, const v1::ReadSamplesRequest* q, v1::ReadSamplesResponse* r) override {
    if (q->series_id() == 9) {  // a step after 40 of 60 samples
      *r->mutable_series() = Series(9);
      for (int i = 0; i < 60; ++i) {
        v1::Sample& sample = *r->add_samples();
        sample.set_time_unix_ns(Ago(absl::Hours(60 - i)));
        sample.set_value((i < 40 ? 100 : 80) + i % 3);
      }
      return Status::OK;
    }
    if (q->series_id() != 7)
      return Status(grpc::NOT_FOUND, absl::StrCat("no series has the number ", q->series_id()));
    *r->mutable_series() = Series(7);
    for (int i = 0; i < 4; ++i) {
      v1::Sample& sample = *r->add_samples();
      sample.set_time_unix_ns(Ago(absl::Hours(4 - i) + absl::Minutes(1)));
      sample.set_value(10.0 + i);
      sample.set_run_id(kRunOk);
      sample.set_relative_spread(0.012);
    }
    r->set_truncated(true);
    return Status::OK;
  }

  Status ListRuns(ServerContext*, const v1::ListRunsRequest* q, v1::ListRunsResponse* r) override {
    if (empty_) return Status::OK;
    if (q->outcome() == v1::OUTCOME_UNSPECIFIED) *r->add_runs() = NodeRun(OkRun());
    *r->add_runs() = NodeRun(FailedRun());
    return Status::OK;
  }

  Status GetRun(ServerContext*, const v1::GetRunRequest* q, v1::GetRunResponse* r) override {
    if (q->run_id() != kRunFailed)
      return Status(grpc::NOT_FOUND, absl::StrCat("no run is called ", q->run_id()));
    *r->mutable_run() = NodeRun(FailedRun());
    r->mutable_run()->mutable_run()->set_log_tail("reading\n\x1b[31mred\x1b[0m disk error\n");
    return Status::OK;
  }

  void AddGroup(v1::Finding& group) const {
    group.set_finding_id("01JDDDDDDDDDDDDDDDDDDDDDDD");
    group.set_kind(v1::Finding::KIND_FLEET);
    group.set_direction(v1::Finding::DIRECTION_WORSE);
    group.set_state(v1::Finding::STATE_OPEN);
    group.set_found_unix_ns(Ago(absl::Minutes(10)));
    group.set_scope("gpu.driver 570.124");
    group.set_member_count(23);
    group.set_explanation("23 of 24 nodes with gpu.driver 570.124, 0 of 180 others");
    group.mutable_budget()->set_within(true);
  }

  Status ListFindings(ServerContext*, const v1::ListFindingsRequest* q,
                      v1::ListFindingsResponse* r) override {
    if (empty_ || q->state() == v1::Finding::STATE_CLOSED) return Status::OK;
    if (q->direction() == v1::Finding::DIRECTION_WORSE) {  // a finding about several, and one of its members
      AddGroup(*r->add_findings());
      if (q->top_level()) return Status::OK;
    }
    v1::Finding& f = *r->add_findings();
    f.set_finding_id("01JCCCCCCCCCCCCCCCCCCCCCCC");
    f.set_series_id(7);
    *f.mutable_series() = Series(7).key();
    f.set_kind(v1::Finding::KIND_CHANGE);
    f.set_direction(v1::Finding::DIRECTION_WORSE);
    f.set_state(v1::Finding::STATE_OPEN);
    f.set_found_unix_ns(Ago(absl::Minutes(10) + absl::Seconds(1)));
    f.set_onset_latest_unix_ns(Ago(absl::Hours(1) + absl::Seconds(1)));
    f.set_before(12.5);
    f.set_after(10);
    f.set_change(-0.2);
    f.set_change_low(-0.22);
    f.set_change_high(-0.18);
    f.set_confidence(0.99999);
    f.set_detector("mann_whitney");
    f.set_explanation("fell by 20 %");
    return Status::OK;
  }

  Status ListEvents(ServerContext*, const v1::ListEventsRequest*, v1::ListEventsResponse* r) override {
    if (empty_) return Status::OK;
    v1::Event& event = *r->add_events();
    event.set_time_unix_ns(Ago(absl::Hours(1) + absl::Seconds(1)));
    event.set_node("n1");
    event.set_kind(v1::Event::KIND_FACT_CHANGED);
    event.set_subject("kernel.release");
    event.set_old_value("6.1.0-1");
    event.set_new_value("6.1.0-2");
    event.set_author("agent");
    return Status::OK;
  }

  Status AddEvent(ServerContext*, const v1::AddEventRequest* q, v1::AddEventResponse* r) override {
    if (q->event().node() == "nobody") return Status(grpc::NOT_FOUND, "no node is called nobody");
    MutexLock lock(mu_);
    received_.events.push_back(q->event());
    r->set_event_id("01JDDDDDDDDDDDDDDDDDDDDDDD");
    return Status::OK;
  }

  Status Backup(ServerContext*, const v1::BackupRequest*, v1::BackupResponse* r) override {
    if (empty_) return Status(grpc::FAILED_PRECONDITION, "store.backup_dir is not set");
    r->set_folder("/backups/20261203T021500.250Z");
    r->set_time_unix_ns(Ago(absl::ZeroDuration()));
    r->set_files(12);
    r->set_bytes(5 << 20);
    r->set_linked(true);
    r->add_removed("20261101T021500.250Z");
    return Status::OK;
  }

  Status CancelRun(ServerContext*, const v1::CancelRunRequest* q, v1::CancelRunResponse*) override {
    MutexLock lock(mu_);
    received_.cancels.push_back(*q);
    changed_.NotifyAll();
    return Status::OK;
  }

  // What happens depends on the benchmark's name.
  Status RunNow(ServerContext* context, const v1::RunNowRequest* q,
                grpc::ServerWriter<v1::RunProgress>* writer) override {
    if (q->node() == "gone") return Status(grpc::UNAVAILABLE, "node gone is not connected");
    v1::RunProgress progress;
    progress.set_request_id("request-1");
    progress.set_state(v1::RunProgress::STATE_QUEUED);
    writer->Write(progress);
    if (q->benchmark() == "busy") {
      progress.set_state(v1::RunProgress::STATE_REFUSED);
      progress.set_message("a user's job is running");
      writer->Write(progress);
      return Status::OK;
    }
    progress.set_state(v1::RunProgress::STATE_RUNNING);
    progress.set_run_id(kRunOk);
    progress.set_fraction(0.5);
    progress.set_message("triad");
    writer->Write(progress);
    if (q->benchmark() == "endless") AwaitCancel(*context);
    progress.set_state(v1::RunProgress::STATE_FINISHED);
    *progress.mutable_run() = EndOf(q->benchmark());
    writer->Write(progress);
    return Status::OK;
  }

  void Stop() {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }

 private:
  // Until somebody cancels the run or the test ends. A caller that leaves does not end it.
  void AwaitCancel(const ServerContext&) {
    MutexLock lock(mu_);
    while (received_.cancels.empty() && !stopping_) changed_.Wait(mu_);
  }

  v1::Run EndOf(const std::string& benchmark) const {
    if (benchmark == "broken") return FailedRun();
    v1::Run run = OkRun();
    if (benchmark == "endless") run.set_outcome(v1::OUTCOME_CANCELLED);
    return run;
  }

  int64_t Ago(absl::Duration d) const { return absl::ToUnixNanos(now_ - d); }

  void AddDetails(v1::Node& node) const {
    v1::Fact& fact = *node.add_facts();
    fact.set_name("cpu.model");
    fact.set_value("Pentium\tIII");
    v1::Benchmark& benchmark = *node.add_benchmarks();
    benchmark.set_name("stream");
    benchmark.set_plugin("memory_bandwidth");
    benchmark.set_schedule("every 15m");
    benchmark.set_enabled(true);
  }

  v1::Series Series(uint64_t id) const {
    v1::Series series;
    series.set_series_id(id);
    series.mutable_key()->set_node("n1");
    series.mutable_key()->set_benchmark("stream");
    series.mutable_key()->set_metric("triad_rate");
    series.mutable_key()->set_unit("GB/s");
    (*series.mutable_key()->mutable_labels())["numa"] = "0";
    series.set_better(v1::BETTER_HIGHER);
    series.set_samples(40);
    series.set_last_value(12.3456789);
    series.set_last_unix_ns(Ago(absl::Minutes(3) + absl::Seconds(30)));
    return series;
  }

  v1::NodeRun NodeRun(v1::Run run) const {
    v1::NodeRun item;
    item.set_node("n1");
    *item.mutable_run() = std::move(run);
    return item;
  }

  v1::Run OkRun() const {
    v1::Run run;
    run.set_run_id(kRunOk);
    run.set_benchmark("stream");
    run.set_plugin("memory_bandwidth");
    run.set_plugin_version("1");
    run.set_outcome(v1::OUTCOME_OK);
    run.set_trigger(v1::TRIGGER_MANUAL);
    run.set_started_unix_ns(Ago(absl::Minutes(3) + absl::Seconds(30)));
    run.set_duration_seconds(4.25);
    v1::Metric& metric = *run.add_metrics();
    metric.set_name("triad_rate");
    metric.set_value(12.3456789);
    metric.set_unit("GB/s");
    metric.set_repetitions(10);
    metric.set_relative_spread(0.012);
    return run;
  }

  v1::Run FailedRun() const {
    v1::Run run;
    run.set_run_id(kRunFailed);
    run.set_benchmark("disk");
    run.set_plugin("disk_fio");
    run.set_plugin_version("2");
    run.set_params_json("{\"size\":1}");
    run.set_outcome(v1::OUTCOME_FAILED);
    run.set_reason("exit status 1");
    run.set_exit_status(1);
    run.set_trigger(v1::TRIGGER_SCHEDULE);
    run.set_started_unix_ns(Ago(absl::Hours(1) + absl::Seconds(1)));
    run.set_duration_seconds(130);
    return run;
  }

  const absl::Time now_;
  const bool empty_;
  mutable Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  Received received_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

struct FakeFleet::Impl {
  Impl(absl::Time now, bool empty) : service(now, empty) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
  }
  ~Impl() {
    service.Stop();
    server->Shutdown();
  }

  Service service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

FakeFleet::FakeFleet(absl::Time now, bool empty) : impl_(std::make_unique<Impl>(now, empty)) {}
FakeFleet::~FakeFleet() = default;
std::string FakeFleet::address() const { return absl::StrCat("127.0.0.1:", impl_->port); }
Received FakeFleet::received() const { return impl_->service.received(); }

}  // namespace fleetmark::cli
