#include "collector/control/sessions.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The far end of a session.
struct FakeAgent {
  bool takes_messages = true;
  std::vector<v1::CollectorMessage> messages;
  std::vector<absl::Status> closed;

  Sessions::Link link() {
    return {[this](const v1::CollectorMessage& message) {
              if (takes_messages) messages.push_back(message);
              return takes_messages;
            },
            [this](const absl::Status& status) { closed.push_back(status); }};
  }
};

struct FakeFollower {
  std::vector<v1::RunProgress::State> states;
  std::vector<absl::StatusCode> ends;

  Sessions::Follower follower() {
    return {[this](const v1::RunProgress& progress) { states.push_back(progress.state()); },
            [this](const absl::Status& status) { ends.push_back(status.code()); }};
  }
};

class SessionsTest : public ::testing::Test {
 protected:
  static v1::RunNowRequest Request(const std::string& node) {
    v1::RunNowRequest request;
    request.set_node(node);
    request.set_benchmark("stream");
    request.set_asked_by("ann");
    return request;
  }

  void Progress(uint64_t session, const std::string& request_id, v1::RunProgress::State state) {
    v1::RunProgress progress;
    progress.set_request_id(request_id);
    progress.set_state(state);
    sessions_.OnProgress(session, progress);
  }

  v1::Node Live(const std::string& name) {
    v1::Node node;
    node.mutable_identity()->set_name(name);
    sessions_.FillLive(&node);
    return node;
  }

  FakeClock clock_;
  Sessions sessions_{{.max_followed_runs = 2}, clock_};
  FakeAgent agent_;
  FakeFollower follower_;
};

TEST_F(SessionsTest, ANodeIsConnectedUntilItsStreamEnds) {
  EXPECT_EQ(Live("n1").state(), v1::NODE_STATE_GONE);
  const uint64_t id = sessions_.Connect("n1", agent_.link());
  EXPECT_EQ(sessions_.connected(), 1u);
  clock_.Advance(absl::Seconds(5));
  v1::Heartbeat heartbeat;
  heartbeat.set_running_benchmark("stream");
  heartbeat.add_benchmarks()->set_name("stream");
  sessions_.OnHeartbeat(id, heartbeat);
  const v1::Node node = Live("n1");
  EXPECT_EQ(node.state(), v1::NODE_STATE_CONNECTED);
  EXPECT_EQ(node.heartbeat().running_benchmark(), "stream");
  EXPECT_EQ(node.heartbeat().benchmarks_size(), 0);
  EXPECT_EQ(node.last_seen_unix_ns(), absl::ToUnixNanos(clock_.Now()));
  EXPECT_TRUE(sessions_.Disconnect(id));
  EXPECT_FALSE(sessions_.Disconnect(id));
  EXPECT_EQ(Live("n1").state(), v1::NODE_STATE_GONE);
}

TEST_F(SessionsTest, ASecondAgentTakesTheNodeOver) {
  FakeAgent second;
  const uint64_t first_id = sessions_.Connect("n1", agent_.link());
  const uint64_t second_id = sessions_.Connect("n1", second.link());
  ASSERT_THAT(agent_.closed, SizeIs(1));
  EXPECT_EQ(agent_.closed[0].code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(sessions_.Disconnect(first_id)) << "the node has a session still";
  EXPECT_EQ(Live("n1").state(), v1::NODE_STATE_CONNECTED);
  ASSERT_TRUE(sessions_.RunNow(Request("n1"), v1::TRIGGER_MANUAL, follower_.follower()).ok());
  EXPECT_TRUE(agent_.messages.empty());
  EXPECT_EQ(second.messages.size(), 1u);
  EXPECT_TRUE(sessions_.Disconnect(second_id));
}

TEST_F(SessionsTest, ARunIsFollowedToItsEnd) {
  const uint64_t id = sessions_.Connect("n1", agent_.link());
  const auto request_id = sessions_.RunNow(Request("n1"), v1::TRIGGER_MANUAL, follower_.follower());
  ASSERT_TRUE(request_id.ok());
  ASSERT_EQ(agent_.messages.size(), 1u);
  const v1::RunNow& asked = agent_.messages[0].run_now();
  EXPECT_EQ(asked.request_id(), *request_id);
  EXPECT_EQ(asked.benchmark(), "stream");
  EXPECT_EQ(asked.asked_by(), "ann");
  EXPECT_EQ(asked.trigger(), v1::TRIGGER_MANUAL);
  EXPECT_EQ(asked.expires_seconds(), 60);
  Progress(id, *request_id, v1::RunProgress::STATE_RUNNING);
  Progress(id + 1, *request_id, v1::RunProgress::STATE_REFUSED);  // of another session: ignored
  Progress(id, "unknown", v1::RunProgress::STATE_RUNNING);
  EXPECT_THAT(follower_.ends, IsEmpty());
  Progress(id, *request_id, v1::RunProgress::STATE_FINISHED);
  Progress(id, *request_id, v1::RunProgress::STATE_RUNNING);
  EXPECT_THAT(follower_.states, ElementsAre(v1::RunProgress::STATE_RUNNING, v1::RunProgress::STATE_FINISHED));
  EXPECT_THAT(follower_.ends, ElementsAre(absl::StatusCode::kOk));
  sessions_.Disconnect(id);
  EXPECT_THAT(follower_.ends, SizeIs(1));
}

TEST_F(SessionsTest, AnAgentThatGoesAwayEndsItsRuns) {
  EXPECT_EQ(sessions_.RunNow(Request("n1"), v1::TRIGGER_MANUAL, follower_.follower()).status().code(),
            absl::StatusCode::kUnavailable);
  const uint64_t id = sessions_.Connect("n1", agent_.link());
  ASSERT_TRUE(sessions_.RunNow(Request("n1"), v1::TRIGGER_MANUAL, follower_.follower()).ok());
  sessions_.Disconnect(id);
  EXPECT_THAT(follower_.ends, ElementsAre(absl::StatusCode::kUnavailable));
}

TEST_F(SessionsTest, FollowedRunsAreBounded) {
  sessions_.Connect("n1", agent_.link());
  const auto first = sessions_.RunNow(Request("n1"), v1::TRIGGER_MANUAL, follower_.follower());
  ASSERT_TRUE(sessions_.RunNow(Request("n1"), v1::TRIGGER_MANUAL, follower_.follower()).ok());
  EXPECT_EQ(sessions_.RunNow(Request("n1"), v1::TRIGGER_MANUAL, follower_.follower()).status().code(),
            absl::StatusCode::kResourceExhausted);
  sessions_.Unfollow(*first);
  EXPECT_TRUE(sessions_.RunNow(Request("n1"), v1::TRIGGER_MANUAL, follower_.follower()).ok());
}

TEST_F(SessionsTest, AFullOutboxIsTold) {
  sessions_.Connect("n1", agent_.link());
  agent_.takes_messages = false;
  EXPECT_EQ(sessions_.RunNow(Request("n1"), v1::TRIGGER_MANUAL, follower_.follower()).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_THAT(follower_.ends, IsEmpty());
  v1::CancelRunRequest cancel;
  cancel.set_node("n1");
  cancel.set_request_id("request");
  EXPECT_EQ(sessions_.CancelRun(cancel).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SessionsTest, CancelNamesOneRun) {
  sessions_.Connect("n1", agent_.link());
  v1::CancelRunRequest cancel;
  cancel.set_node("n1");
  EXPECT_EQ(sessions_.CancelRun(cancel).code(), absl::StatusCode::kInvalidArgument);
  cancel.set_run_id("some run");
  cancel.set_reason("why");
  ASSERT_TRUE(sessions_.CancelRun(cancel).ok());
  EXPECT_EQ(agent_.messages[0].cancel().run_id(), "some run");
  cancel.set_node("n2");
  EXPECT_EQ(sessions_.CancelRun(cancel).code(), absl::StatusCode::kUnavailable);
}

// For ThreadSanitizer: streams come and go while runs are asked for. Each follower hears one end.
TEST(SessionsThreads, EachFollowedRunEndsOnce) {
  FakeClock clock;
  Sessions sessions({}, clock);
  std::atomic<int> asked = 0;
  std::atomic<int> ended = 0;
  std::vector<std::thread> streams;
  for (int t = 0; t < 2; ++t) {
    streams.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        const uint64_t id = sessions.Connect(
            "n1", {[](const v1::CollectorMessage&) { return true; }, [](const absl::Status&) {}});
        v1::RunNowRequest request;
        request.set_node("n1");
        const auto run =
            sessions.RunNow(request, v1::TRIGGER_MANUAL,
                            {[](const v1::RunProgress&) {}, [&](const absl::Status&) { ++ended; }});
        if (run.ok()) ++asked;
        sessions.Disconnect(id);
      }
    });
  }
  for (std::thread& stream : streams) stream.join();
  EXPECT_GT(asked, 0);
  EXPECT_EQ(ended, asked);
  EXPECT_EQ(sessions.connected(), 0u);
}

}  // namespace
}  // namespace fleetmark::collector
