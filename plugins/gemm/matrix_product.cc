#include "plugins/gemm/matrix_product.h"

#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include "plugins/sdk/cpp/json_text.h"

namespace fleetmark::gemm {
namespace {

void Multiply(size_t n, const double* a, const double* b, double* c) {
  const int m = static_cast<int>(n);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, m, m, 1.0, a, m, b, m, 0.0, c, m);
}

void Multiply(size_t n, const float* a, const float* b, float* c) {
  const int m = static_cast<int>(n);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, m, m, 1.0F, a, m, b, m, 0.0F, c, m);
}

// In double, so that the check's own rounding does not count.
template <typename T>
std::vector<double> TimesVector(const std::vector<T>& matrix, const std::vector<double>& x) {
  std::vector<double> y(x.size(), 0.0);
  for (size_t row = 0; row < x.size(); ++row) {
    for (size_t i = 0; i < x.size(); ++i) y[row] += static_cast<double>(matrix[row * x.size() + i]) * x[i];
  }
  return y;
}

}  // namespace

template <typename T>
std::vector<T> RandomMatrix(size_t n, unsigned seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::vector<T> matrix(n * n);
  for (T& element : matrix) element = uniform(random);
  return matrix;
}

template <typename T>
std::string CheckProduct(size_t n, const std::vector<T>& a, const std::vector<T>& b, const std::vector<T>& c,
                         unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<double> x(n);
  for (double& element : x) element = random() % 2 == 0 ? 1.0 : -1.0;
  const std::vector<double> expected = TimesVector(a, TimesVector(b, x));
  const std::vector<double> actual = TimesVector(c, x);
  const double tolerance = 32.0 * std::numeric_limits<T>::epsilon() * std::pow(static_cast<double>(n), 1.5);
  for (size_t i = 0; i < n; ++i) {
    const double error = std::abs(actual[i] - expected[i]);
    if (error <= tolerance) continue;  // false for a NaN
    return "row " + std::to_string(i) + " of the product is wrong: off by " + plugin::JsonNumber(error) +
           " where rounding allows " + plugin::JsonNumber(tolerance);
  }
  return "";
}

template <typename T>
GemmResult RunGemm(size_t n, int repetitions) {
  using Clock = std::chrono::steady_clock;
  const std::vector<T> a = RandomMatrix<T>(n, 1);
  const std::vector<T> b = RandomMatrix<T>(n, 2);
  std::vector<T> c(n * n, std::numeric_limits<T>::quiet_NaN());
  GemmResult result{std::numeric_limits<double>::infinity(), ""};
  for (int i = 0; i < repetitions && result.error.empty(); ++i) {
    // Not counted: the check of the product before leaves caches and cores colder than products in a row do,
    // which made the next one up to 8 % slower.
    Multiply(n, a.data(), b.data(), c.data());
    const auto begin = Clock::now();
    Multiply(n, a.data(), b.data(), c.data());
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    result.best_seconds = std::min(result.best_seconds, elapsed.count());
    result.error = CheckProduct(n, a, b, c, static_cast<unsigned>(i) + 3);
  }
  return result;
}

template std::vector<double> RandomMatrix<double>(size_t, unsigned);
template std::vector<float> RandomMatrix<float>(size_t, unsigned);
template std::string CheckProduct<double>(size_t, const std::vector<double>&, const std::vector<double>&,
                                          const std::vector<double>&, unsigned);
template std::string CheckProduct<float>(size_t, const std::vector<float>&, const std::vector<float>&,
                                         const std::vector<float>&, unsigned);
template GemmResult RunGemm<double>(size_t, int);
template GemmResult RunGemm<float>(size_t, int);

}  // namespace fleetmark::gemm
