#include "collector/promql/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::collector::promql {
namespace {

std::string Format(double value, std::chars_format format) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 400> buffer;  // the longest double has 309 digits before its point or 1,074 after it
  auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  if (result.ec == std::errc()) return {buffer.data(), result.ptr};
  std::string longer(1200, '\0');
  result = std::to_chars(longer.data(), longer.data() + longer.size(), value, format);
  longer.resize(static_cast<size_t>(result.ptr - longer.data()));
  return longer;
}

}  // namespace

std::string PlainNumber(double value) { return Format(value, std::chars_format::fixed); }

std::string JsonNumber(double value) {
  const double size = std::fabs(value);
  const bool exponent = size != 0 && (size < 1e-6 || size >= 1e21);
  return Format(value, exponent ? std::chars_format::scientific : std::chars_format::fixed);
}

std::string SecondsText(int64_t ms) {
  const bool negative = ms < 0;
  const uint64_t size = negative ? 0 - static_cast<uint64_t>(ms) : static_cast<uint64_t>(ms);
  std::string out = absl::StrCat(negative ? "-" : "", size / 1000);
  if (size % 1000 != 0) absl::StrAppend(&out, ".", absl::Dec(size % 1000, absl::kZeroPad3));
  return out;
}

std::string DurationText(int64_t ms) {
  constexpr std::array<std::pair<const char*, int64_t>, 7> kUnits = {{{"y", 365LL * 86'400'000},
                                                                      {"w", 7LL * 86'400'000},
                                                                      {"d", 86'400'000},
                                                                      {"h", 3'600'000},
                                                                      {"m", 60'000},
                                                                      {"s", 1000},
                                                                      {"ms", 1}}};
  if (ms == 0) return "0s";
  std::string out = ms < 0 ? "-" : "";
  int64_t rest = ms < 0 ? -ms : ms;
  for (const auto& [name, size] : kUnits) {
    // Years and weeks only where nothing is left over, as people would write it.
    const bool exact = name[0] != 'y' && name[0] != 'w' ? true : rest % size == 0;
    if (exact && rest >= size) {
      absl::StrAppend(&out, rest / size, name);
      rest %= size;
    }
  }
  return out;
}

}  // namespace fleetmark::collector::promql
