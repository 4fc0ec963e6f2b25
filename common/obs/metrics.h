// The process's own metrics, in Prometheus' text format, by prometheus-cpp. Names follow Prometheus'
// rules: fleetmark_<part>_<what>_<unit>, counters end in _total, base units only.
//
// Thread-safety: any thread. Ownership: a Metrics owns all that it hands out; handles stay valid as long
// as it lives. Errors: a name that is not allowed or that is used for two kinds is a bug and aborts.
#ifndef FLEETMARK_COMMON_OBS_METRICS_H_
#define FLEETMARK_COMMON_OBS_METRICS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fleetmark {

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void Add(double by = 1) = 0;
  virtual double Value() const = 0;
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void Set(double value) = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void Observe(double value) = 0;
};

class Metrics {
 public:
  using LabelMap = std::map<std::string, std::string>;

  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The same name and labels give the same instrument again.
  Counter& AddCounter(const std::string& name, const std::string& help, const LabelMap& labels = {});
  Gauge& AddGauge(const std::string& name, const std::string& help, const LabelMap& labels = {});
  Histogram& AddHistogram(const std::string& name, const std::string& help,
                          const std::vector<double>& buckets, const LabelMap& labels = {});

  // Called before each scrape, to set gauges whose value is kept elsewhere. In the scraping thread.
  void OnScrape(std::function<void()> update);

  // Everything, with the standard process_* metrics, as text/plain version 0.0.4.
  std::string Serialize();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_OBS_METRICS_H_
