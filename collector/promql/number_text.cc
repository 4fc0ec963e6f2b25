#include "collector/promql/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::collector::promql {
namespace {

// The shortest digits that read back as the value, as d.ddde±xx. Only for finite values.
std::string Scientific(double value) {
  std::array<char, 32> buffer;  // sign, 17 digits, point, exponent
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  return {buffer.data(), result.ptr};
}

const char* SpecialText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return nullptr;
}

}  // namespace

std::string PlainNumber(double value) {
  if (const char* special = SpecialText(value)) return special;
  // std::to_chars would print all digits that a large number has; Go fills up with zeros.
  const std::string text = Scientific(std::fabs(value));
  const size_t e = text.find('e');
  const int exponent = atoi(text.c_str() + e + 1);
  std::string digits = text.substr(0, 1) + (e > 2 ? text.substr(2, e - 2) : "");
  const std::string sign = std::signbit(value) ? "-" : "";
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0');
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string JsonNumber(double value) {
  const double size = std::fabs(value);
  const bool exponent = size != 0 && (size < 1e-6 || size >= 1e21) && std::isfinite(value);
  return exponent ? Scientific(value) : PlainNumber(value);
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
