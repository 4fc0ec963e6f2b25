#include "collector/promql/value.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

constexpr std::string_view kSameLabels = "vector cannot contain metrics with the same labelset";

}  // namespace

absl::Status ExecutionError(std::string_view what) {
  return absl::FailedPreconditionError(absl::string_view(what.data(), what.size()));
}

void DropEmpty(Columns* columns) {
  std::erase_if(*columns, [](const Column& column) {
    return std::all_of(column.values.begin(), column.values.end(), IsAbsent);
  });
}

absl::Status CombineDisjoint(const Column& from, std::string_view conflict, Column* into) {
  for (size_t i = 0; i < from.values.size(); ++i) {
    if (IsAbsent(from.values[i])) continue;
    if (!IsAbsent(into->values[i])) return ExecutionError(conflict);
    into->values[i] = from.values[i];
  }
  return absl::OkStatus();
}

absl::Status MergeSameLabels(Columns* columns, bool strict) {
  absl::flat_hash_map<LabelSet, size_t> seen;
  seen.reserve(columns->size());
  size_t kept = 0;
  for (size_t i = 0; i < columns->size(); ++i) {
    Column& column = (*columns)[i];
    const auto [it, is_new] = seen.try_emplace(*column.metric, kept);
    if (is_new) {
      if (kept != i) (*columns)[kept] = std::move(column);
      ++kept;
      continue;
    }
    if (strict) return ExecutionError(kSameLabels);
    FM_RETURN_IF_ERROR(CombineDisjoint(column, kSameLabels, &(*columns)[it->second]));
  }
  columns->resize(kept);
  return absl::OkStatus();
}

}  // namespace fleetmark::collector::promql
