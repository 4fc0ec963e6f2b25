#include "collector/remote/write_request.h"

#include <snappy.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/promql/series_naming.h"
#include "collector/store/values.h"
#include "common/model/series.h"

namespace fleetmark::collector {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

int64_t TimeMs(const v1::Run& run) {
  return RunUnixNs(run, UlidFromText(run.run_id()).value_or(UlidBytes{})) / kNsPerMs;
}

void AddMetric(const promql::LabelSet& labels, double value, int64_t time_ms, remote::WriteRequest* out) {
  remote::TimeSeries* series = out->add_timeseries();
  for (const promql::Label& label : labels) {
    remote::Label* added = series->add_labels();
    added->set_name(label.name);
    added->set_value(label.value);
  }
  remote::Sample* sample = series->add_samples();
  sample->set_value(value);
  sample->set_timestamp(time_ms);
}

}  // namespace

remote::WriteRequest ToWriteRequest(absl::Span<const SenderRecords> batch, const NodeLabelsFn& node_labels) {
  remote::WriteRequest out;
  for (const SenderRecords& sender : batch) {
    std::optional<std::map<std::string, std::string>> labels;
    for (const v1::Record& record : sender.records) {
      if (!record.has_run() || record.run().outcome() != v1::OUTCOME_OK) continue;
      if (!labels.has_value()) labels = node_labels(sender.node);
      for (const v1::Metric& metric : record.run().metrics()) {
        AddMetric(promql::LabelsOf(SeriesKeyOf(sender.node, record.run(), metric), *labels), metric.value(),
                  TimeMs(record.run()), &out);
      }
    }
  }
  return out;
}

std::string SnappyCompress(std::string_view data) {
  std::string out;
  snappy::Compress(data.data(), data.size(), &out);
  return out;
}

absl::StatusOr<std::string> SnappyDecompress(std::string_view data, size_t max_bytes) {
  size_t size = 0;
  if (!snappy::GetUncompressedLength(data.data(), data.size(), &size)) {
    return absl::InvalidArgumentError("the body is not compressed with snappy");
  }
  if (size > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("the body has more than ", max_bytes, " bytes"));
  }
  std::string out;
  if (!snappy::Uncompress(data.data(), data.size(), &out)) {
    return absl::InvalidArgumentError("the body is not compressed with snappy, or broken");
  }
  return out;
}

}  // namespace fleetmark::collector
