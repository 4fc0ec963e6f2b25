#include "common/obs/metrics.h"

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Metrics, TextFormat) {
  Metrics metrics;
  metrics.AddCounter("fleetmark_x_runs_total", "Runs.", {{"outcome", "ok"}}).Add(3);
  metrics.AddGauge("fleetmark_x_queue_depth", "Depth.").Set(7);
  metrics.AddHistogram("fleetmark_x_commit_seconds", "Commits.", {0.1, 1}).Observe(0.5);
  const std::string text = metrics.Serialize();
  EXPECT_TRUE(Has(text, "# TYPE fleetmark_x_runs_total counter")) << text;
  EXPECT_TRUE(Has(text, "fleetmark_x_runs_total{outcome=\"ok\"} 3"));
  EXPECT_TRUE(Has(text, "fleetmark_x_queue_depth 7"));
  EXPECT_TRUE(Has(text, "fleetmark_x_commit_seconds_bucket{le=\"1\"} 1"));
  EXPECT_TRUE(Has(text, "process_resident_memory_bytes"));
  EXPECT_TRUE(Has(text, "process_cpu_seconds_total"));
  EXPECT_TRUE(Has(text, "fleetmark_build_info{version="));
}

TEST(Metrics, SameNameAndLabelsIsTheSameInstrument) {
  Metrics metrics;
  Counter& a = metrics.AddCounter("fleetmark_x_total", "X.", {{"k", "v"}});
  EXPECT_EQ(&a, &metrics.AddCounter("fleetmark_x_total", "X.", {{"k", "v"}}));
  EXPECT_NE(&a, &metrics.AddCounter("fleetmark_x_total", "X.", {{"k", "w"}}));
}

TEST(Metrics, ScrapeUpdatesFirst) {
  Metrics metrics;
  Gauge& gauge = metrics.AddGauge("fleetmark_x_bytes", "X.");
  int scrapes = 0;
  metrics.OnScrape([&] { gauge.Set(++scrapes); });
  EXPECT_TRUE(Has(metrics.Serialize(), "fleetmark_x_bytes 1\n"));
  EXPECT_TRUE(Has(metrics.Serialize(), "fleetmark_x_bytes 2\n"));
}

}  // namespace
}  // namespace fleetmark
