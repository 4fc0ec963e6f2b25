// A daemon's certificates: what is good is taken, what is not leaves the last good ones in use.
#include "common/net/tls_material.h"

#include <stdlib.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/tls/authority.h"
#include "common/tls/key_request.h"

namespace fleetmark {
namespace {

using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'790'000'000);
const Validity kYear = {kNow, kNow + absl::Hours(24 * 365)};

class TlsMaterialTest : public testing::Test {
 protected:
  TlsMaterialTest() {
    std::string pattern = testing::TempDir() + "fm_tls_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    files_ = {folder_ + "/ca", folder_ + "/cert", folder_ + "/key", folder_ + "/crl"};
    Put("ca", authority_.certificate_pem);
    Put("crl", SignRevocations(authority_, {}, kYear).value());
    Renew();
  }
  ~TlsMaterialTest() override { (void)RemoveTree(folder_); }

  void Put(const std::string& name, const std::string& content) {
    ASSERT_TRUE(ReplaceFile(folder_ + "/" + name, content).ok());
  }
  void Renew() {
    key_ = MakeKey().value();
    certificate_ = SignServer(authority_, key_, {"c"}, kYear).value();
    Put("key", key_);
    Put("cert", certificate_);
  }

  const Signer authority_ = MakeAuthority("site", kYear).value();
  std::string folder_, key_, certificate_;
  TlsFiles files_;
};

TEST_F(TlsMaterialTest, FilesAreSeenInMemory) {
  const auto material = TlsMaterial::Load(files_).value();
  EXPECT_EQ(ReadFile(material->identity_path(), 1 << 20).value(), certificate_ + "\n" + key_);
  EXPECT_EQ(ReadFile(material->authorities_path(), 1 << 20).value(), authority_.certificate_pem);
  EXPECT_EQ(material->own().common_name, "c");
  EXPECT_FALSE(material->Refresh().value());
}

TEST_F(TlsMaterialTest, RenewedFilesAppearUnderTheSamePath) {
  const auto material = TlsMaterial::Load(files_).value();
  const std::string path = material->identity_path();
  Renew();
  EXPECT_TRUE(material->Refresh().value());
  EXPECT_EQ(material->identity_path(), path);
  EXPECT_EQ(ReadFile(path, 1 << 20).value(), certificate_ + "\n" + key_);
  EXPECT_EQ(material->own().serial, ReadCertificate(certificate_)->serial);
}

TEST_F(TlsMaterialTest, WhatIsNotGoodChangesNothing) {
  const auto material = TlsMaterial::Load(files_).value();
  const std::string before = ReadFile(material->identity_path(), 1 << 20).value();
  const auto keeps = [&](const char* why) {
    EXPECT_FALSE(material->Refresh().ok()) << why;
    EXPECT_EQ(ReadFile(material->identity_path(), 1 << 20).value(), before) << why;
  };
  Put("key", MakeKey().value());
  keeps("another key");
  Put("key", key_.substr(0, key_.size() / 2));
  keeps("half a key");
  Put("key", key_);
  Put("ca", "nothing");
  keeps("no authority");
  Put("ca", authority_.certificate_pem);
  const Signer other = MakeAuthority("site", kYear).value();
  Put("crl", SignRevocations(other, {}, kYear).value());
  keeps("a list of another authority");
  Put("crl", SignRevocations(authority_, {}, kYear).value());
  EXPECT_TRUE(material->Refresh().ok());
}

TEST_F(TlsMaterialTest, RevokedIsWhatTheListSays) {
  const auto material = TlsMaterial::Load(files_).value();
  const Certificate peer = ReadCertificate(certificate_).value();
  EXPECT_FALSE(material->IsRevoked(peer));
  Put("crl", SignRevocations(authority_, {{peer.serial, kNow}}, kYear).value());
  EXPECT_TRUE(material->Refresh().value());
  EXPECT_TRUE(material->IsRevoked(peer));
  EXPECT_FALSE(material->RevocationsAreStale(kNow));
  EXPECT_TRUE(material->RevocationsAreStale(kYear.until + absl::Hours(1)));
}

TEST_F(TlsMaterialTest, KeyAndCertificateMayBeOneFile) {
  Put("both", certificate_ + key_);
  files_.key = files_.certificate = folder_ + "/both";
  files_.crl.clear();
  const auto material = TlsMaterial::Load(files_);
  ASSERT_TRUE(material.ok()) << material.status();
  EXPECT_EQ((*material)->identity(), certificate_ + key_);
}

TEST_F(TlsMaterialTest, AFaultSaysInWhichFile) {
  Put("ca", "-----BEGIN CERTIFICATE-----\n");
  EXPECT_THAT(Message(TlsMaterial::Load(files_).status()), HasSubstr(folder_ + "/ca"));
}

}  // namespace
}  // namespace fleetmark
