#include "collector/store/samples.h"

#include <algorithm>
#include <string>

#include "collector/store/sample_codec.h"
#include "common/base/status.h"

namespace fleetmark::collector {

void PutSample(const SampleKey& key, double value, double relative_spread, WriteSet* writes) {
  writes->Put(Family::kSamples, EncodeSampleKey(key), EncodeSampleValue(value, relative_spread));
}

absl::Status ScanSamples(const Database& db, uint64_t series_id, int64_t from_unix_ns, int64_t to_unix_ns,
                         absl::FunctionRef<bool(const v1::Sample&)> visit) {
  const std::string end = EncodeSampleKey({series_id, to_unix_ns, {}});
  Cursor cursor = db.NewCursor(Family::kSamples);
  for (cursor.Seek(EncodeSampleKey({series_id, from_unix_ns, {}})); cursor.Valid() && cursor.key() < end;
       cursor.Next()) {
    FM_ASSIGN_OR_RETURN(const v1::Sample sample, DecodeSample(cursor.key(), cursor.value()));
    if (!visit(sample)) return absl::OkStatus();
  }
  return cursor.status();
}

absl::StatusOr<std::vector<v1::Sample>> LastSamples(const Database& db, uint64_t series_id,
                                                    int64_t to_unix_ns, size_t count) {
  const std::string begin = SeriesIdKey(series_id);
  std::vector<v1::Sample> samples;
  Cursor cursor = db.NewCursor(Family::kSamples);
  for (cursor.SeekBefore(EncodeSampleKey({series_id, to_unix_ns, {}}));
       cursor.Valid() && cursor.key() >= begin && samples.size() < count; cursor.Prev()) {
    FM_ASSIGN_OR_RETURN(v1::Sample sample, DecodeSample(cursor.key(), cursor.value()));
    samples.push_back(std::move(sample));
  }
  FM_RETURN_IF_ERROR(cursor.status());
  std::reverse(samples.begin(), samples.end());
  return samples;
}

}  // namespace fleetmark::collector
