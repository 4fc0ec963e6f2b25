// Floating-point rate: matrix products by OpenBLAS, in double and in single precision.
#include <cblas.h>

#include <string>

#include "plugins/gemm/matrix_product.h"
#include "plugins/sdk/cpp/cpus.h"
#include "plugins/sdk/cpp/fleetmark_plugin.h"

namespace {

// False when the plugin's own check failed.
template <typename T>
bool Measure(fleetmark::plugin::Plugin& plugin, const char* metric) {
  const auto n = static_cast<size_t>(plugin.Int("n"));
  const auto result = fleetmark::gemm::RunGemm<T>(n, static_cast<int>(plugin.Int("repetitions")));
  if (!result.error.empty()) {
    plugin.Invalid(std::string(metric) + ": " + result.error);
    return false;
  }
  const double size = static_cast<double>(n);
  plugin.Metric(metric, 2.0 * size * size * size / result.best_seconds / 1e9, "GFLOP/s");
  return true;
}

}  // namespace

int main() {
  fleetmark::plugin::Plugin plugin;
  if (plugin.Int("n") < 1 || plugin.Int("n") > 32768) plugin.BadParameter("n", "must be 1 to 32768");
  if (plugin.Int("repetitions") < 1) plugin.BadParameter("repetitions", "must be at least 1");
  auto threads = static_cast<int>(plugin.Int("threads"));
  if (threads == 0) threads = static_cast<int>(fleetmark::plugin::AllowedCpus().size());
  openblas_set_num_threads(threads);
  plugin.Log(std::string(openblas_get_config()) + ", kernels for " + openblas_get_corename() + ", " +
             std::to_string(openblas_get_num_threads()) + " threads");
  if (Measure<double>(plugin, "dgemm")) {
    plugin.Progress(0.6);
    Measure<float>(plugin, "sgemm");
  }
  plugin.Done();
}
