/* A plain STREAM in OpenMP, written apart from the plugin, to compare it with.
 *
 *   stream_reference ELEMENTS REPETITIONS
 *
 * Prints one line for each kernel: its name and the best rate in GB/s. Ends with 1 if the arrays are wrong. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { kKernelCount = 4 };
static const char* const kNames[kKernelCount] = {"copy", "scale", "add", "triad"};
static const int kWords[kKernelCount] = {2, 2, 3, 3};
static const double kScalar = 3.0;

static void run(int kernel, double* restrict a, double* restrict b, double* restrict c, long n) {
  switch (kernel) {
    case 0:
#pragma omp parallel for schedule(static)
      for (long i = 0; i < n; ++i) c[i] = a[i];
      break;
    case 1:
#pragma omp parallel for schedule(static)
      for (long i = 0; i < n; ++i) b[i] = kScalar * c[i];
      break;
    case 2:
#pragma omp parallel for schedule(static)
      for (long i = 0; i < n; ++i) c[i] = a[i] + b[i];
      break;
    default:
#pragma omp parallel for schedule(static)
      for (long i = 0; i < n; ++i) a[i] = b[i] + kScalar * c[i];
  }
}

static int wrong(const double* array, long n, double expected) {
  double sum = 0;
  for (long i = 0; i < n; ++i) sum += fabs(array[i] - expected);
  return !(sum / (double)n < 1e-13 * expected);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s ELEMENTS REPETITIONS\n", argv[0]);
    return 2;
  }
  const long n = atol(argv[1]);
  const int repetitions = atoi(argv[2]);
  double* a = malloc((size_t)n * sizeof *a);
  double* b = malloc((size_t)n * sizeof *b);
  double* c = malloc((size_t)n * sizeof *c);
  if (a == NULL || b == NULL || c == NULL) return 2;
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; ++i) {
    a[i] = 2.0;
    b[i] = 2.0;
    c[i] = 0.0;
  }

  double best[kKernelCount] = {INFINITY, INFINITY, INFINITY, INFINITY};
  double x = 2, y = 2, z = 0;
  for (int i = 0; i < repetitions; ++i) {
    for (int kernel = 0; kernel < kKernelCount; ++kernel) {
      const double begin = omp_get_wtime();
      run(kernel, a, b, c, n);
      const double seconds = omp_get_wtime() - begin;
      if (i > 0 && seconds < best[kernel]) best[kernel] = seconds;
    }
    z = x;
    y = kScalar * z;
    z = x + y;
    x = y + kScalar * z;
  }
  for (int kernel = 0; kernel < kKernelCount; ++kernel) {
    printf("%s %.6f\n", kNames[kernel], kWords[kernel] * 8.0 * (double)n / best[kernel] / 1e9);
  }
  const int failed = wrong(a, n, x) || wrong(b, n, y) || wrong(c, n, z);
  free(a);
  free(b);
  free(c);
  return failed;
}
