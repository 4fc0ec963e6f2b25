#include "plugins/parse/number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <system_error>

#include "plugins/parse/text.h"

namespace fleetmark::parse {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

size_t DigitsFrom(std::string_view text, size_t at) {
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at;
}

// Where the number that `text` begins with ends; 0 if it begins with none.
size_t NumberLength(std::string_view text) {
  const size_t begin = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  size_t at = DigitsFrom(text, begin);
  bool digits = at > begin;
  if (at < text.size() && text[at] == '.') {
    const size_t end = DigitsFrom(text, at + 1);
    digits = digits || end > at + 1;
    at = end;
  }
  if (!digits) return 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const size_t sign = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-') ? 1 : 0;
    const size_t end = DigitsFrom(text, at + 1 + sign);
    if (end > at + 1 + sign) at = end;
  }
  return at;
}

bool IsNotFinite(std::string_view text) {
  std::string lower = Lower(text);
  if (!lower.empty() && (lower[0] == '+' || lower[0] == '-')) lower.erase(0, 1);
  return lower == "nan" || lower == "inf" || lower == "infinity" || lower.starts_with("nan(");
}

bool IsAbsent(std::string_view text) {
  static constexpr std::array<std::string_view, 17> kWords = {"",
                                                              "-",
                                                              "--",
                                                              "n/a",
                                                              "na",
                                                              "null",
                                                              "none",
                                                              "[n/a]",
                                                              "unknown",
                                                              "[unknown]",
                                                              "not supported",
                                                              "[not supported]",
                                                              "not available",
                                                              "[not available]",
                                                              "[insufficient permissions]",
                                                              "<undefined>",
                                                              "(null)"};
  return std::find(kWords.begin(), kWords.end(), Lower(text)) != kWords.end();
}

// The text must be a number by NumberLength.
Number Convert(std::string_view text) {
  if (text[0] == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return {NumberKind::kNumber, value};
}

using Units = std::map<std::string, UnitSpelling, std::less<>>;

// Exactly as written.
const Units& ExactUnits() {
  static const Units units = {
      {"Mb/s", {"Mbit/s"}},
      {"Gb/s", {"Gbit/s"}},
      {"Kb/s", {"kbit/s"}},
      {"Tb/s", {"Gbit/s", 1e3}},
      {"b/s", {"bit/s"}},
      {"MB/s", {"MB/s"}},
      {"GB/s", {"GB/s"}},
      {"KB/s", {"kB/s"}},
      {"kB/s", {"kB/s"}},
      {"TB/s", {"TB/s"}},
      {"B/s", {"B/s"}},
      {"MiB/s", {"MiB/s"}},
      {"GiB/s", {"GiB/s"}},
      {"KiB/s", {"KiB/s"}},
      {"TiB/s", {"GiB/s", 1024}},
      {"Mbps", {"Mbit/s"}},
      {"Gbps", {"Gbit/s"}},
      {"MBps", {"MB/s"}},
      {"GBps", {"GB/s"}},
      {"B", {"B"}},
      {"kB", {"kB"}},
      {"KB", {"kB"}},
      {"MB", {"MB"}},
      {"GB", {"GB"}},
      {"TB", {"TB"}},
      {"KiB", {"KiB"}},
      {"MiB", {"MiB"}},
      {"GiB", {"GiB"}},
      {"TiB", {"TiB"}},
      {"C", {"Cel"}},
      {"W", {"W"}},
      {"mW", {"W", 1e-3}},
      {"kW", {"kW"}},
      {"J", {"J"}},
      {"mJ", {"J", 1e-3}},
      {"V", {"V"}},
      {"mV", {"V", 1e-3}},
      {"Cel", {"Cel"}},
  };
  return units;
}

// In lower case.
const Units& LowerUnits() {
  static const Units units = {
      {"1", {"1"}},
      {"ratio", {"1"}},
      {"%", {"%"}},
      {"percent", {"%"}},
      {"count", {"count"}},
      {"ns", {"ns"}},
      {"nsec", {"ns"}},
      {"nanoseconds", {"ns"}},
      {"us", {"us"}},
      {"usec", {"us"}},
      {"\xC2\xB5s", {"us"}},
      {"\xCE\xBCs", {"us"}},
      {"microseconds", {"us"}},
      {"ms", {"ms"}},
      {"msec", {"ms"}},
      {"milliseconds", {"ms"}},
      {"s", {"s"}},
      {"sec", {"s"}},
      {"secs", {"s"}},
      {"second", {"s"}},
      {"seconds", {"s"}},
      {"min", {"min"}},
      {"mins", {"min"}},
      {"minutes", {"min"}},
      {"h", {"h"}},
      {"hours", {"h"}},
      {"bytes", {"B"}},
      {"byte", {"B"}},
      {"bytes/s", {"B/s"}},
      {"bytes/sec", {"B/s"}},
      {"bytes/second", {"B/s"}},
      {"b/sec", {"B/s"}},
      {"kb/sec", {"kB/s"}},
      {"kbytes/s", {"kB/s"}},
      {"kbytes/sec", {"kB/s"}},
      {"mb/sec", {"MB/s"}},
      {"mbytes/s", {"MB/s"}},
      {"mbytes/sec", {"MB/s"}},
      {"mb/second", {"MB/s"}},
      {"gb/sec", {"GB/s"}},
      {"gbytes/s", {"GB/s"}},
      {"gbytes/sec", {"GB/s"}},
      {"gb/second", {"GB/s"}},
      {"tb/sec", {"TB/s"}},
      {"tbytes/sec", {"TB/s"}},
      {"kib/s", {"KiB/s"}},
      {"kib/sec", {"KiB/s"}},
      {"mib/s", {"MiB/s"}},
      {"mib/sec", {"MiB/s"}},
      {"gib/s", {"GiB/s"}},
      {"gib/sec", {"GiB/s"}},
      {"tib/s", {"GiB/s", 1024}},
      {"tib/sec", {"GiB/s", 1024}},
      {"bit/s", {"bit/s"}},
      {"bits/s", {"bit/s"}},
      {"bits/sec", {"bit/s"}},
      {"bps", {"bit/s"}},
      {"kbit/s", {"kbit/s"}},
      {"kbits/sec", {"kbit/s"}},
      {"kbits/s", {"kbit/s"}},
      {"mbit/s", {"Mbit/s"}},
      {"mbits/sec", {"Mbit/s"}},
      {"mbits/s", {"Mbit/s"}},
      {"gbit/s", {"Gbit/s"}},
      {"gbits/sec", {"Gbit/s"}},
      {"gbits/s", {"Gbit/s"}},
      {"flop/s", {"FLOP/s"}},
      {"flops", {"FLOP/s"}},
      {"flops/s", {"FLOP/s"}},
      {"mflop/s", {"MFLOP/s"}},
      {"mflops", {"MFLOP/s"}},
      {"mflops/s", {"MFLOP/s"}},
      {"gflop/s", {"GFLOP/s"}},
      {"gflops", {"GFLOP/s"}},
      {"gflops/s", {"GFLOP/s"}},
      {"gflops/sec", {"GFLOP/s"}},
      {"tflop/s", {"TFLOP/s"}},
      {"tflops", {"TFLOP/s"}},
      {"tflops/s", {"TFLOP/s"}},
      {"pflop/s", {"PFLOP/s"}},
      {"pflops", {"PFLOP/s"}},
      {"hz", {"Hz"}},
      {"khz", {"kHz"}},
      {"mhz", {"MHz"}},
      {"ghz", {"GHz"}},
      {"1/s", {"1/s"}},
      {"/s", {"1/s"}},
      {"ops", {"1/s"}},
      {"ops/s", {"1/s"}},
      {"ops/sec", {"1/s"}},
      {"op/s", {"1/s"}},
      {"messages/s", {"1/s"}},
      {"items/s", {"1/s"}},
      {"it/s", {"1/s"}},
      {"steps/s", {"1/s"}},
      {"steps/sec", {"1/s"}},
      {"kops", {"1/s", 1e3}},
      {"mpps", {"1/s", 1e6}},
      {"1/min", {"1/min"}},
      {"iops", {"IOPS"}},
      {"kiops", {"IOPS", 1e3}},
      {"io/s", {"IOPS"}},
      {"samples/s", {"samples/s"}},
      {"samples/sec", {"samples/s"}},
      {"samples/second", {"samples/s"}},
      {"sample/s", {"samples/s"}},
      {"images/s", {"samples/s"}},
      {"images/sec", {"samples/s"}},
      {"imgs/s", {"samples/s"}},
      {"img/s", {"samples/s"}},
      {"img/sec", {"samples/s"}},
      {"inputs/s", {"samples/s"}},
      {"sequences/s", {"samples/s"}},
      {"sequences/sec", {"samples/s"}},
      {"seqs/s", {"samples/s"}},
      {"examples/s", {"samples/s"}},
      {"examples/sec", {"samples/s"}},
      {"items/sec", {"1/s"}},
      {"tokens/s", {"tokens/s"}},
      {"tokens/sec", {"tokens/s"}},
      {"token/s", {"tokens/s"}},
      {"watt", {"W"}},
      {"watts", {"W"}},
      {"joule", {"J"}},
      {"joules", {"J"}},
      {"kib", {"KiB"}},
      {"mib", {"MiB"}},
      {"gib", {"GiB"}},
      {"tib", {"TiB"}},
      {"celsius", {"Cel"}},
      {"\xC2\xB0"
       "c",
       {"Cel"}},
      {"degrees c", {"Cel"}},
      {"volts", {"V"}},
      {"gflops/w", {"GFLOP/s/W"}},
      {"gflop/s/w", {"GFLOP/s/W"}},
      {"cycles", {"cycles"}},
  };
  return units;
}

}  // namespace

Number ReadNumber(std::string_view text) {
  text = Trim(text);
  if (IsAbsent(text)) return {NumberKind::kAbsent, 0};
  if (IsNotFinite(text)) return {NumberKind::kNotFinite, 0};
  if (text.empty() || NumberLength(text) != text.size()) return {};
  return Convert(text);
}

std::optional<double> FiniteNumber(std::string_view text) {
  const Number number = ReadNumber(text);
  if (number.kind != NumberKind::kNumber) return std::nullopt;
  return number.value;
}

bool GoesOnAsNumber(std::string_view rest) {
  if (rest.empty()) return false;
  if (IsDigit(rest[0])) return true;
  if (rest[0] == '.') return DigitsFrom(rest, 1) > 1;
  if (rest[0] == ',') return DigitsFrom(rest, 1) == 4;
  if (rest[0] != 'e' && rest[0] != 'E') return false;
  const size_t sign = rest.size() > 1 && (rest[1] == '+' || rest[1] == '-') ? 1 : 0;
  return DigitsFrom(rest, 1 + sign) > 1 + sign;
}

size_t Decimals(std::string_view number) {
  const size_t point = number.find('.');
  return point == std::string_view::npos ? 0 : DigitsFrom(number, point + 1) - point - 1;
}

std::optional<int64_t> WholeNumber(std::string_view text) {
  text = Trim(text);
  if (text.empty() || !IsDigit(text[0])) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Quantity ReadQuantity(std::string_view text) {
  text = Trim(text);
  const size_t length = NumberLength(text);
  if (length == 0) return {ReadNumber(text), {}};
  const std::string_view unit = Trim(text.substr(length));
  // "1,234", "12:30", "1.2.3", "4 5": not a number followed by a unit.
  const bool unit_like = unit.empty() || unit[0] == '%' || unit[0] == '/' || unit[0] == '[' ||
                         unit[0] == '(' ||
                         !(static_cast<unsigned char>(unit[0]) < 0x80 &&
                           (IsDigit(unit[0]) || std::ispunct(static_cast<unsigned char>(unit[0])) != 0)) ||
                         FindUnit(unit).has_value();
  if (!unit_like) return {};
  return {Convert(text.substr(0, length)), unit};
}

std::optional<UnitSpelling> FindUnit(std::string_view spelling) {
  spelling = Trim(spelling);
  const auto exact = ExactUnits().find(spelling);
  if (exact != ExactUnits().end()) return exact->second;
  const auto lower = LowerUnits().find(Lower(spelling));
  if (lower != LowerUnits().end()) return lower->second;
  return std::nullopt;
}

std::string_view BetterOfUnit(std::string_view unit) {
  static constexpr std::array<std::string_view, 6> kTimes = {"ns", "us", "ms", "s", "min", "h"};
  if (std::find(kTimes.begin(), kTimes.end(), unit) != kTimes.end()) return "lower";
  if (unit.ends_with("/s") || unit == "IOPS" || unit == "1/min" || unit == "GFLOP/s/W") return "higher";
  return "none";
}

}  // namespace fleetmark::parse
