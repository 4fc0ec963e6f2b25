#include "collector/query/answer_cache.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"

namespace fleetmark::collector {
namespace {

class AnswerCacheTest : public testing::Test {
 protected:
  AnswerCache Make(size_t max_bytes = 1 << 20) {
    return AnswerCache({.clock = &clock_,
                        .version = [this]() -> absl::StatusOr<std::string> { return version_; },
                        .max_bytes = max_bytes});
  }
  // What the cache answers; `content_` is what it would make.
  HttpResponse Ask(AnswerCache& cache, const std::string& key = "fleet", const HttpRequest& request = {}) {
    const absl::StatusOr<HttpResponse> answer =
        cache.Get(request, key, [this]() -> absl::StatusOr<std::string> {
          ++made_;
          clock_.Advance(cost_);
          return content_;
        });
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : HttpResponse();
  }
  static bool IsStale(const HttpResponse& response) {
    return response.headers.at("X-Fleetmark-Stale") == "1";
  }

  FakeClock clock_;
  std::string version_ = "1";
  std::string content_ = "first";
  absl::Duration cost_;
  int made_ = 0;
};

TEST_F(AnswerCacheTest, WhatHasNotChangedIsMadeOnce) {
  AnswerCache cache = Make();
  EXPECT_EQ(Ask(cache).body, "first");
  content_ = "second";
  clock_.Advance(absl::Seconds(4));
  EXPECT_EQ(Ask(cache).body, "first");
  EXPECT_EQ(made_, 1);
  clock_.Advance(absl::Seconds(2));  // what no version tells is not kept for longer than that
  EXPECT_EQ(Ask(cache).body, "second");
  EXPECT_FALSE(IsStale(Ask(cache)));
}

TEST_F(AnswerCacheTest, AChangeIsToldAtOnceOrTheAnswerSaysThatItIsOld) {
  AnswerCache cache = Make();
  Ask(cache);
  version_ = "2";
  content_ = "second";
  const HttpResponse old = Ask(cache);
  EXPECT_EQ(old.body, "first");
  EXPECT_TRUE(IsStale(old));
  clock_.Advance(absl::Seconds(1));
  const HttpResponse fresh = Ask(cache);
  EXPECT_EQ(fresh.body, "second");
  EXPECT_FALSE(IsStale(fresh));
}

TEST_F(AnswerCacheTest, WhatIsDearIsMadeLessOften) {
  AnswerCache cache = Make();
  cost_ = absl::Seconds(2);
  Ask(cache);
  version_ = "2";
  clock_.Advance(absl::Seconds(7));
  EXPECT_TRUE(IsStale(Ask(cache)));
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE(IsStale(Ask(cache)));
  EXPECT_EQ(made_, 2);
}

TEST_F(AnswerCacheTest, WhoHasTheAnswerIsToldSoWithoutIt) {
  AnswerCache cache = Make();
  const HttpResponse first = Ask(cache);
  HttpRequest request;
  request.headers["if-none-match"] = "W/" + first.headers.at("ETag");
  const HttpResponse again = Ask(cache, "fleet", request);
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_FALSE(IsStale(again));
  request.headers["if-none-match"] = "\"other\"";
  EXPECT_EQ(Ask(cache, "fleet", request).status, 200);
  request.headers = {{"accept-encoding", "gzip"}};
  EXPECT_EQ(Ask(cache, "fleet", request).headers.at("Content-Encoding"), "gzip");
}

TEST_F(AnswerCacheTest, ErrorsAreNotKept) {
  AnswerCache cache = Make();
  const auto fail = [] { return absl::StatusOr<std::string>(absl::UnavailableError("not now")); };
  EXPECT_EQ(cache.Get({}, "fleet", fail).status().message(), "not now");
  EXPECT_EQ(Ask(cache).body, "first");
}

TEST_F(AnswerCacheTest, TheLongestNotAskedForGoesWhenThereIsNoRoom) {
  AnswerCache cache = Make(250'000);
  content_ = std::string(100'000, 'x');
  for (const char* key : {"a", "b"}) {
    clock_.Advance(absl::Milliseconds(1));
    Ask(cache, key);
  }
  clock_.Advance(absl::Milliseconds(1));
  Ask(cache, "a");
  Ask(cache, "c");
  EXPECT_EQ(made_, 3);
  Ask(cache, "a");
  EXPECT_EQ(made_, 3);
  Ask(cache, "b");
  EXPECT_EQ(made_, 4);
}

TEST_F(AnswerCacheTest, WhoAsksMeanwhileWaitsForTheFirst) {
  AnswerCache cache = Make();
  std::atomic<bool> begun = false, go = false;
  std::atomic<int> made = 0;
  const auto slow = [&]() -> absl::StatusOr<std::string> {
    ++made;
    begun = true;
    while (!go) std::this_thread::yield();
    return std::string("slow");
  };
  std::thread first([&] { EXPECT_EQ(cache.Get({}, "fleet", slow)->body, "slow"); });
  while (!begun) std::this_thread::yield();
  std::thread second([&] { EXPECT_EQ(cache.Get({}, "fleet", slow)->body, "slow"); });
  go = true;
  first.join();
  second.join();
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace fleetmark::collector
