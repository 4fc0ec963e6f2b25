// Built with -O3 and for the architecture's baseline, as STREAM usually is: the loops wait for memory, and
// every node of a fleet runs the same instructions.
#include "plugins/mem_bandwidth/stream.h"

namespace fleetmark::mem_bandwidth {
namespace {

constexpr double kScalar = 3.0;

}  // namespace

void Initialise(const Arrays& arrays, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    arrays.a[i] = 1.0;
    arrays.b[i] = 2.0;
    arrays.c[i] = 0.0;
  }
  for (size_t i = begin; i < end; ++i) arrays.a[i] = 2.0 * arrays.a[i];
}

void RunKernel(Kernel kernel, const Arrays& arrays, size_t begin, size_t end) {
  double* __restrict a = arrays.a;
  double* __restrict b = arrays.b;
  double* __restrict c = arrays.c;
  switch (kernel) {
    case kCopy:
      for (size_t i = begin; i < end; ++i) c[i] = a[i];
      break;
    case kScale:
      for (size_t i = begin; i < end; ++i) b[i] = kScalar * c[i];
      break;
    case kAdd:
      for (size_t i = begin; i < end; ++i) c[i] = a[i] + b[i];
      break;
    case kTriad:
      for (size_t i = begin; i < end; ++i) a[i] = b[i] + kScalar * c[i];
      break;
    case kKernels:
      break;
  }
}

std::array<double, 3> ExpectedValues(int repetitions) {
  double a = 2.0;
  double b = 2.0;
  double c = 0.0;
  for (int i = 0; i < repetitions; ++i) {
    c = a;
    b = kScalar * c;
    c = a + b;
    a = b + kScalar * c;
  }
  return {a, b, c};
}

}  // namespace fleetmark::mem_bandwidth
