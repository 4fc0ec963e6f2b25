#include "collector/fleet/confirmation.h"

#include <algorithm>
#include <cmath>

#include "collector/detect/robust_statistics.h"

namespace fleetmark::collector {
namespace {

constexpr double kDegrees = 5;
constexpr double kMostOfOneRun = 10;
constexpr size_t kMinHistory = 4;
constexpr double kMinRelativeScale = 1e-3;
constexpr double kHalfPi = 1.5707963267948966;

bool AllPositive(absl::Span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v > 0; });
}

std::vector<double> Transformed(absl::Span<const double> values, bool logarithmic) {
  std::vector<double> out(values.begin(), values.end());
  if (logarithmic) std::transform(out.begin(), out.end(), out.begin(), [](double v) { return std::log(v); });
  return out;
}

// The density of Student's t at x, but for a factor that cancels.
double LogDensity(double x) { return -(kDegrees + 1) / 2 * std::log1p(x * x / kDegrees); }

struct Level {
  double median = 0;
  double scale = 0;  // of one new value about it
  double correlation = 0;
};

Level LevelOf(const std::vector<double>& values) {
  Level level;
  level.median = Median(values);
  const auto n = static_cast<double>(values.size());
  const double spread = std::max(RobustSpread(values), kMinRelativeScale * std::fabs(level.median));
  level.correlation = LagOneCorrelation(values, spread);
  level.scale = spread * std::sqrt(1 + kHalfPi / n);
  return level;
}

bool HasPeer(const ConfirmationInput& input) {
  return input.peer_history.size() >= kMinHistory && !input.peer_reruns.empty();
}

// How far each run of the peer is from the peer's own level.
std::vector<double> PeerMoves(const ConfirmationInput& input, bool logarithmic) {
  if (!HasPeer(input)) return {};
  const Level peer = LevelOf(Transformed(input.peer_history, logarithmic));
  std::vector<double> moves = Transformed(input.peer_reruns, logarithmic);
  for (double& move : moves) move -= peer.median;
  return moves;
}

double PeerScale(const ConfirmationInput& input, bool logarithmic) {
  return LevelOf(Transformed(input.peer_history, logarithmic)).scale;
}

}  // namespace

ConfirmationResult Confirm(const ConfirmationInput& input, const ConfirmationLimits& limits) {
  ConfirmationResult result;
  if (input.history.size() < kMinHistory) return result;
  const bool logarithmic = AllPositive(input.history) && AllPositive(input.reruns) && input.after > 0 &&
                           AllPositive(input.peer_history) && AllPositive(input.peer_reruns);
  const Level own = LevelOf(Transformed(input.history, logarithmic));
  const std::vector<double> peer_moves = PeerMoves(input, logarithmic);
  const double own_scale = logarithmic ? std::max(own.scale, kMinRelativeScale) : own.scale;
  const double paired_scale =
      peer_moves.empty() ? own_scale : std::hypot(own_scale, PeerScale(input, logarithmic));
  const double found = (logarithmic ? std::log(input.after) : input.after) - own.median;
  const double power = (1 - own.correlation) / (1 + own.correlation);
  const double most = std::log(kMostOfOneRun);
  double log_for = 0, log_against = 0;
  for (const double rerun : Transformed(input.reruns, logarithmic)) {
    const bool paired = result.reruns < peer_moves.size();
    const double scale = paired ? paired_scale : own_scale;
    const double x = (rerun - (paired ? peer_moves[result.reruns] : 0) - own.median) / scale;
    const double moved = found / scale;
    if (paired) ++result.peer_reruns;
    const double as_before = LogDensity(x);
    const double full = LogDensity(x - moved), half = LogDensity(x - moved / 2);
    const double changed = std::log(0.5 * std::exp(full) + 0.5 * std::exp(half));
    log_for += std::min(most, power * (changed - as_before));
    log_against += std::min(most, power * (as_before - half));
    ++result.reruns;
    result.evidence_for = std::max(result.evidence_for, std::exp(log_for));
    result.evidence_against = std::max(result.evidence_against, std::exp(log_against));
    if (result.evidence_for >= limits.needed_for) {
      result.state = v1::Confirmation::STATE_CONFIRMED;
    } else if (result.evidence_against >= limits.needed_against) {
      result.state = v1::Confirmation::STATE_REFUTED;
    } else if (result.reruns >= limits.max_reruns) {
      result.state = v1::Confirmation::STATE_INCONCLUSIVE;
    }
    if (result.state != v1::Confirmation::STATE_PENDING) return result;
  }
  return result;
}

}  // namespace fleetmark::collector
