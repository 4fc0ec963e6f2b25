// Tokens, proxies and certificates: who is let in as whom, and how often.
#include "collector/access/people.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/access/access_control.h"
#include "collector/access/actor.h"
#include "collector/access/people_tokens.h"
#include "collector/access/rate_limiter.h"
#include "common/obs/metrics.h"
#include "fleetmark/v1/alert.pb.h"
#include "fleetmark/v1/fleet.pb.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::collector {
namespace {

using testing::HasSubstr;
using testing::Not;

class PeopleTest : public testing::Test {
 protected:
  PeopleTest() {
    std::string path = testing::TempDir() + "fm_people_XXXXXX";
    folder_ = mkdtemp(path.data());
    options_.asked = true;
    options_.token_folder = folder_ + "/people";
  }
  ~PeopleTest() override { std::filesystem::remove_all(folder_); }

  std::string Token(const std::string& name, Role role, Areas areas = kEverywhere) {
    const auto token = MakePeopleToken(options_.token_folder,
                                       {"", name, role, areas, clock_.Now(), clock_.Now() + absl::Hours(1)});
    EXPECT_TRUE(token.ok()) << token.status();
    return token.ok() ? *token : "";
  }

  absl::StatusOr<Person> Identify(const Caller& caller) {
    return People(options_, clock_).Identify(caller, &reason_);
  }
  absl::StatusOr<Person> ByToken(const std::string& token) {
    Caller caller;
    caller.bearer = token;
    return Identify(caller);
  }
  absl::StatusOr<Person> ByCertificate(const Certificate& certificate) {
    Caller caller;
    caller.certificate = &certificate;
    caller.certificates_asked = true;
    return Identify(caller);
  }

  static Caller FromProxy(const std::string& address, std::map<std::string, std::string> headers) {
    Caller caller;
    caller.address = address;
    caller.header = [headers = std::move(headers)](const std::string& name) {
      const auto it = headers.find(name);
      return it == headers.end() ? std::string() : it->second;
    };
    return caller;
  }

  FakeClock clock_;
  std::string folder_;
  People::Options options_;
  std::string reason_;
};

TEST_F(PeopleTest, ATokenIsGoodUntilItsEndOrUntilItIsRevoked) {
  const std::string token = Token("alice", Role::kOperator, kApi);
  auto person = ByToken(token);
  ASSERT_TRUE(person.ok()) << person.status();
  EXPECT_EQ(person->name, "alice");
  EXPECT_EQ(person->role, Role::kOperator);
  EXPECT_EQ(person->areas, kApi);
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(ByToken(token).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(reason_, HasSubstr("expired"));

  const std::string other = Token("bob", Role::kViewer);
  EXPECT_TRUE(ByToken(other).ok());
  EXPECT_EQ(RevokePeopleTokens(options_.token_folder, "bob").value(), 1U);
  EXPECT_EQ(ByToken(other).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_TRUE(absl::IsNotFound(RevokePeopleTokens(options_.token_folder, "bob").status()));
}

TEST_F(PeopleTest, NoOtherSecretIsGood) {
  const std::string token = Token("alice", Role::kAdmin);
  std::vector<std::string> wrong = {"x",
                                    "fmt1",
                                    "fmt1..",
                                    token + "0",
                                    token.substr(1),
                                    "../../etc/passwd",
                                    "fmt1.../../x." + token.substr(22)};
  for (size_t i = 0; i < token.size(); i += 7) {
    std::string changed = token;
    changed[i] = changed[i] == '0' ? '1' : '0';
    wrong.push_back(changed);
  }
  for (const std::string& text : wrong) EXPECT_FALSE(ByToken(text).ok()) << text;
  EXPECT_TRUE(ByToken(token).ok());
}

TEST_F(PeopleTest, OnlyADigestIsKeptForTheUserAlone) {
  const std::string token = Token("alice", Role::kAdmin);
  const std::string secret = token.substr(token.rfind('.') + 1);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(options_.token_folder)) {
    ++files;
    std::ifstream in(entry.path());
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    EXPECT_THAT(text, Not(HasSubstr(secret)));
    struct stat status = {};
    stat(entry.path().c_str(), &status);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
  }
  EXPECT_EQ(files, 1U);
  ASSERT_FALSE(ByToken("fmt1." + std::string(16, '0') + "." + secret).ok());
  EXPECT_THAT(reason_, Not(HasSubstr(secret)));
}

TEST_F(PeopleTest, ANameCannotPassForTheFieldsBeforeIt) {
  for (const std::string name : {"", "a\nb", " a", "a\x7f"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        MakePeopleToken(options_.token_folder, {"", name, Role::kViewer, kApi, clock_.Now(), clock_.Now()})
            .status()))
        << name;
  }
  const std::string token = Token("two words admin all", Role::kViewer, kMetrics);
  EXPECT_EQ(ByToken(token)->name, "two words admin all");
  EXPECT_EQ(ByToken(token)->role, Role::kViewer);
}

TEST_F(PeopleTest, AProxysHeaderIsTakenFromItsAddressesAlone) {
  options_.proxy.from = {AddressRange::Parse("10.1.0.0/16").value(), AddressRange::Parse("fd00::7").value()};
  options_.proxy.user_header = "x-user";
  options_.proxy.groups_header = "x-groups";
  options_.proxy.roles = {{"ops", Role::kOperator}, {"root", Role::kAdmin}};
  options_.proxy.otherwise = Role::kViewer;
  const std::map<std::string, std::string> alice = {{"x-user", "alice"}, {"x-groups", "staff, ops"}};
  for (const char* from : {"10.1.2.3", "::ffff:10.1.2.3", "fd00::7"}) {
    const auto person = Identify(FromProxy(from, alice));
    ASSERT_TRUE(person.ok()) << from << person.status();
    EXPECT_EQ(person->name, "alice");
    EXPECT_EQ(person->role, Role::kOperator);
  }
  EXPECT_EQ(Identify(FromProxy("10.1.2.3", {{"x-user", "bob"}}))->role, Role::kViewer);
  for (const char* from : {"10.2.0.1", "127.0.0.1", "fd00::8", "", "10.1.2.3.4"}) {
    EXPECT_FALSE(Identify(FromProxy(from, alice)).ok()) << from;
  }
  EXPECT_FALSE(Identify(FromProxy("10.1.2.3", {{"x-groups", "root"}})).ok());
}

TEST_F(PeopleTest, ACertificateCountsByItsRule) {
  options_.certificates = {{"cn:alice", Role::kAdmin}, {"uri:spiffe://x/grafana", Role::kViewer}};
  Certificate certificate;
  certificate.common_name = "alice";
  EXPECT_EQ(ByCertificate(certificate)->role, Role::kAdmin);
  certificate.common_name = "mallory";
  EXPECT_EQ(ByCertificate(certificate)->role, Role::kNobody);
  certificate.uris = {"spiffe://x/grafana"};
  EXPECT_EQ(ByCertificate(certificate)->role, Role::kViewer);
  certificate.uris = {"fleetmark:node:alice"};
  certificate.common_name = "alice";
  EXPECT_FALSE(ByCertificate(certificate).ok());
  certificate.uris.clear();
  options_.is_revoked = [](const Certificate&) { return true; };
  EXPECT_FALSE(ByCertificate(certificate).ok());
}

TEST_F(PeopleTest, AWrongTokenIsNotMadeGoodByAnythingElse) {
  options_.anonymous = Role::kViewer;
  EXPECT_EQ(Identify({})->role, Role::kViewer);
  EXPECT_FALSE(ByToken("fmt1.x.y").ok());
}

TEST_F(PeopleTest, WhereNobodyIsAskedACertificateIsNeededWhereItIsAskedFor) {
  options_.asked = false;
  EXPECT_EQ(Identify({})->role, Role::kAdmin);
  Caller bare;
  bare.certificates_asked = true;
  EXPECT_FALSE(Identify(bare).ok());
  Certificate certificate;
  certificate.common_name = "alice";
  EXPECT_EQ(ByCertificate(certificate)->role, Role::kAdmin);
  certificate.uris = {"fleetmark:node:n1"};
  EXPECT_FALSE(ByCertificate(certificate).ok());
}

TEST_F(PeopleTest, RatesAreBoundedForEachPersonAndRefusalsAreTold) {
  const std::string alice = Token("alice", Role::kViewer), bob = Token("bob", Role::kViewer);
  const People people(options_, clock_);
  Metrics metrics;
  std::vector<AccessEvent> events;
  AccessControl access({.people = &people,
                        .clock = &clock_,
                        .metrics = &metrics,
                        .requests_per_second = 2,
                        .on_event = [&](const AccessEvent& event) { events.push_back(event); }});
  const AccessRule* rule = GrpcRule("/fleetmark.v1.FleetService/GetStatus");
  const auto ask = [&](const std::string& token) {
    Caller caller;
    caller.bearer = token;
    caller.address = "10.0.0.1";
    return access.Admit(caller, rule, "x").status().code();
  };
  size_t admitted = 0;
  while (admitted < 1000 && ask(alice) == absl::StatusCode::kOk) ++admitted;
  EXPECT_EQ(admitted, 21U);
  EXPECT_EQ(ask(bob), absl::StatusCode::kOk);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(ask(alice), absl::StatusCode::kOk);
  EXPECT_EQ(ask(alice), absl::StatusCode::kOk);
  EXPECT_EQ(ask(alice), absl::StatusCode::kResourceExhausted);
  // Strangers, by address; what is told of them is bounded, what is counted is not.
  for (int i = 0; i < 1000; ++i) ask("wrong");
  EXPECT_EQ(ask("wrong"), absl::StatusCode::kResourceExhausted);
  EXPECT_LT(events.size(), 30U);
  ASSERT_FALSE(events.empty());
  EXPECT_TRUE(events.back().refused);
  EXPECT_THAT(metrics.Serialize(), HasSubstr("fleetmark_access_refused_total 1003"));
  EXPECT_EQ(ask(bob), absl::StatusCode::kOk);
}

TEST(RateLimiter, ManyKeysAreForgottenOrShareABucket) {
  FakeClock clock;
  RateLimiter limiter({.per_second = 1, .at_once = 2, .max_keys = 10}, clock);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limiter.Take(absl::StrCat("k", i)));
  EXPECT_TRUE(limiter.Take("new1"));
  EXPECT_TRUE(limiter.Take("new2"));
  EXPECT_FALSE(limiter.Take("new3"));
  clock.Advance(absl::Seconds(3));
  EXPECT_TRUE(limiter.Take("new3"));
  EXPECT_TRUE(limiter.Take("new4"));
}

TEST(AddressRange, OnlyAddressesAndRangesAreTaken) {
  for (const char* text : {"", "10", "10.0.0.0/33", "10.0.0.0/-1", "host", "fd00::/129", "10.0.0.1/x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(AddressRange::Parse(text).status())) << text;
  }
  EXPECT_TRUE(AddressRange::Parse("0.0.0.0/0")->Contains("203.0.113.9"));
  EXPECT_FALSE(AddressRange::Parse("0.0.0.0/0")->Contains("2001:db8::1"));
  EXPECT_TRUE(AddressRange::Parse("192.0.2.128/25")->Contains("192.0.2.200"));
  EXPECT_FALSE(AddressRange::Parse("192.0.2.128/25")->Contains("192.0.2.127"));
}

TEST(SetActor, WhoIsKnownStandsForWhoTheySayTheyAre) {
  v1::AddEventRequest event;
  event.mutable_event()->set_author("somebody else");
  SetActor("alice", &event);
  EXPECT_EQ(event.event().author(), "alice");
  v1::RunNowRequest run;
  SetActor("alice", &run);
  EXPECT_EQ(run.asked_by(), "alice");
  v1::AckAlertRequest ack;
  ack.set_by("me");
  SetActor("", &ack);
  EXPECT_EQ(ack.by(), "me");
}

}  // namespace
}  // namespace fleetmark::collector
