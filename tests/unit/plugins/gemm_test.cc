#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "plugins/gemm/matrix_product.h"

namespace fleetmark::gemm {
namespace {

using ::testing::HasSubstr;

template <typename T>
class GemmTest : public ::testing::Test {
 protected:
  static constexpr size_t kN = 65;

  GemmTest() {
    for (size_t i = 0; i < kN; ++i) {
      for (size_t j = 0; j < kN; ++j) {
        for (size_t k = 0; k < kN; ++k) c_[i * kN + j] += a_[i * kN + k] * b_[k * kN + j];
      }
    }
  }

  const std::vector<T> a_ = RandomMatrix<T>(kN, 1);
  const std::vector<T> b_ = RandomMatrix<T>(kN, 2);
  std::vector<T> c_ = std::vector<T>(kN * kN);
};
using Precisions = ::testing::Types<double, float>;
TYPED_TEST_SUITE(GemmTest, Precisions);

TYPED_TEST(GemmTest, AcceptsTheProductForAnyVector) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(CheckProduct(this->kN, this->a_, this->b_, this->c_, seed), "");
  }
}

TYPED_TEST(GemmTest, RejectsOneWrongElement) {
  for (const size_t at : {size_t{0}, size_t{64}, this->c_.size() - 1}) {
    auto wrong = this->c_;
    wrong[at] += TypeParam(0.1);
    EXPECT_THAT(CheckProduct(this->kN, this->a_, this->b_, wrong, 1),
                HasSubstr("row " + std::to_string(at / this->kN) + " of the product is wrong"));
    wrong[at] = std::numeric_limits<TypeParam>::quiet_NaN();
    EXPECT_THAT(CheckProduct(this->kN, this->a_, this->b_, wrong, 1), HasSubstr("wrong"));
  }
}

TYPED_TEST(GemmTest, TheLibraryPassesTheCheck) {
  const GemmResult result = RunGemm<TypeParam>(200, 2);
  EXPECT_EQ(result.error, "");
  EXPECT_GT(result.best_seconds, 0);
  EXPECT_LT(result.best_seconds, 60);
}

}  // namespace
}  // namespace fleetmark::gemm
