#include "collector/store/chunk_codec/real_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "collector/store/chunk_codec/bit_stream.h"
#include "collector/store/chunk_codec/integer_codec.h"

namespace fleetmark::collector {
namespace {

enum Mode : uint8_t { kDecimal = 0, kBits = 1, kXor = 2 };

// Up to these, powers of ten and integers are exact doubles, so a quotient or product is rounded once.
constexpr int kMaxDigits = 15;
constexpr double kMaxInteger = 9007199254740992.0;  // 2^53
constexpr std::array<double, kMaxDigits + 1> kPowers = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                        1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
constexpr uint64_t kSignBit = uint64_t{1} << 63;

absl::Status Malformed() { return absl::DataLossError("a chunk's values are malformed"); }

uint64_t BitsOf(double value) { return std::bit_cast<uint64_t>(value); }

// In the order of the doubles.
int64_t OrderedBits(double value) {
  const uint64_t bits = BitsOf(value);
  return static_cast<int64_t>((bits & kSignBit) != 0 ? ~bits ^ kSignBit : bits);
}

double FromOrderedBits(int64_t ordered) {
  const auto bits = static_cast<uint64_t>(ordered);
  return std::bit_cast<double>((bits & kSignBit) != 0 ? ~(bits ^ kSignBit) : bits);
}

// The integer i with i / 10^digits == value to the bit, if there is one.
bool IntegerAt(double value, int digits, int64_t* integer) {
  const double scaled = value * kPowers[static_cast<size_t>(digits)];
  if (!(std::abs(scaled) < kMaxInteger)) return false;
  *integer = std::llrint(scaled);
  return BitsOf(static_cast<double>(*integer) / kPowers[static_cast<size_t>(digits)]) == BitsOf(value);
}

// The fewest digits for `value`; kMaxDigits + 1 if it is no short decimal. Begins the search at `guess`.
int DigitsOf(double value, int guess) {
  int64_t integer = 0;
  if (!IntegerAt(value, guess, &integer)) {
    for (int digits = guess + 1; digits <= kMaxDigits; ++digits) {
      if (IntegerAt(value, digits, &integer)) return digits;
    }
    return kMaxDigits + 1;
  }
  while (guess > 0 && integer % 10 == 0) {
    integer /= 10;
    --guess;
  }
  return guess;
}

struct Decimals {
  int digits = 0;  // negative: the integers are multiples of a power of ten
  std::vector<int64_t> integers;
  std::vector<size_t> exceptions;  // their places, ascending
};

// The number of digits that costs least: each costs every value, each exception itself.
int BestDigits(absl::Span<const double> reals) {
  std::array<size_t, kMaxDigits + 2> count{};
  int guess = 0;
  for (const double value : reals) {
    const int digits = DigitsOf(value, guess);
    ++count[static_cast<size_t>(digits)];
    if (digits <= kMaxDigits) guess = digits;
  }
  constexpr double kDigitBits = 3.32;
  constexpr double kExceptionBits = 72;
  int best = 0;
  double best_cost = 0;
  size_t covered = 0;
  for (int digits = 0; digits <= kMaxDigits; ++digits) {
    covered += count[static_cast<size_t>(digits)];
    const double cost = kDigitBits * digits * static_cast<double>(reals.size()) +
                        kExceptionBits * static_cast<double>(reals.size() - covered);
    if (digits == 0 || cost < best_cost) {
      best = digits;
      best_cost = cost;
    }
  }
  return best;
}

Decimals ToDecimals(absl::Span<const double> reals) {
  Decimals out;
  out.digits = BestDigits(reals);
  out.integers.reserve(reals.size());
  int64_t last = 0;
  for (size_t i = 0; i < reals.size(); ++i) {
    int64_t integer = 0;
    if (IntegerAt(reals[i], out.digits, &integer)) {
      last = integer;
    } else {
      out.exceptions.push_back(i);
    }
    out.integers.push_back(last);  // for an exception the one before, which costs least
  }
  const auto even = [](int64_t i) { return i % 10 == 0; };
  while (out.digits > -kMaxDigits && std::all_of(out.integers.begin(), out.integers.end(), even) &&
         std::any_of(out.integers.begin(), out.integers.end(), [](int64_t i) { return i != 0; })) {
    for (int64_t& i : out.integers) i /= 10;
    --out.digits;
  }
  return out;
}

void AppendU64Raw(std::string* out, uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

std::string EncodeDecimals(absl::Span<const double> reals, const Decimals& decimals) {
  std::string out(1, kDecimal);
  AppendSigned(&out, decimals.digits);
  AppendVarint(&out, decimals.exceptions.size());
  size_t next = 0;
  for (const size_t place : decimals.exceptions) {
    AppendVarint(&out, place - next);
    AppendU64Raw(&out, BitsOf(reals[place]));
    next = place + 1;
  }
  EncodeIntegers(decimals.integers, &out);
  return out;
}

std::string EncodeBits(absl::Span<const double> reals) {
  std::string out(1, kBits);
  std::vector<int64_t> ordered;
  ordered.reserve(reals.size());
  for (const double value : reals) ordered.push_back(OrderedBits(value));
  EncodeIntegers(ordered, &out);
  return out;
}

// A 0 for "as before"; else a 1, how many leading zeros the XOR has, how many bits follow, and those.
std::string EncodeXor(absl::Span<const double> reals) {
  std::string out(1, kXor);
  BitWriter writer(&out);
  uint64_t before = 0;
  for (const double value : reals) {
    const uint64_t difference = BitsOf(value) ^ before;
    before = BitsOf(value);
    writer.Write(difference != 0 ? 1 : 0, 1);
    if (difference == 0) continue;
    const auto leading = static_cast<unsigned>(std::countl_zero(difference));
    const auto trailing = static_cast<unsigned>(std::countr_zero(difference));
    const unsigned length = 64 - leading - trailing;
    writer.Write(leading, 6);
    writer.Write(length - 1, 6);
    writer.Write(difference >> trailing, length);
  }
  writer.Finish();
  return out;
}

absl::Status DecodeXor(std::string_view* in, absl::Span<double> reals) {
  if (reals.size() > 8 * in->size()) return Malformed();
  BitReader reader(*in);
  uint64_t bits = 0;
  for (double& value : reals) {
    if (reader.Read(1) != 0) {
      const auto leading = static_cast<unsigned>(reader.Read(6));
      const auto length = static_cast<unsigned>(reader.Read(6)) + 1;
      if (leading + length > 64) return Malformed();
      bits ^= reader.Read(length) << (64 - leading - length);
    }
    value = std::bit_cast<double>(bits);
  }
  if (!reader.ok()) return Malformed();
  in->remove_prefix(reader.bytes_read());
  return absl::OkStatus();
}

absl::Status TakeExceptions(std::string_view* in, size_t values,
                            std::vector<std::pair<size_t, double>>* exceptions) {
  uint64_t count = 0;
  if (!TakeVarint(in, &count) || count > values) return Malformed();
  size_t next = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t gap = 0;
    if (!TakeVarint(in, &gap) || gap >= values - next || in->size() < 8) return Malformed();
    uint64_t bits = 0;
    for (unsigned byte = 0; byte < 8; ++byte) {
      bits |= static_cast<uint64_t>(static_cast<unsigned char>((*in)[byte])) << (8 * byte);
    }
    in->remove_prefix(8);
    exceptions->emplace_back(next + gap, std::bit_cast<double>(bits));
    next += gap + 1;
  }
  return absl::OkStatus();
}

absl::Status DecodeDecimals(std::string_view* in, absl::Span<double> reals) {
  int64_t digits = 0;
  if (!TakeSigned(in, &digits) || digits > kMaxDigits || digits < -kMaxDigits) return Malformed();
  std::vector<std::pair<size_t, double>> exceptions;
  absl::Status status = TakeExceptions(in, reals.size(), &exceptions);
  if (!status.ok()) return status;
  std::vector<int64_t> integers(reals.size());
  status = DecodeIntegers(in, absl::MakeSpan(integers));
  if (!status.ok()) return status;
  const double power = kPowers[static_cast<size_t>(std::abs(digits))];
  if (digits >= 0) {
    for (size_t i = 0; i < reals.size(); ++i) reals[i] = static_cast<double>(integers[i]) / power;
  } else {
    for (size_t i = 0; i < reals.size(); ++i) reals[i] = static_cast<double>(integers[i]) * power;
  }
  for (const auto& [place, value] : exceptions) reals[place] = value;
  return absl::OkStatus();
}

}  // namespace

void EncodeReals(absl::Span<const double> reals, std::string* out) {
  if (reals.empty()) return;
  const Decimals decimals = ToDecimals(reals);
  std::string best = EncodeDecimals(reals, decimals);
  // With many digits or exceptions the decimals may be no better than the bits themselves.
  if (decimals.exceptions.size() > reals.size() / 16 || decimals.digits > 12) {
    for (std::string other : {EncodeBits(reals), EncodeXor(reals)}) {
      if (other.size() < best.size()) best = std::move(other);
    }
  }
  out->append(best);
}

absl::Status DecodeReals(std::string_view* in, absl::Span<double> reals) {
  if (reals.empty()) return absl::OkStatus();
  uint8_t mode = 0;
  if (!TakeByte(in, &mode)) return Malformed();
  if (mode == kDecimal) return DecodeDecimals(in, reals);
  if (mode == kXor) return DecodeXor(in, reals);
  if (mode != kBits) return Malformed();
  std::vector<int64_t> ordered(reals.size());
  const absl::Status status = DecodeIntegers(in, absl::MakeSpan(ordered));
  if (!status.ok()) return status;
  for (size_t i = 0; i < reals.size(); ++i) reals[i] = FromOrderedBits(ordered[i]);
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
