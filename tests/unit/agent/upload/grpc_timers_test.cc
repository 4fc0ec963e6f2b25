// gRPC over our timers. One process has one GrpcTimers, so that its tests are a program of their own, with
// one clock.
#include "agent/upload/grpc_timers.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"

#include "common/base/mutex.h"
#include "fleetmark/v1/agent.grpc.pb.h"
#include "grpc/event_engine/event_engine.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::agent {
namespace {

using grpc_event_engine::experimental::EventEngine;

// As gRPC's timers, it lives as long as the process.
FakeClock& Time() {
  static auto* const clock = new FakeClock();
  return *clock;
}

GrpcTimers& Timers() { return GrpcTimers::TakeOver(Time()); }

// Moves the time on once the timers' thread sleeps.
void Advance(absl::Duration by) {
  Time().AwaitWaiters(1);
  Time().Advance(by);
}

// Numbers that other threads give.
class Numbers {
 public:
  void Add(int number) {
    MutexLock lock(mu_);
    numbers_.push_back(number);
    changed_.NotifyAll();
  }
  std::vector<int> Await(size_t count) {
    MutexLock lock(mu_);
    while (numbers_.size() < count) changed_.Wait(mu_);
    return numbers_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<int> numbers_ ABSL_GUARDED_BY(mu_);
};

TEST(GrpcTimers, TasksRunInTheOrderOfTheirDeadlines) {
  Timers();
  const auto engine = grpc_event_engine::experimental::CreateEventEngine();
  Numbers ran;
  engine->RunAfter(std::chrono::milliseconds(40), [&] { ran.Add(2); });
  engine->RunAfter(std::chrono::milliseconds(20), [&] { ran.Add(1); });
  Advance(absl::Milliseconds(30));
  EXPECT_EQ(ran.Await(1), (std::vector<int>{1}));
  Advance(absl::Milliseconds(10));
  EXPECT_EQ(ran.Await(2), (std::vector<int>{1, 2}));
}

TEST(GrpcTimers, WhatIsCancelledDoesNotRun) {
  Timers();
  const auto engine = grpc_event_engine::experimental::CreateEventEngine();
  Numbers ran;
  const auto later = engine->RunAfter(std::chrono::milliseconds(20), [&] { ran.Add(1); });
  EXPECT_TRUE(engine->Cancel(later));
  EXPECT_FALSE(engine->Cancel(later)) << "it is gone";
  const auto soon = engine->RunAfter(std::chrono::milliseconds(40), [&] { ran.Add(2); });
  Advance(absl::Milliseconds(50));
  EXPECT_EQ(ran.Await(1), (std::vector<int>{2}));
  EXPECT_FALSE(engine->Cancel(soon)) << "it has run";
}

TEST(GrpcTimers, ATaskMayAddAndCancelTasks) {
  Timers();
  const auto engine = grpc_event_engine::experimental::CreateEventEngine();
  Numbers ran;
  const auto never = engine->RunAfter(std::chrono::hours(1), [&] { ran.Add(9); });
  engine->Run([&] {
    EXPECT_TRUE(engine->IsWorkerThread());
    EXPECT_TRUE(engine->Cancel(never));
    engine->Run([&] { ran.Add(1); });
  });
  EXPECT_EQ(ran.Await(1), (std::vector<int>{1}));
  EXPECT_FALSE(engine->IsWorkerThread());
}

TEST(GrpcTimers, TheCoreIsLookedAtOftenOnlyWhenSomethingWaits) {
  Timers();
  Advance(absl::Seconds(15));  // whatever was before, a look has just been
  Time().AwaitWaiters(1);
  EXPECT_EQ(Time().NextDeadline(), Time().Mono() + absl::Seconds(15));
  const GrpcTimers::Exact exact(Timers());
  while (Time().NextDeadline() > Time().Mono() + absl::Milliseconds(250)) std::this_thread::yield();
}

// Takes a stream and says nothing until the client is gone.
class Silent final : public v1::AgentService::Service {
  grpc::Status Connect(grpc::ServerContext*,
                       grpc::ServerReaderWriter<v1::CollectorMessage, v1::AgentMessage>* stream) override {
    v1::AgentMessage message;
    while (stream->Read(&message)) continue;
    return grpc::Status::OK;
  }
};

TEST(GrpcTimers, TheDeadlineOfACallEndsIt) {
  GrpcTimers& timers = Timers();
  Silent service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const auto stub = v1::AgentService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  const GrpcTimers::Exact exact(timers);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
  const auto stream = stub->Connect(&context);
  std::atomic<bool> ended = false;
  std::thread reader([&] {
    v1::CollectorMessage message;
    EXPECT_FALSE(stream->Read(&message));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    ended = true;
  });
  // gRPC's own clock is the machine's; when it is looked at is ours.
  while (!ended) Advance(absl::Milliseconds(250));
  reader.join();
}

}  // namespace
}  // namespace fleetmark::agent
