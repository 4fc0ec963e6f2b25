#include "common/obs/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <deque>
#include <filesystem>
#include <system_error>
#include <utility>

#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark {
namespace {

class CounterImpl final : public Counter {
 public:
  explicit CounterImpl(prometheus::Counter& counter) : counter_(counter) {}
  void Add(double by) override { counter_.Increment(by); }
  double Value() const override { return counter_.Value(); }

 private:
  prometheus::Counter& counter_;
};

class GaugeImpl final : public Gauge {
 public:
  explicit GaugeImpl(prometheus::Gauge& gauge) : gauge_(gauge) {}
  void Set(double value) override { gauge_.Set(value); }

 private:
  prometheus::Gauge& gauge_;
};

class HistogramImpl final : public Histogram {
 public:
  explicit HistogramImpl(prometheus::Histogram& histogram) : histogram_(histogram) {}
  void Observe(double value) override { histogram_.Observe(value); }

 private:
  prometheus::Histogram& histogram_;
};

double ResidentBytes() {
  long total = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  const int fields = fscanf(file, "%ld %ld", &total, &resident);
  fclose(file);
  return fields == 2 ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

double OpenDescriptors() {
  std::error_code error;
  double count = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    ++count;
  }
  return count;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};
  Mutex mu;
  std::map<std::pair<std::string, LabelMap>, std::unique_ptr<CounterImpl>> counters ABSL_GUARDED_BY(mu);
  std::map<std::pair<std::string, LabelMap>, std::unique_ptr<GaugeImpl>> gauges ABSL_GUARDED_BY(mu);
  std::map<std::pair<std::string, LabelMap>, std::unique_ptr<HistogramImpl>> histograms ABSL_GUARDED_BY(mu);
  std::vector<std::function<void()>> updates ABSL_GUARDED_BY(mu);
  double last_cpu_seconds ABSL_GUARDED_BY(mu) = 0;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {
  AddGauge("process_start_time_seconds", "When this process started, in Unix time.")
      .Set(absl::ToDoubleSeconds(RealClock().Now() - absl::UnixEpoch()));
  AddGauge("fleetmark_build_info", "Always 1; the labels say what runs.", {{"version", FM_VERSION}}).Set(1);
}

Metrics::~Metrics() = default;

Counter& Metrics::AddCounter(const std::string& name, const std::string& help, const LabelMap& labels) {
  MutexLock lock(impl_->mu);
  auto& slot = impl_->counters[{name, labels}];
  if (slot == nullptr) {
    auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(impl_->registry);
    slot = std::make_unique<CounterImpl>(family.Add(labels));
  }
  return *slot;
}

Gauge& Metrics::AddGauge(const std::string& name, const std::string& help, const LabelMap& labels) {
  MutexLock lock(impl_->mu);
  auto& slot = impl_->gauges[{name, labels}];
  if (slot == nullptr) {
    auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(impl_->registry);
    slot = std::make_unique<GaugeImpl>(family.Add(labels));
  }
  return *slot;
}

Histogram& Metrics::AddHistogram(const std::string& name, const std::string& help,
                                 const std::vector<double>& buckets, const LabelMap& labels) {
  MutexLock lock(impl_->mu);
  auto& slot = impl_->histograms[{name, labels}];
  if (slot == nullptr) {
    auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(impl_->registry);
    slot =
        std::make_unique<HistogramImpl>(family.Add(labels, prometheus::Histogram::BucketBoundaries(buckets)));
  }
  return *slot;
}

void Metrics::OnScrape(std::function<void()> update) {
  MutexLock lock(impl_->mu);
  impl_->updates.push_back(std::move(update));
}

std::string Metrics::Serialize() {
  std::vector<std::function<void()>> updates;
  {
    MutexLock lock(impl_->mu);
    updates = impl_->updates;
  }
  for (const auto& update : updates) update();
  AddGauge("process_resident_memory_bytes", "Resident memory of this process.").Set(ResidentBytes());
  AddGauge("process_open_fds", "Open file descriptors of this process.").Set(OpenDescriptors());
  Counter& cpu = AddCounter("process_cpu_seconds_total", "CPU time of this process.");
  {
    MutexLock lock(impl_->mu);
    const double now = CpuSeconds();
    cpu.Add(now - impl_->last_cpu_seconds);
    impl_->last_cpu_seconds = now;
  }
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace fleetmark
