// What an authority signs says what it should, and what it did not sign is told.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/status.h"
#include "common/tls/authority.h"
#include "common/tls/certificate.h"
#include "common/tls/key_request.h"
#include "common/tls/revocations.h"

namespace fleetmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'790'000'000);
const Validity kYear = {kNow - absl::Hours(1), kNow + absl::Hours(24 * 365)};

Signer NewAuthority(const char* name = "site") { return MakeAuthority(name, kYear).value(); }

std::string NodeCertificate(const Signer& authority, const std::string& key, const std::string& node) {
  return SignNode(authority, MakeRequest(key, "whatever").value(), node, kYear).value();
}

TEST(Authority, ANodesCertificateNamesItsNodeWhateverTheRequestSaid) {
  const std::string key = MakeKey().value();
  const std::string pem = NodeCertificate(NewAuthority(), key, "n1");
  const Certificate certificate = ReadCertificate(pem).value();
  EXPECT_EQ(certificate.common_name, "n1");
  EXPECT_THAT(certificate.uris, ElementsAre("fleetmark:node:n1"));
  EXPECT_TRUE(certificate.dns_names.empty());
  EXPECT_EQ(certificate.issuer, "CN=site");
  EXPECT_EQ(certificate.not_before, kYear.from);
  EXPECT_EQ(certificate.not_after, kYear.until);
  EXPECT_TRUE(CheckPair(pem, key).ok());
  EXPECT_FALSE(CheckPair(pem, MakeKey().value()).ok());
}

TEST(Authority, SerialsDiffer) {
  const Signer authority = NewAuthority();
  const std::string key = MakeKey().value();
  EXPECT_NE(ReadCertificate(NodeCertificate(authority, key, "n1"))->serial,
            ReadCertificate(NodeCertificate(authority, key, "n1"))->serial);
}

TEST(Authority, ARequestThatWasChangedIsRefused) {
  std::string request = MakeRequest(MakeKey().value(), "n1").value();
  const size_t middle = request.size() / 2;
  request[middle] = request[middle] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(SignNode(NewAuthority(), request, "n1", kYear).ok());
  EXPECT_FALSE(SignNode(NewAuthority(), "", "n1", kYear).ok());
}

TEST(Authority, SignsWithItsOwnKeyAlone) {
  Signer mixed = NewAuthority();
  mixed.key_pem = NewAuthority().key_pem;
  const std::string request = MakeRequest(MakeKey().value(), "n1").value();
  EXPECT_THAT(Message(SignNode(mixed, request, "n1", kYear).status()), HasSubstr("another's"));
}

TEST(PinnedServer, OnlyTheRightChainNameAndTime) {
  const Signer authority = NewAuthority();
  const std::string pin = ReadCertificate(authority.certificate_pem)->fingerprint;
  const std::string key = MakeKey().value();
  const std::string own = SignServer(authority, key, {"c.example.org", "10.1.2.3", "fd00::1"}, kYear).value();
  const std::string chain = own + authority.certificate_pem;
  for (const char* host : {"c.example.org", "10.1.2.3", "fd00::1"}) {
    EXPECT_TRUE(VerifyPinnedServer(chain, pin, host, kNow).ok()) << host;
  }
  EXPECT_FALSE(VerifyPinnedServer(chain, pin, "d.example.org", kNow).ok());
  EXPECT_FALSE(VerifyPinnedServer(chain, pin, "10.1.2.4", kNow).ok());
  EXPECT_FALSE(VerifyPinnedServer(chain, pin, "c.example.org", kYear.until + absl::Hours(1)).ok());
  EXPECT_FALSE(VerifyPinnedServer(chain, pin, "c.example.org", kYear.from - absl::Hours(1)).ok());
  // Without the authority in it, or signed by another that bears its name.
  EXPECT_FALSE(VerifyPinnedServer(own, pin, "c.example.org", kNow).ok());
  const Signer imposter = NewAuthority();
  const std::string forged = SignServer(imposter, key, {"c.example.org"}, kYear).value();
  EXPECT_FALSE(VerifyPinnedServer(forged + imposter.certificate_pem, pin, "c.example.org", kNow).ok());
  EXPECT_FALSE(VerifyPinnedServer(forged + authority.certificate_pem, pin, "c.example.org", kNow).ok());
  EXPECT_FALSE(VerifyPinnedServer("", pin, "c.example.org", kNow).ok());
}

TEST(PinnedServer, ANodesCertificateIsNoServers) {
  const Signer authority = NewAuthority();
  const std::string chain = NodeCertificate(authority, MakeKey().value(), "n1") + authority.certificate_pem;
  EXPECT_FALSE(
      VerifyPinnedServer(chain, ReadCertificate(authority.certificate_pem)->fingerprint, "n1", kNow).ok());
}

TEST(Revocations, HoldWhatTheyListOfTheirOwnAuthority) {
  const Signer authority = NewAuthority("one");
  const Signer other = NewAuthority("two");
  const std::string key = MakeKey().value();
  const Certificate bad = ReadCertificate(NodeCertificate(authority, key, "n1")).value();
  const Certificate good = ReadCertificate(NodeCertificate(authority, key, "n2")).value();
  const std::string list = SignRevocations(authority, {{bad.serial, kNow}}, kYear).value();
  const auto revocations = Revocations::Read(list, other.certificate_pem + authority.certificate_pem);
  ASSERT_TRUE(revocations.ok()) << revocations.status();
  EXPECT_TRUE(revocations->Holds(bad));
  EXPECT_FALSE(revocations->Holds(good));
  Certificate of_other = bad;
  of_other.issuer = "CN=two";
  EXPECT_FALSE(revocations->Holds(of_other));
  EXPECT_FALSE(revocations->stale(kNow));
  EXPECT_TRUE(revocations->stale(kYear.until + absl::Hours(1)));
  ASSERT_EQ(revocations->entries().size(), 1u);
  EXPECT_EQ(revocations->entries()[0].serial, bad.serial);
  EXPECT_EQ(revocations->entries()[0].when, kNow);
}

TEST(Revocations, AnEmptyListIsOneAndAForeignOneIsNot) {
  const Signer authority = NewAuthority();
  const std::string empty = SignRevocations(authority, {}, kYear).value();
  EXPECT_TRUE(Revocations::Read(empty, authority.certificate_pem).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Revocations::Read(empty, NewAuthority().certificate_pem).status()));
  EXPECT_FALSE(Revocations::Read("", authority.certificate_pem).ok());
  EXPECT_FALSE(Revocations::Read(authority.certificate_pem, authority.certificate_pem).ok());
}

TEST(Certificate, NoTextAtAllIsNone) {
  for (const char* text : {"", "x", "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n"}) {
    EXPECT_FALSE(ReadCertificate(text).ok()) << text;
    EXPECT_FALSE(ReadCertificates(text).ok()) << text;
  }
}

TEST(Certificate, KeyAndChainMayStandInOneText) {
  const Signer authority = NewAuthority();
  const std::string key = MakeKey().value();
  const std::string own = NodeCertificate(authority, key, "n1");
  for (const std::string& text :
       {key + own + authority.certificate_pem, own + authority.certificate_pem + key}) {
    EXPECT_TRUE(CheckPair(text, text).ok());
    EXPECT_EQ(ReadCertificate(text)->common_name, "n1");
    EXPECT_EQ(ReadCertificates(text)->size(), 2u);
  }
}

TEST(EqualInConstantTime, IsEquality) {
  EXPECT_TRUE(EqualInConstantTime("", ""));
  EXPECT_TRUE(EqualInConstantTime("abc", "abc"));
  EXPECT_FALSE(EqualInConstantTime("abc", "abd"));
  EXPECT_FALSE(EqualInConstantTime("abc", "ab"));
}

}  // namespace
}  // namespace fleetmark
