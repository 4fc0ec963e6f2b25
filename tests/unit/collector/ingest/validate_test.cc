#include "collector/ingest/validate.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/status.h"
#include "common/model/limits.h"
#include "tests/unit/collector/store/records.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const absl::Time kNow = absl::FromUnixNanos(kStartNs);

v1::Hello GoodHello() {
  v1::Hello hello;
  hello.set_protocol(1);
  hello.mutable_node()->set_name("n1");
  hello.set_epoch(kEpoch);
  hello.set_agent_version("0.1.0");
  return hello;
}

TEST(CheckHello, Table) {
  struct Case {
    const char* told;  // empty: good
    std::function<void(v1::Hello*)> change;
  };
  const std::vector<Case> cases = {
      {"", [](v1::Hello*) {}},
      {"", [](v1::Hello* h) { h->set_protocol(7); }},  // a newer agent
      {"protocol", [](v1::Hello* h) { h->clear_protocol(); }},
      {"node name", [](v1::Hello* h) { h->mutable_node()->set_name("not a host"); }},
      {"node name", [](v1::Hello* h) { h->clear_node(); }},
      {"label name", [](v1::Hello* h) { (*h->mutable_node()->mutable_labels())["a b"] = "x"; }},
      {"epoch", [](v1::Hello* h) { h->set_epoch("short"); }},
      {"epoch", [](v1::Hello* h) { h->set_epoch(std::string(32, 'G')); }},
      {"agent_version", [](v1::Hello* h) { h->set_agent_version(std::string(65, 'v')); }},
      {"boot_id", [](v1::Hello* h) { h->set_boot_id(std::string(65, 'b')); }},
      {"fact value", [](v1::Hello* h) { h->add_facts()->set_value(std::string(1025, 'x')); }},
      {"facts has 1001",
       [](v1::Hello* h) {
         for (int i = 0; i < 1001; ++i) h->add_facts();
       }},
      {"plugins has 1001",
       [](v1::Hello* h) {
         for (int i = 0; i < 1001; ++i) h->add_plugins();
       }},
      {"benchmark name", [](v1::Hello* h) { h->add_benchmarks()->set_name("a/b"); }},
      {"params_json",
       [](v1::Hello* h) {
         h->add_benchmarks()->set_name("b");
         h->mutable_benchmarks(0)->set_params_json(std::string(20'000, ' '));
       }},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    v1::Hello hello = GoodHello();
    cases[i].change(&hello);
    const absl::Status status = CheckHello(hello);
    if (*cases[i].told == '\0') {
      EXPECT_TRUE(status.ok()) << i << ": " << status;
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << i;
      EXPECT_THAT(Message(status), HasSubstr(cases[i].told)) << i;
    }
  }
}

TEST(CheckHeartbeat, Table) {
  EXPECT_TRUE(CheckHeartbeat({}).ok());
  v1::Heartbeat heartbeat;
  heartbeat.set_running_benchmark(std::string(100, 'x'));
  EXPECT_FALSE(CheckHeartbeat(heartbeat).ok());
  heartbeat.Clear();
  heartbeat.add_benchmarks();
  EXPECT_FALSE(CheckHeartbeat(heartbeat).ok());
}

TEST(CheckBatch, OneBadRecordDoesNotCostTheOthers) {
  struct Case {
    RefusalKind kind;
    const char* told;
    std::function<void(v1::Record*)> change;
  };
  const int64_t year_ns = static_cast<int64_t>(limits::kClockRepairSeconds * 1e9);
  const std::vector<Case> cases = {
      {RefusalKind::kInvalid, "run_id", [](v1::Record* r) { r->mutable_run()->set_run_id("x"); }},
      {RefusalKind::kInvalid, "unit",
       [](v1::Record* r) { r->mutable_run()->mutable_metrics(0)->set_unit("GBps"); }},
      {RefusalKind::kInvalid, "outcome", [](v1::Record* r) { r->mutable_run()->clear_outcome(); }},
      {RefusalKind::kFuture, "started_unix_ns is 9600h1s ahead",
       [=](v1::Record* r) { r->mutable_run()->set_started_unix_ns(kStartNs + year_ns + 1'000'000'000); }},
      {RefusalKind::kFuture, "scheduled_unix_ns",
       [=](v1::Record* r) { r->mutable_run()->set_scheduled_unix_ns(kStartNs + 2 * year_ns); }},
      {RefusalKind::kOtherNode, "'n2'",
       [](v1::Record* r) { *r->mutable_event() = MakeEvent("n2", kStartNs); }},
      {RefusalKind::kFuture, "time_unix_ns",
       [=](v1::Record* r) { *r->mutable_event() = MakeEvent("n1", kStartNs + 2 * year_ns); }},
      {RefusalKind::kInvalid, "fact name",
       [](v1::Record* r) { r->mutable_facts()->add_facts()->set_name(std::string(200, 'n')); }},
      {RefusalKind::kTooLarge, "bytes",
       [](v1::Record* r) { r->mutable_run()->set_reason(std::string(limits::kRecordBytes, 'x')); }},
      {RefusalKind::kUnknownKind, "kind", [](v1::Record* r) { r->clear_run(); }},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    v1::RecordBatch batch;
    *batch.add_records() = RunRecord(3, MakeRun(kStartNs));
    *batch.add_records() = RunRecord(5, MakeRun(kStartNs));
    *batch.add_records() = RunRecord(6, MakeRun(kStartNs));
    cases[i].change(batch.mutable_records(1));
    const auto checked = CheckBatch(batch, "n1", kNow);
    ASSERT_TRUE(checked.ok()) << i;
    ASSERT_THAT(checked->accepted, SizeIs(2)) << i;
    EXPECT_EQ(checked->accepted[1].sequence(), 6u);
    ASSERT_THAT(checked->refused, SizeIs(1)) << i;
    EXPECT_EQ(checked->refused[0].kind, cases[i].kind) << i;
    EXPECT_EQ(checked->refused[0].refusal.sequence(), 5u);
    EXPECT_THAT(checked->refused[0].refusal.reason(), HasSubstr(cases[i].told)) << i;
  }
}

TEST(CheckBatch, ARunWithinTheSkewIsKept) {
  v1::RecordBatch batch;
  *batch.add_records() =
      RunRecord(1, MakeRun(kStartNs + static_cast<int64_t>(limits::kClockSkewSeconds * 1e9)));
  EXPECT_THAT(CheckBatch(batch, "n1", kNow)->accepted, SizeIs(1));
}

TEST(CheckBatch, WhatAClockAheadStampedIsMovedBack) {
  const int64_t day_ns = 86'400'000'000'000, second_ns = 1'000'000'000;
  v1::RecordBatch batch;
  *batch.add_records() = RunRecord(1, MakeRun(kStartNs - 60 * second_ns));  // before its clock went wrong
  *batch.add_records() = RunRecord(2, MakeRun(kStartNs + day_ns));
  batch.mutable_records(1)->mutable_run()->set_scheduled_unix_ns(kStartNs - 30 * second_ns);
  *batch.add_records() = RunRecord(3, MakeRun(kStartNs + day_ns + 10 * second_ns));
  batch.mutable_records(2)->mutable_run()->set_scheduled_unix_ns(kStartNs + day_ns + 9 * second_ns);
  batch.add_records()->set_sequence(4);
  *batch.mutable_records(3)->mutable_event() = MakeEvent("n1", kStartNs + day_ns + 5 * second_ns);
  const auto checked = CheckBatch(batch, "n1", kNow);
  ASSERT_TRUE(checked.ok());
  EXPECT_THAT(checked->refused, SizeIs(0));
  EXPECT_EQ(checked->moved_back, 3u);
  EXPECT_EQ(checked->moved_by, absl::Nanoseconds(day_ns + 12 * second_ns));  // each run took 2 s
  ASSERT_THAT(checked->accepted, SizeIs(4));
  const auto run = [&](size_t i) { return checked->accepted[i].run(); };
  EXPECT_EQ(run(0).started_unix_ns(), kStartNs - 60 * second_ns);
  EXPECT_EQ(run(0).warnings_size(), 0);
  EXPECT_EQ(run(1).started_unix_ns(), kStartNs - 12 * second_ns);
  EXPECT_EQ(run(1).scheduled_unix_ns(), kStartNs - 30 * second_ns);
  EXPECT_EQ(run(2).started_unix_ns(), kStartNs - 2 * second_ns);
  EXPECT_EQ(run(2).scheduled_unix_ns(), kStartNs - 3 * second_ns);
  ASSERT_EQ(run(2).warnings_size(), 1);
  EXPECT_THAT(run(2).warnings(0), HasSubstr("moved back by 24h12s"));
  EXPECT_EQ(checked->accepted[3].event().time_unix_ns(), kStartNs - 7 * second_ns);
}

TEST(CheckLeaseRequest, Table) {
  v1::LeaseRequest good;
  good.set_request_id("l1");
  good.set_benchmark("gemm");
  good.set_duration_seconds(60);
  EXPECT_TRUE(CheckLeaseRequest(good).ok());
  for (const double seconds : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    v1::LeaseRequest bad = good;
    bad.set_duration_seconds(seconds);
    EXPECT_THAT(Message(CheckLeaseRequest(bad)), HasSubstr("duration_seconds"));
  }
  v1::LeaseRequest bad = good;
  bad.set_request_id(std::string(65, 'x'));
  EXPECT_THAT(Message(CheckLeaseRequest(bad)), HasSubstr("request_id"));
  bad = good;
  bad.set_benchmark("a b");
  EXPECT_THAT(Message(CheckLeaseRequest(bad)), HasSubstr("benchmark"));
}

TEST(CheckBatch, AnEventWithoutNodeIsTheSenders) {
  v1::RecordBatch batch;
  v1::Record& record = *batch.add_records();
  record.set_sequence(1);
  *record.mutable_event() = MakeEvent("", kStartNs);
  const auto checked = CheckBatch(batch, "n1", kNow);
  ASSERT_THAT(checked->accepted, SizeIs(1));
  EXPECT_EQ(checked->accepted[0].event().node(), "n1");
}

TEST(CheckBatch, SequencesMustAscend) {
  for (const auto& sequences : std::vector<std::vector<uint64_t>>{{0}, {2, 2}, {2, 1}}) {
    v1::RecordBatch batch;
    for (const uint64_t sequence : sequences) *batch.add_records() = RunRecord(sequence);
    EXPECT_EQ(CheckBatch(batch, "n1", kNow).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(CheckBatch, ABatchHasALimit) {
  v1::RecordBatch batch;
  for (uint64_t i = 1; i <= 3; ++i) {
    *batch.add_records() = RunRecord(i);
    batch.mutable_records(static_cast<int>(i - 1))->mutable_run()->set_reason(std::string(800'000, 'x'));
  }
  EXPECT_EQ(CheckBatch(batch, "n1", kNow).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fleetmark::collector
