#include "common/model/unit_words.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "common/model/units.h"

namespace fleetmark {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

// Words for whole units; those of data and of FLOP are put together below.
constexpr std::array<Words, 30> kUnitWords = {
    {{"1", "ratio"},          {"%", "percent"},     {"ns", "nanoseconds"},  {"us", "microseconds"},
     {"ms", "milliseconds"},  {"s", "seconds"},     {"min", "minutes"},     {"h", "hours"},
     {"B", "bytes"},          {"bit", "bits"},      {"FLOP", "flop"},       {"Hz", "hertz"},
     {"kHz", "kilohertz"},    {"MHz", "megahertz"}, {"GHz", "gigahertz"},   {"1/s", "per_second"},
     {"1/min", "per_minute"}, {"IOPS", "iops"},     {"samples", "samples"}, {"tokens", "tokens"},
     {"W", "watts"},          {"kW", "kilowatts"},  {"J", "joules"},        {"Cel", "celsius"},
     {"V", "volts"},          {"count", "count"},   {"cycles", "cycles"},   {"/s", "per_second"},
     {"/W", "per_watt"},      {"", "ratio"}}};
constexpr std::array<Words, 9> kPrefixes = {{{"Ki", "kibi"},
                                             {"Mi", "mebi"},
                                             {"Gi", "gibi"},
                                             {"Ti", "tebi"},
                                             {"k", "kilo"},
                                             {"M", "mega"},
                                             {"G", "giga"},
                                             {"T", "tera"},
                                             {"P", "peta"}}};

std::string_view WordsFor(std::string_view unit) {
  for (const auto& [known, words] : kUnitWords) {
    if (known == unit) return words;
  }
  return {};
}

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// "GB" -> "gigabytes"; empty when it is no prefix with a unit.
std::string PrefixedWords(std::string_view unit) {
  for (const auto& [prefix, words] : kPrefixes) {
    if (!unit.starts_with(prefix)) continue;
    const std::string_view base = WordsFor(unit.substr(prefix.size()));
    if (!base.empty() && unit.size() > prefix.size()) return absl::StrCat(View(words), View(base));
  }
  return {};
}

}  // namespace

std::string Underscored(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return out;
}

std::string UnitWords(std::string_view unit) {
  if (const std::string_view words = WordsFor(unit); !words.empty()) return std::string(words);
  if (const std::string words = PrefixedWords(unit); !words.empty()) return words;
  if (const size_t slash = unit.rfind('/'); slash != std::string_view::npos && slash > 0) {
    const std::string_view per = WordsFor(unit.substr(slash));
    if (!per.empty()) return absl::StrCat(UnitWords(unit.substr(0, slash)), "_", View(per));
  }
  return Underscored(unit);
}

std::string_view UnitOfName(std::string_view name) {
  static const auto* const known = [] {
    auto* list = new std::vector<std::pair<std::string, std::string_view>>();
    for (const Unit& unit : AllUnits()) list->emplace_back(UnitWords(unit.name), unit.name);
    return list;
  }();
  std::string_view best;
  size_t longest = 0;
  for (const auto& [words, unit] : *known) {
    if (!name.ends_with(words) || words.size() <= longest) continue;
    if (name.size() > words.size() && name[name.size() - words.size() - 1] != '_') continue;
    best = unit;
    longest = words.size();
  }
  return best;
}

}  // namespace fleetmark
