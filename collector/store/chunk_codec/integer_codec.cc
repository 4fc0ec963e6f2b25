#include "collector/store/chunk_codec/integer_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "collector/store/chunk_codec/bit_stream.h"
#include "collector/store/chunk_codec/normal_code.h"

namespace fleetmark::collector {
namespace {

enum Predictor : uint8_t { kNone = 0, kPrevious = 1, kLine = 2 };
enum Coder : uint8_t { kConstant = 0, kPacked = 1, kNormal = 2 };

absl::Status Malformed() { return absl::DataLossError("a chunk's numbers are malformed"); }

uint64_t U(int64_t n) { return static_cast<uint64_t>(n); }
int64_t S(uint64_t n) { return static_cast<int64_t>(n); }

// What is left of `numbers` after prediction; the first number is kept apart except for kNone.
void Predict(Predictor predictor, absl::Span<const int64_t> numbers, int64_t step,
             std::vector<int64_t>* residuals) {
  const size_t n = numbers.size();
  residuals->clear();
  if (predictor == kNone) {
    residuals->assign(numbers.begin(), numbers.end());
    return;
  }
  residuals->resize(n - 1);
  uint64_t expected = U(numbers[0]);
  for (size_t i = 1; i < n; ++i) {
    expected = predictor == kPrevious ? U(numbers[i - 1]) : expected + U(step);
    (*residuals)[i - 1] = S(U(numbers[i]) - expected);
  }
}

// How one coder would write the residuals, and in how many bits.
struct Plan {
  Coder coder = kConstant;
  int64_t base = 0;    // subtracted first
  unsigned width = 0;  // of a packed number; of a normal one's low bits
  size_t code = 0;
  double bits = 0;
};

size_t SymbolOf(int64_t residual, const Plan& plan) {
  const int64_t step = S(U(residual) - U(plan.base)) >> plan.width;
  if (step < -NormalCode::kLargest || step > NormalCode::kLargest) return NormalCode::kEscape;
  return static_cast<size_t>(step + NormalCode::kLargest);
}

Plan PlanNormal(const std::vector<int64_t>& residuals, double mean) {
  double deviation = 0;  // mean absolute, which outliers move less than squares
  for (const int64_t r : residuals) deviation += std::abs(static_cast<double>(r) - mean);
  deviation *= 1.2533 / static_cast<double>(residuals.size());  // to standard deviation: sqrt(pi / 2)
  Plan plan;
  plan.coder = kNormal;
  double in_steps = deviation;
  while (in_steps > 2.83 * 1.19 && plan.width < 60) {
    in_steps /= 2;
    ++plan.width;
  }
  plan.code = NormalCode::NumberFor(in_steps);
  const double half = plan.width == 0 ? 0 : std::ldexp(1.0, static_cast<int>(plan.width) - 1);
  plan.base = static_cast<int64_t>(std::clamp(std::round(mean - half), -9.2e18, 9.2e18));
  const NormalCode& code = NormalCode::Get(plan.code);
  uint64_t bits = 0;
  for (const int64_t r : residuals) {
    const size_t symbol = SymbolOf(r, plan);
    bits += code.bits(symbol) + (symbol == NormalCode::kEscape ? 64 : plan.width);
  }
  plan.bits = static_cast<double>(bits) + 16;
  return plan;
}

Plan MakePlan(const std::vector<int64_t>& residuals) {
  if (residuals.empty()) return {};
  const auto [min, max] = std::minmax_element(residuals.begin(), residuals.end());
  Plan plan;
  plan.base = *min;
  if (*min == *max) return plan;
  plan.coder = kPacked;
  plan.width = static_cast<unsigned>(std::bit_width(U(*max) - U(*min)));
  plan.bits = static_cast<double>(plan.width) * static_cast<double>(residuals.size()) + 8;
  double sum = 0;
  for (const int64_t r : residuals) sum += static_cast<double>(r);
  const Plan normal = PlanNormal(residuals, sum / static_cast<double>(residuals.size()));
  return normal.bits < plan.bits ? normal : plan;
}

void WriteResiduals(const std::vector<int64_t>& residuals, const Plan& plan, std::string* out) {
  AppendSigned(out, plan.base);
  if (plan.coder == kConstant) return;
  out->push_back(static_cast<char>(plan.width));
  BitWriter writer(out);
  if (plan.coder == kPacked) {
    for (const int64_t r : residuals) writer.Write(U(r) - U(plan.base), plan.width);
    writer.Finish();
    return;
  }
  out->push_back(static_cast<char>(plan.code));
  const NormalCode& code = NormalCode::Get(plan.code);
  const uint64_t low_mask = (uint64_t{1} << plan.width) - 1;
  for (const int64_t r : residuals) {
    const size_t symbol = SymbolOf(r, plan);
    writer.Write(code.word(symbol), code.bits(symbol));
    if (symbol == NormalCode::kEscape) {
      writer.Write(U(r), 64);
    } else {
      writer.Write((U(r) - U(plan.base)) & low_mask, plan.width);
    }
  }
  writer.Finish();
}

absl::Status ReadNormal(std::string_view* in, int64_t base, unsigned width, absl::Span<int64_t> residuals) {
  uint8_t number = 0;
  if (width > 60 || !TakeByte(in, &number) || number >= NormalCode::kCodes) return Malformed();
  const NormalCode& code = NormalCode::Get(number);
  // Each symbol takes a bit at least, which bounds the work by the bytes that are there.
  if (residuals.size() > 8 * in->size()) return Malformed();
  BitReader reader(*in);
  for (int64_t& r : residuals) {
    const NormalCode::Decoded decoded = code.Decode(reader.Peek());
    reader.Skip(decoded.bits);
    if (decoded.symbol == NormalCode::kEscape) {
      r = S(reader.Read(64));
      continue;
    }
    const auto step = static_cast<int64_t>(decoded.symbol) - NormalCode::kLargest;
    r = S((U(step) << width) + reader.Read(width) + U(base));
  }
  if (!reader.ok()) return Malformed();
  in->remove_prefix(reader.bytes_read());
  return absl::OkStatus();
}

absl::Status ReadResiduals(uint8_t coder, std::string_view* in, absl::Span<int64_t> residuals) {
  int64_t base = 0;
  if (!TakeSigned(in, &base)) return Malformed();
  if (coder == kConstant) {
    std::fill(residuals.begin(), residuals.end(), base);
    return absl::OkStatus();
  }
  uint8_t width = 0;
  if (!TakeByte(in, &width) || width > 64) return Malformed();
  if (coder == kNormal) return ReadNormal(in, base, width, residuals);
  if (coder != kPacked || residuals.size() * width > 8 * in->size()) return Malformed();
  BitReader reader(*in);
  for (int64_t& r : residuals) r = S(reader.Read(width) + U(base));
  in->remove_prefix(reader.bytes_read());
  return absl::OkStatus();
}

}  // namespace

void EncodeIntegers(absl::Span<const int64_t> numbers, std::string* out) {
  const size_t n = numbers.size();
  if (n == 0) return;
  const int64_t step = n < 2 ? 0 : S(U(numbers[n - 1]) - U(numbers[0])) / static_cast<int64_t>(n - 1);
  Predictor best = kNone;
  Plan best_plan;
  std::vector<int64_t> residuals;
  std::vector<int64_t> best_residuals;
  for (const Predictor predictor : {kNone, kPrevious, kLine}) {
    Predict(predictor, numbers, step, &residuals);
    Plan plan = MakePlan(residuals);
    if (predictor != kNone) plan.bits += 32;  // about what the first number and the step take
    if (predictor == kNone || plan.bits < best_plan.bits) {
      best = predictor;
      best_plan = plan;
      best_residuals.swap(residuals);
    }
    if (best_plan.bits == 0) break;
  }
  out->push_back(static_cast<char>(best | best_plan.coder << 2));
  if (best != kNone) AppendSigned(out, numbers[0]);
  if (best == kLine) AppendSigned(out, step);
  WriteResiduals(best_residuals, best_plan, out);
}

absl::Status DecodeIntegers(std::string_view* in, absl::Span<int64_t> numbers) {
  if (numbers.empty()) return absl::OkStatus();
  uint8_t mode = 0;
  if (!TakeByte(in, &mode) || mode >> 4 != 0) return Malformed();
  const unsigned predictor = mode & 3;
  if (predictor == kNone) return ReadResiduals(mode >> 2, in, numbers);
  if (predictor > kLine) return Malformed();
  int64_t step = 0;
  if (!TakeSigned(in, &numbers[0])) return Malformed();
  if (predictor == kLine && !TakeSigned(in, &step)) return Malformed();
  const absl::Status status = ReadResiduals(mode >> 2, in, numbers.subspan(1));
  if (!status.ok()) return status;
  uint64_t expected = U(numbers[0]);
  for (size_t i = 1; i < numbers.size(); ++i) {
    expected = predictor == kPrevious ? U(numbers[i - 1]) : expected + U(step);
    numbers[i] = S(U(numbers[i]) + expected);
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
