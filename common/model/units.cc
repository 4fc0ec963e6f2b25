#include "common/model/units.h"

#include <string>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/model/labels.h"

namespace fleetmark {
namespace {

constexpr double kKi = 1024.0;

const Unit* FindUnit(std::string_view name) {
  for (const Unit& unit : AllUnits()) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

}  // namespace

const std::vector<Unit>& AllUnits() {
  static const std::vector<Unit> units = {
      {"1", "ratio", 1},
      {"%", "ratio", 0.01},
      {"ns", "second", 1e-9},
      {"us", "second", 1e-6},
      {"ms", "second", 1e-3},
      {"s", "second", 1},
      {"min", "second", 60},
      {"h", "second", 3600},
      {"B", "byte", 1},
      {"kB", "byte", 1e3},
      {"MB", "byte", 1e6},
      {"GB", "byte", 1e9},
      {"TB", "byte", 1e12},
      {"KiB", "byte", kKi},
      {"MiB", "byte", kKi * kKi},
      {"GiB", "byte", kKi * kKi * kKi},
      {"TiB", "byte", kKi * kKi * kKi * kKi},
      {"B/s", "byte/second", 1},
      {"kB/s", "byte/second", 1e3},
      {"MB/s", "byte/second", 1e6},
      {"GB/s", "byte/second", 1e9},
      {"TB/s", "byte/second", 1e12},
      {"KiB/s", "byte/second", kKi},
      {"MiB/s", "byte/second", kKi * kKi},
      {"GiB/s", "byte/second", kKi * kKi * kKi},
      {"bit/s", "bit/second", 1},
      {"kbit/s", "bit/second", 1e3},
      {"Mbit/s", "bit/second", 1e6},
      {"Gbit/s", "bit/second", 1e9},
      {"FLOP/s", "flop/second", 1},
      {"MFLOP/s", "flop/second", 1e6},
      {"GFLOP/s", "flop/second", 1e9},
      {"TFLOP/s", "flop/second", 1e12},
      {"PFLOP/s", "flop/second", 1e15},
      {"Hz", "hertz", 1},
      {"kHz", "hertz", 1e3},
      {"MHz", "hertz", 1e6},
      {"GHz", "hertz", 1e9},
      {"1/s", "event/second", 1},
      {"1/min", "event/second", 1.0 / 60},
      {"IOPS", "event/second", 1},
      {"samples/s", "sample/second", 1},
      {"tokens/s", "token/second", 1},
      {"W", "watt", 1},
      {"kW", "watt", 1e3},
      {"J", "joule", 1},
      {"Cel", "celsius", 1},
      {"V", "volt", 1},
      {"GFLOP/s/W", "flop/joule", 1e9},
      {"count", "count", 1},
      {"cycles", "cycle", 1},
  };
  return units;
}

absl::Status CheckUnit(std::string_view name) {
  if (FindUnit(name) != nullptr) return absl::OkStatus();
  std::vector<std::string_view> names;
  for (const Unit& unit : AllUnits()) names.push_back(unit.name);
  const std::string nearest = NearestName(name, names);
  return absl::InvalidArgumentError(absl::StrCat("unit '", std::string(name), "' is not known",
                                                 nearest.empty()
                                                     ? "; the list is in docs/plugin-protocol.md"
                                                     : absl::StrCat("; did you mean '", nearest, "'?")));
}

absl::StatusOr<double> ConvertUnit(double value, std::string_view from, std::string_view to) {
  FM_RETURN_IF_ERROR(CheckUnit(from));
  FM_RETURN_IF_ERROR(CheckUnit(to));
  const Unit* a = FindUnit(from);
  const Unit* b = FindUnit(to);
  if (a == b) return value;
  if (a->dimension != b->dimension) {
    return absl::InvalidArgumentError(
        absl::StrCat("unit '", std::string(from), "' can't be converted to '", std::string(to), "'"));
  }
  return value * a->scale / b->scale;
}

}  // namespace fleetmark
