#include "common/config/quantities.h"

#include <cctype>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace fleetmark {
namespace {

constexpr std::pair<std::string_view, absl::Duration> kTimeUnits[] = {{"d", absl::Hours(24)},
                                                                      {"h", absl::Hours(1)},
                                                                      {"m", absl::Minutes(1)},
                                                                      {"s", absl::Seconds(1)},
                                                                      {"ms", absl::Milliseconds(1)}};
constexpr std::pair<std::string_view, int64_t> kByteUnits[] = {
    {"TiB", int64_t{1} << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1000000000000},
    {"GB", 1000000000},        {"MB", 1000000},  {"kB", 1000},     {"B", 1}};

// Splits "1.5GiB" into the number, which is removed from `text`, and leaves the rest.
bool TakeNumber(std::string_view& text, double& number) {
  size_t n = 0;
  while (n < text.size() && (isdigit(static_cast<unsigned char>(text[n])) || text[n] == '.')) ++n;
  if (n == 0 || !absl::SimpleAtod(absl::string_view(text.data(), n), &number)) return false;
  text.remove_prefix(n);
  return std::isfinite(number);
}

std::string_view TakeUnit(std::string_view& text) {
  size_t n = 0;
  while (n < text.size() && isalpha(static_cast<unsigned char>(text[n]))) ++n;
  const std::string_view unit = text.substr(0, n);
  text.remove_prefix(n);
  return unit;
}

}  // namespace

absl::StatusOr<absl::Duration> ParseDuration(std::string_view text) {
  const auto wrong = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(text), "' is not a duration; write for example 90s, 5m, 1h30m or 2d"));
  };
  std::string_view rest = text;
  absl::Duration total;
  if (rest.empty()) return wrong();
  while (!rest.empty()) {
    double number = 0;
    if (!TakeNumber(rest, number)) return wrong();
    const std::string_view unit = TakeUnit(rest);
    bool found = false;
    for (const auto& [name, length] : kTimeUnits) {
      if (name != unit) continue;
      total += length * number;
      found = true;
    }
    if (!found) return wrong();
  }
  if (total > absl::Hours(24) * 3660) return wrong();
  return total;
}

absl::StatusOr<int64_t> ParseBytes(std::string_view text) {
  const auto wrong = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(text), "' is not a size; write for example 64KiB, 512MiB or 2GiB"));
  };
  std::string_view rest = text;
  double number = 0;
  if (!TakeNumber(rest, number)) return wrong();
  const std::string_view unit = TakeUnit(rest);
  if (!rest.empty()) return wrong();
  for (const auto& [name, bytes] : kByteUnits) {
    if (name != unit && !(unit.empty() && name == "B")) continue;
    const double total = number * static_cast<double>(bytes);
    if (total > 9.0e18) return wrong();
    return static_cast<int64_t>(total);
  }
  return wrong();
}

std::string DurationText(absl::Duration duration) {
  std::string text;
  for (const auto& [name, length] : kTimeUnits) {
    const int64_t count = absl::IDivDuration(duration, length, &duration);
    if (count != 0) absl::StrAppend(&text, count, std::string(name));
  }
  return text.empty() ? "0s" : text;
}

std::string BytesText(int64_t bytes) {
  for (const auto& [name, size] : kByteUnits) {
    if (name.size() == 3 && bytes != 0 && bytes % size == 0)
      return absl::StrCat(bytes / size, std::string(name));
  }
  return absl::StrCat(bytes, "B");
}

}  // namespace fleetmark
