#include "collector/store/tiers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "collector/store/chunk_codec/bit_stream.h"
#include "collector/store/chunk_codec/column_codec.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr char kVersion = 1;
constexpr int64_t kDaysInWindow = 32;
constexpr size_t kColumns = 4;  // count, least, median, greatest

absl::Status Malformed() { return absl::DataLossError("a tier's summaries are malformed"); }

int64_t FloorTo(int64_t time, int64_t step) {
  const int64_t rest = time % step;
  return time - (rest < 0 ? rest + step : rest);
}

TierSummary SummaryOf(int64_t begin, std::vector<double> values) {
  TierSummary summary;
  summary.begin_unix_ns = begin;
  summary.count = values.size();
  const auto numbers =
      std::stable_partition(values.begin(), values.end(), [](double v) { return !std::isnan(v); });
  if (numbers == values.begin()) {
    summary.min = summary.median = summary.max = values.front();
    return summary;
  }
  values.erase(numbers, values.end());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  summary.min = values.front();
  summary.max = values.back();
  summary.median = values.size() % 2 == 1 ? values[middle] : values[middle - 1] / 2 + values[middle] / 2;
  return summary;
}

}  // namespace

int64_t DayOf(int64_t time_unix_ns) { return FloorTo(time_unix_ns, kDayNs) / kDayNs; }

int64_t PeriodNs(Tier tier) { return tier == Tier::kHourly ? kHourNs : kDayNs; }

int64_t WindowNs(Tier tier) { return tier == Tier::kHourly ? kDayNs : kDaysInWindow * kDayNs; }

int64_t WindowOf(Tier tier, int64_t time_unix_ns) { return FloorTo(time_unix_ns, WindowNs(tier)); }

std::vector<TierSummary> Summarise(Tier tier, absl::Span<const int64_t> times,
                                   absl::Span<const double> values) {
  const int64_t period = PeriodNs(tier);
  std::vector<TierSummary> out;
  for (size_t i = 0; i < times.size();) {
    const int64_t begin = FloorTo(times[i], period);
    size_t end = i + 1;
    while (end < times.size() && FloorTo(times[end], period) == begin) ++end;
    out.push_back(SummaryOf(begin, {values.begin() + static_cast<std::ptrdiff_t>(i),
                                    values.begin() + static_cast<std::ptrdiff_t>(end)}));
    i = end;
  }
  return out;
}

std::string EncodeSummaries(const std::vector<TierSummary>& summaries) {
  std::vector<int64_t> begins;
  std::array<ValueColumn, kColumns> columns;
  for (const TierSummary& s : summaries) {
    begins.push_back(s.begin_unix_ns);
    const std::array<double, kColumns> numbers = {static_cast<double>(s.count), s.min, s.median, s.max};
    for (size_t i = 0; i < kColumns; ++i) columns[i].values.push_back(numbers[i]);
  }
  std::string value(1, kVersion);
  const auto append = [&value](const std::string& column) {
    AppendVarint(&value, column.size());
    value.append(column);
  };
  append(EncodeTimes(begins));
  for (ValueColumn& column : columns) {
    column.rows = summaries.size();
    append(EncodeValues(column));
  }
  return value;
}

absl::Status DecodeSummaries(std::string_view value, std::vector<TierSummary>* summaries) {
  summaries->clear();
  if (value.empty() || value[0] == 0) return Malformed();
  if (value[0] != kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("a tier's summaries have version ", static_cast<int>(value[0])));
  }
  value.remove_prefix(1);
  std::array<std::string_view, 1 + kColumns> parts;
  for (std::string_view& part : parts) {
    uint64_t size = 0;
    if (!TakeVarint(&value, &size) || size > value.size()) return Malformed();
    part = value.substr(0, size);
    value.remove_prefix(size);
  }
  if (!value.empty()) return Malformed();
  std::vector<int64_t> begins;
  FM_RETURN_IF_ERROR(DecodeTimes(parts[0], &begins));
  std::array<ValueColumn, kColumns> columns;
  for (size_t i = 0; i < kColumns; ++i) {
    FM_RETURN_IF_ERROR(DecodeValues(parts[1 + i], &columns[i]));
    if (columns[i].values.size() != begins.size()) return Malformed();
  }
  for (size_t i = 0; i < begins.size(); ++i) {
    const double count = columns[0].values[i];
    if (!(count >= 1 && count < 9e15)) return Malformed();
    summaries->push_back({begins[i], static_cast<uint64_t>(count), columns[1].values[i], columns[2].values[i],
                          columns[3].values[i]});
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
