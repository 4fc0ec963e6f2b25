// Timed and checked products of square random matrices by the BLAS that the program is linked with.
//
// Thread-safety: functions without state; the BLAS starts its own threads.
#ifndef FLEETMARK_PLUGINS_GEMM_MATRIX_PRODUCT_H_
#define FLEETMARK_PLUGINS_GEMM_MATRIX_PRODUCT_H_

#include <cstddef>
#include <string>
#include <vector>

namespace fleetmark::gemm {

// n*n elements, row by row, uniform in [-1, 1) and the same for the same seed.
template <typename T>
std::vector<T> RandomMatrix(size_t n, unsigned seed);

// Freivalds' check that c is the product of a and b: c*x against a*(b*x) for a random vector x of ones and
// minus ones. Each element may be off by 32 * epsilon * n^1.5, some ten times the rounding error of a right
// product of such matrices. The message, or empty if right.
template <typename T>
std::string CheckProduct(size_t n, const std::vector<T>& a, const std::vector<T>& b, const std::vector<T>& c,
                         unsigned seed);

struct GemmResult {
  double best_seconds;
  std::string error;  // of the check, which each repetition must pass; empty if right
};

// `repetitions` (at least one) products that count, each right after one that does not.
template <typename T>
GemmResult RunGemm(size_t n, int repetitions);

}  // namespace fleetmark::gemm

#endif  // FLEETMARK_PLUGINS_GEMM_MATRIX_PRODUCT_H_
