#include "common/base/digest.h"

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

// FIPS 180-2, appendix B.1.
TEST(Digest, KnownAnswer) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(StableHash64("abc"), 0xba7816bf8f01cfeaULL);
}

// RFC 4231, test case 2.
TEST(Digest, HmacOfAKnownText) {
  EXPECT_EQ(HmacSha256Hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace
}  // namespace fleetmark
