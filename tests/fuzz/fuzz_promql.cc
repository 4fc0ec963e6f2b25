// PromQL from anybody: parsed, printed, and evaluated over a few series within small limits.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "collector/promql/engine.h"
#include "collector/promql/parser.h"
#include "common/base/clock.h"
#include "tests/fakes/memory_series_source.h"

namespace {

using namespace fleetmark::collector::promql;

constexpr int64_t kBegin = 1'790'000'000'000;

const MemorySeriesSource& Source() {
  static const auto* const source = [] {
    auto* made = new MemorySeriesSource();
    for (int i = 0; i < 40; ++i) {
      for (const char* node : {"n1", "n2"}) {
        made->Add(LabelSet({{"__name__", "foo"}, {"node", node}}), {kBegin + i * 60'000, 1.5 * i});
        made->Add(LabelSet({{"__name__", "bar"}, {"node", node}}), {kBegin + i * 60'000, i % 7 - 3.0});
      }
    }
    return made;
  }();
  return *source;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string query(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<ExprPtr> expr = ParseQuery(query);
  if (!expr.ok()) return 0;
  // What is printed means the same.
  const std::string printed = ToString(**expr);
  const absl::StatusOr<ExprPtr> again = ParseQuery(printed);
  if (printed.size() < kMaxQueryBytes && (!again.ok() || ToString(**again) != printed)) __builtin_trap();
  QueryOptions options;
  options.max_samples = 10'000;
  options.max_values = 10'000;
  options.timeout = absl::Seconds(5);
  const Engine engine({.source = &Source(), .clock = &fleetmark::RealClock(), .query = options});
  engine.Instant(query, kBegin + 1'800'000).status().IgnoreError();
  engine.Range(query, {kBegin, kBegin + 1'800'000, 300'000}).status().IgnoreError();
  return 0;
}
