// The grammar of numbers in other tools' output, the same for every reader, and the units behind them.
//
//   number     = [sign] (digits ["." [digits]] | "." digits) [("e" | "E") [sign] digits]
//   not finite = [sign] ("nan" | "inf" | "infinity"), in any case; "nan" may be followed by "(...)"
//   absent     = "" | "-" | "--" | "N/A" | "NA" | "n/a" | "null" | "none" | "[N/A]" | "[Not Supported]" | ...
//   quantity   = number [white space] [unit]
//
// White space around is ignored. Anything else is no number: "1,234", "0x10", "1e5x", "12 34", and what a
// double can't hold (1e999). No reader takes a part of such a text for a value. docs/readers.md says the same
// for people.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_PLUGINS_PARSE_NUMBER_H_
#define FLEETMARK_PLUGINS_PARSE_NUMBER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fleetmark::parse {

enum class NumberKind {
  kNumber,
  kNotFinite,  // the tool says nan or inf
  kAbsent,     // the tool says that it has no value here
  kMalformed,  // anything else: an error
};

struct Number {
  NumberKind kind = NumberKind::kMalformed;
  double value = 0;  // of kNumber; finite
};

Number ReadNumber(std::string_view text);

// A finite number, or nothing.
std::optional<double> FiniteNumber(std::string_view text);

// Would these first characters after a number be more of it: digits, ".5", "e3", or ",234" as thousands?
bool GoesOnAsNumber(std::string_view rest);

// The digits after the decimal point.
size_t Decimals(std::string_view number);

// Decimal digits alone, at most 2^63 - 1.
std::optional<int64_t> WholeNumber(std::string_view text);

struct Quantity {
  Number number;
  std::string_view unit;  // as written, without white space around it; may be empty
};

// The unit begins where the number ends: "41.2GB/s", "61 C", "1330MHz", "25 %". What begins with no number is
// kAbsent, kNotFinite or kMalformed as a whole.
Quantity ReadQuantity(std::string_view text);

// A unit of the project (common/model/units.h) and what a value is multiplied by to be in it.
struct UnitSpelling {
  std::string_view unit;
  double scale = 1;
};

// What tools call their units: "MB/sec", "MBytes/s", "Gbits/sec", "usec", "images/s", "C", ... Upper and
// lower case count only where they tell units apart (Mb/s and MB/s). Nothing for an unknown one.
std::optional<UnitSpelling> FindUnit(std::string_view spelling);

// higher for rates, lower for times, none for the rest.
std::string_view BetterOfUnit(std::string_view unit);

}  // namespace fleetmark::parse

#endif  // FLEETMARK_PLUGINS_PARSE_NUMBER_H_
