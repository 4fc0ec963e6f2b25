// What a node takes as its certificate, and when it asks for the next.
#include "agent/join/certificate_files.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/tls/authority.h"

namespace fleetmark::agent {
namespace {

using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'790'000'000);
const Validity kYear = {kNow, kNow + absl::Hours(24 * 365)};

class CertificateFilesTest : public testing::Test {
 protected:
  CertificateFilesTest() {
    std::string pattern = testing::TempDir() + "fm_join_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    files_ = {folder_ + "/tls/ca.pem", folder_ + "/tls/node.pem", folder_ + "/tls/node.pem", ""};
  }
  ~CertificateFilesTest() override { (void)RemoveTree(folder_); }

  std::string Sign(const std::string& node) {
    return SignNode(authority_, asked_.request_pem, node, kYear).value();
  }
  absl::Status Take(const std::string& certificate) {
    return TakeCertificate(asked_, "n1", certificate, authority_.certificate_pem, pin_, files_);
  }
  bool Written() { return ReadFile(files_.certificate, 1 << 20).ok(); }

  const Signer authority_ = MakeAuthority("site", kYear).value();
  const std::string pin_ = ReadCertificate(authority_.certificate_pem)->fingerprint;
  const CertificateRequest asked_ = MakeCertificateRequest("n1").value();
  std::string folder_;
  TlsFiles files_;
};

TEST_F(CertificateFilesTest, TheAnswerIsWrittenWithItsKey) {
  ASSERT_TRUE(Take(Sign("n1")).ok());
  const std::string pem = ReadFile(files_.certificate, 1 << 20).value();
  EXPECT_TRUE(CheckPair(pem, pem).ok());
  EXPECT_EQ(ReadFile(files_.ca, 1 << 20).value(), authority_.certificate_pem);
  struct stat status = {};
  ASSERT_EQ(stat(files_.key.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(CertificateFilesTest, TwoFilesWhereTwoAreNamed) {
  files_.key = folder_ + "/tls/node.key";
  ASSERT_TRUE(Take(Sign("n1")).ok());
  EXPECT_TRUE(
      CheckPair(ReadFile(files_.certificate, 1 << 20).value(), ReadFile(files_.key, 1 << 20).value()).ok());
  EXPECT_THAT(ReadFile(files_.certificate, 1 << 20).value(), testing::Not(HasSubstr("PRIVATE KEY")));
}

TEST_F(CertificateFilesTest, AWrongAnswerIsNotWritten) {
  EXPECT_TRUE(absl::IsPermissionDenied(Take(Sign("n2"))));
  const CertificateRequest other = MakeCertificateRequest("n1").value();
  EXPECT_FALSE(Take(SignNode(authority_, other.request_pem, "n1", kYear).value()).ok());
  EXPECT_FALSE(Take("").ok());
  const Signer stranger = MakeAuthority("site", kYear).value();
  EXPECT_TRUE(absl::IsPermissionDenied(
      TakeCertificate(asked_, "n1", Sign("n1"), stranger.certificate_pem, pin_, files_)));
  EXPECT_FALSE(Written());
}

TEST_F(CertificateFilesTest, ARenewalIsDueInTheLastThird) {
  const Certificate certificate = ReadCertificate(Sign("n1")).value();
  const absl::Duration life = kYear.until - kYear.from;
  for (const char* node : {"n1", "n2", "n3"}) {
    const absl::Time due = RenewalTime(certificate, node);
    EXPECT_LE(due, kYear.until - life / 3);
    EXPECT_GE(due, kYear.until - life / 3 - life / 30);
  }
  EXPECT_NE(RenewalTime(certificate, "n1"), RenewalTime(certificate, "n2"));
}

TEST_F(CertificateFilesTest, ASitesOwnCertificateIsNotRenewedHere) {
  Certificate certificate = ReadCertificate(Sign("n1")).value();
  certificate.uris = {"spiffe://example.org/n1"};
  EXPECT_EQ(RenewalTime(certificate, "n1"), absl::InfiniteFuture());
}

TEST(JoinToken, WhiteSpaceAroundItIsNothing) {
  const std::string pin(64, 'a');
  const auto token = ParseJoinToken(" fmj1.0.1." + pin + "\n");
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(token->text, "fmj1.0.1." + pin);
  EXPECT_EQ(token->authority, pin);
  for (const std::string& text : {std::string(), std::string("fmj1.0.1.aa"), "fmj2.0.1." + pin, "x." + pin}) {
    EXPECT_FALSE(ParseJoinToken(text).ok()) << text;
  }
}

}  // namespace
}  // namespace fleetmark::agent
