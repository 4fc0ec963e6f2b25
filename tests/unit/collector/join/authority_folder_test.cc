// The collector's authority: who gets a certificate, once; who may renew; what revoking does.
#include "collector/join/authority_folder.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/join/join_tokens.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/tls/key_request.h"
#include "common/tls/revocations.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::collector {
namespace {

using testing::HasSubstr;

class AuthorityFolderTest : public testing::Test {
 protected:
  AuthorityFolderTest() {
    std::string pattern = testing::TempDir() + "fm_authority_XXXXXX";
    options_.folder = std::string(mkdtemp(pattern.data())) + "/a";
    options_.max_certificates_of_node = 3;
  }
  ~AuthorityFolderTest() override { (void)RemoveTree(options_.folder); }

  AuthorityFolder Ready() {
    AuthorityFolder authority(options_, clock_);
    EXPECT_TRUE(authority.Init({"c.example.org", "127.0.0.1"}).ok());
    return authority;
  }
  std::string Request() { return MakeRequest(MakeKey().value(), "x").value(); }
  Certificate Joined(AuthorityFolder& authority, const std::string& node) {
    const std::string token = authority.NewToken(node, absl::Hours(1)).value();
    return ReadCertificate(authority.Join(token, node, Request())->certificate_pem).value();
  }
  std::string File(const std::string& name) {
    return ReadFile(options_.folder + "/" + name, 1 << 20).value();
  }

  FakeClock clock_;
  AuthorityFolder::Options options_;
};

TEST_F(AuthorityFolderTest, SecretsAreTheOwnersAlone) {
  AuthorityFolder authority = Ready();
  authority.NewToken("n1", absl::Hours(1)).value();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.folder)) {
    const std::string name = entry.path().filename().string();
    if (name == "ca.pem" || name == "crl.pem") continue;
    struct stat status = {};
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 077, 0u) << entry.path();
  }
}

TEST_F(AuthorityFolderTest, ASecondAuthorityIsNotMadeOverTheFirst) {
  AuthorityFolder authority = Ready();
  const std::string before = File("ca.pem");
  EXPECT_TRUE(absl::IsFailedPrecondition(authority.Init({"x"})));
  EXPECT_EQ(File("ca.pem"), before);
}

TEST_F(AuthorityFolderTest, WithoutAnAuthorityItSaysWhatIsToBeDone) {
  AuthorityFolder authority(options_, clock_);
  EXPECT_THAT(Message(authority.NewToken("n1", absl::Hours(1)).status()), HasSubstr("ca init"));
}

TEST_F(AuthorityFolderTest, ATokenIsGoodOnceForItsNode) {
  AuthorityFolder authority = Ready();
  const std::string token = authority.NewToken("n1", absl::Hours(1)).value();
  const auto issued = authority.Join(token, "n1", Request());
  ASSERT_TRUE(issued.ok()) << issued.status();
  EXPECT_EQ(ReadCertificate(issued->certificate_pem)->common_name, "n1");
  EXPECT_EQ(issued->authorities_pem, File("ca.pem"));
  EXPECT_TRUE(absl::IsPermissionDenied(authority.Join(token, "n1", Request()).status()));
}

TEST_F(AuthorityFolderTest, OfManyAtOnceOneJoins) {
  AuthorityFolder authority = Ready();
  const std::string token = authority.NewToken("n1", absl::Hours(1)).value();
  const std::string request = Request();
  std::atomic<int> joined = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      AuthorityFolder other(options_, clock_);  // as another process has it
      joined += other.Join(token, "n1", request).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(joined, 1);
}

TEST_F(AuthorityFolderTest, AnExpiredTokenIsNone) {
  AuthorityFolder authority = Ready();
  const std::string token = authority.NewToken("n1", absl::Hours(1)).value();
  clock_.Advance(absl::Hours(1));
  EXPECT_THAT(Message(authority.Join(token, "n1", Request()).status()), HasSubstr("expired"));
}

TEST_F(AuthorityFolderTest, AStolenTokenIsSpent) {
  AuthorityFolder authority = Ready();
  const std::string token = authority.NewToken("n1", absl::Hours(1)).value();
  EXPECT_THAT(Message(authority.Join(token, "n2", Request()).status()), HasSubstr("shown by 'n2'"));
  EXPECT_TRUE(absl::IsPermissionDenied(authority.Join(token, "n1", Request()).status()));
}

TEST_F(AuthorityFolderTest, AGuessSpendsNothing) {
  AuthorityFolder authority = Ready();
  const std::string token = authority.NewToken("n1", absl::Hours(1)).value();
  std::string guess = token;
  guess[30] = guess[30] == '0' ? '1' : '0';
  EXPECT_THAT(Message(authority.Join(guess, "n1", Request()).status()), HasSubstr("wrong secret"));
  for (const char* text : {"", "fmj1...", "fmj1.../../ca.key.x.y", "x"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(authority.Join(text, "n1", Request()).status())) << text;
  }
  EXPECT_TRUE(authority.Join(token, "n1", Request()).ok());
}

TEST_F(AuthorityFolderTest, OnlyTheSecretsDigestIsKept) {
  AuthorityFolder authority = Ready();
  const std::string token = authority.NewToken("n1", absl::Hours(1)).value();
  const std::string id = token.substr(5, 16), secret = token.substr(22, 64);
  EXPECT_EQ(File("tokens/" + id).find(secret), std::string::npos);
}

TEST_F(AuthorityFolderTest, ExpiredTokensAreRemoved) {
  AuthorityFolder authority = Ready();
  authority.NewToken("n1", absl::Hours(1)).value();
  const std::string later = authority.NewToken("n2", absl::Hours(3)).value();
  clock_.Advance(absl::Hours(2));
  ASSERT_TRUE(authority.RemoveExpiredTokens().ok());
  EXPECT_EQ(RemoveJoinTokens(options_.folder + "/tokens", "n1", clock_.Now()).value(), 0u);
  EXPECT_TRUE(authority.Join(later, "n2", Request()).ok());
}

TEST_F(AuthorityFolderTest, WhatItMadeIsRenewed) {
  AuthorityFolder authority = Ready();
  const Certificate first = Joined(authority, "n1");
  clock_.Advance(absl::Hours(24 * 20));
  const auto renewed = authority.Renew(first, Request());
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  const Certificate second = ReadCertificate(renewed->certificate_pem).value();
  EXPECT_EQ(second.common_name, "n1");
  EXPECT_EQ(second.not_after, clock_.Now() + options_.node_lifetime);
  EXPECT_EQ(authority.List()->size(), 2u);
  clock_.Advance(absl::Hours(24 * 11));
  EXPECT_EQ(authority.List()->size(), 1u);
}

TEST_F(AuthorityFolderTest, WhatItDidNotMakeIsNotRenewed) {
  AuthorityFolder authority = Ready();
  Certificate foreign = Joined(authority, "n1");
  foreign.serial = "1234";
  EXPECT_TRUE(absl::IsPermissionDenied(authority.Renew(foreign, Request()).status()));
  Certificate person = Joined(authority, "n2");
  person.uris.clear();
  EXPECT_TRUE(absl::IsPermissionDenied(authority.Renew(person, Request()).status()));
}

TEST_F(AuthorityFolderTest, RevokingTakesBackCertificatesAndTokens) {
  AuthorityFolder authority = Ready();
  const Certificate one = Joined(authority, "n1"), other = Joined(authority, "n2");
  const std::string token = authority.NewToken("n1", absl::Hours(1)).value();
  EXPECT_EQ(authority.Revoke("n1").value(), 1u);
  const Revocations list = Revocations::Read(File("crl.pem"), File("ca.pem")).value();
  EXPECT_TRUE(list.Holds(one));
  EXPECT_FALSE(list.Holds(other));
  EXPECT_TRUE(absl::IsPermissionDenied(authority.Renew(one, Request()).status()));
  EXPECT_TRUE(authority.Renew(other, Request()).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(authority.Join(token, "n1", Request()).status()));
  EXPECT_TRUE(absl::IsNotFound(authority.Revoke("n1").status()));
  // It may be let in again; what was revoked before stays so.
  const Certificate again = Joined(authority, "n1");
  EXPECT_EQ(authority.Revoke("n2").value(), 2u);
  const Revocations later = Revocations::Read(File("crl.pem"), File("ca.pem")).value();
  EXPECT_TRUE(later.Holds(one) && later.Holds(other));
  EXPECT_FALSE(later.Holds(again));
}

TEST_F(AuthorityFolderTest, ANodeHasABoundedNumberOfCertificates) {
  AuthorityFolder authority = Ready();
  Certificate current = Joined(authority, "n1");
  for (int i = 0; i < 2; ++i) {
    current = ReadCertificate(authority.Renew(current, Request())->certificate_pem).value();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(authority.Renew(current, Request()).status()));
  clock_.Advance(options_.node_lifetime);
  EXPECT_TRUE(authority.Join(authority.NewToken("n1", absl::Hours(1)).value(), "n1", Request()).ok());
}

TEST_F(AuthorityFolderTest, TheCollectorsOwnIsRenewedInTime) {
  AuthorityFolder authority = Ready();
  const std::string before = File("collector.pem");
  EXPECT_FALSE(authority.RenewServerIfDue().value());
  clock_.Advance(options_.server_lifetime * 3 / 4);
  EXPECT_TRUE(authority.RenewServerIfDue().value());
  EXPECT_FALSE(authority.RenewServerIfDue().value());
  const std::string after = File("collector.pem");
  EXPECT_NE(before, after);
  EXPECT_TRUE(CheckPair(after, after).ok());
  const std::string pin = ReadCertificate(File("ca.pem"))->fingerprint;
  EXPECT_TRUE(VerifyPinnedServer(after, pin, "c.example.org", clock_.Now()).ok());
}

TEST_F(AuthorityFolderTest, NamesThatAreNoNodesAreRefused) {
  AuthorityFolder authority = Ready();
  for (const char* name : {"", "../x", "a/b", ".", "a b"}) {
    EXPECT_FALSE(authority.NewToken(name, absl::Hours(1)).ok()) << name;
    EXPECT_FALSE(authority.Revoke(name).ok()) << name;
  }
}

}  // namespace
}  // namespace fleetmark::collector
