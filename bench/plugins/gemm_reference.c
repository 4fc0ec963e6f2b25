/* OpenBLAS called directly, to compare the plugin with.
 *
 *   gemm_reference N REPETITIONS
 *
 * Prints dgemm and sgemm with their best rates in GFLOP/s. */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double best_dgemm(int n, int repetitions) {
  const size_t count = (size_t)n * (size_t)n;
  double* a = malloc(count * sizeof *a);
  double* b = malloc(count * sizeof *b);
  double* c = calloc(count, sizeof *c);
  double best = INFINITY;
  for (size_t i = 0; i < count; ++i) {
    a[i] = (double)rand() / RAND_MAX - 0.5;
    b[i] = (double)rand() / RAND_MAX - 0.5;
  }
  for (int i = 0; i <= repetitions; ++i) {
    const double begin = now();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, a, n, b, n, 0.0, c, n);
    const double seconds = now() - begin;
    if (i > 0 && seconds < best) best = seconds;
  }
  free(a);
  free(b);
  free(c);
  return best;
}

static double best_sgemm(int n, int repetitions) {
  const size_t count = (size_t)n * (size_t)n;
  float* a = malloc(count * sizeof *a);
  float* b = malloc(count * sizeof *b);
  float* c = calloc(count, sizeof *c);
  double best = INFINITY;
  for (size_t i = 0; i < count; ++i) {
    a[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    b[i] = (float)rand() / (float)RAND_MAX - 0.5f;
  }
  for (int i = 0; i <= repetitions; ++i) {
    const double begin = now();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, a, n, b, n, 0.0f, c, n);
    const double seconds = now() - begin;
    if (i > 0 && seconds < best) best = seconds;
  }
  free(a);
  free(b);
  free(c);
  return best;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s N REPETITIONS\n", argv[0]);
    return 2;
  }
  const int n = atoi(argv[1]);
  const int repetitions = atoi(argv[2]);
  const double operations = 2.0 * n * n * (double)n;
  printf("dgemm %.6f\n", operations / best_dgemm(n, repetitions) / 1e9);
  printf("sgemm %.6f\n", operations / best_sgemm(n, repetitions) / 1e9);
  return 0;
}
