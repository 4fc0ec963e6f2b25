#include "collector/fleet/failures.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "collector/detect/robust_statistics.h"
#include "collector/fleet/exact_tests.h"
#include "common/model/outcome_name.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kNeverWorked = 3;

bool IsBad(v1::Outcome outcome) {
  return outcome == v1::OUTCOME_FAILED || outcome == v1::OUTCOME_INVALID || outcome == v1::OUTCOME_TIMEOUT;
}

// "4 failed, 1 timeout; the last: no device".
std::string BadText(absl::Span<const RunResult* const> runs) {
  std::map<std::string, size_t> counts;
  const RunResult* last = nullptr;
  for (const RunResult* run : runs) {
    if (!IsBad(run->outcome)) continue;
    ++counts[std::string(OutcomeName(run->outcome))];
    last = run;
  }
  std::string text;
  for (const auto& [name, count] : counts) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", name);
  }
  if (last != nullptr && !last->reason.empty()) absl::StrAppend(&text, "; the last: ", last->reason);
  return text;
}

size_t CountBad(absl::Span<const RunResult* const> runs) {
  return static_cast<size_t>(
      std::count_if(runs.begin(), runs.end(), [](const RunResult* run) { return IsBad(run->outcome); }));
}

FailureVerdict FailingVerdict(absl::Span<const RunResult* const> before,
                              absl::Span<const RunResult* const> window) {
  FailureVerdict verdict;
  verdict.failing = true;
  const size_t bad_before = CountBad(before), bad = CountBad(window);
  verdict.runs_before = before.size();
  verdict.runs_after = window.size();
  verdict.before = before.empty() ? 0 : static_cast<double>(bad_before) / static_cast<double>(before.size());
  verdict.after = static_cast<double>(bad) / static_cast<double>(window.size());
  for (const RunResult* run : window) {
    if (!IsBad(run->outcome)) continue;
    verdict.onset_unix_ns = run->time_unix_ns;
    break;
  }
  verdict.p_value = FisherUpperTail(bad, window.size(), bad + bad_before, before.size() + window.size());
  verdict.text = absl::StrCat(bad, " of the last ", window.size(), " runs bad (", BadText(window),
                              "), before ", bad_before, " of ", before.size());
  return verdict;
}

}  // namespace

std::optional<FailureVerdict> JudgeOutcomes(absl::Span<const RunResult> runs, const FailureOptions& options) {
  std::vector<const RunResult*> ended;
  for (const RunResult& run : runs) {
    if (run.outcome == v1::OUTCOME_OK || IsBad(run.outcome)) ended.push_back(&run);
  }
  if (ended.size() > options.window + options.max_before) {
    ended.erase(ended.begin(), ended.end() - static_cast<ptrdiff_t>(options.window + options.max_before));
  }
  const absl::Span<const RunResult* const> all = ended;
  const size_t bad = CountBad(all);
  if (bad == 0) return std::nullopt;
  if (bad == all.size()) {
    if (bad < kNeverWorked) return std::nullopt;
    FailureVerdict verdict = FailingVerdict({}, all);
    verdict.never_worked = true;
    verdict.p_value = 0;
    verdict.text = absl::StrCat("none of ", bad, " runs has worked (", BadText(all), ")");
    return verdict;
  }
  // The best of the newest 3, 5 and 10: what broke entirely shows soon. Corrected for the three looks.
  std::optional<FailureVerdict> best;
  size_t looks = 0;
  for (const size_t length : {size_t{3}, options.window / 2, options.window}) {
    if (length == 0 || all.size() < 2 * length) continue;
    ++looks;
    FailureVerdict verdict = FailingVerdict(all.first(all.size() - length), all.last(length));
    if (verdict.after < options.min_bad_share || verdict.after <= verdict.before) continue;
    if (!best.has_value() || verdict.p_value < best->p_value) best = std::move(verdict);
  }
  if (best.has_value()) best->p_value = std::min(1.0, best->p_value * static_cast<double>(looks));
  return best;
}

std::optional<FailureVerdict> JudgeDurations(absl::Span<const RunResult> runs,
                                             const FailureOptions& options) {
  std::vector<double> seconds;
  std::vector<int64_t> times;
  for (const RunResult& run : runs) {
    if (run.outcome != v1::OUTCOME_OK || !(run.duration_seconds > 0)) continue;
    seconds.push_back(run.duration_seconds);
    times.push_back(run.time_unix_ns);
  }
  if (seconds.size() < options.min_before + options.window) return std::nullopt;
  const size_t first = seconds.size() - options.window;
  const size_t begin = first > options.max_before ? first - options.max_before : 0;
  const absl::Span<const double> before = absl::MakeConstSpan(seconds).subspan(begin, first - begin);
  const absl::Span<const double> after = absl::MakeConstSpan(seconds).subspan(first);
  FailureVerdict verdict;
  verdict.before = Median(before);
  verdict.after = Median(after);
  if (verdict.after < options.min_ratio * verdict.before ||
      verdict.after - verdict.before < options.min_seconds) {
    return std::nullopt;
  }
  verdict.runs_before = before.size();
  verdict.runs_after = after.size();
  verdict.onset_unix_ns = times[first];
  verdict.p_value = MannWhitneyUpperTail(before, after);
  verdict.text = absl::StrFormat("the last %d runs took %.3g s, the %d before %.3g s", after.size(),
                                 verdict.after, before.size(), verdict.before);
  return verdict;
}

bool StillFailing(absl::Span<const RunResult> runs, bool failing, double before, double after,
                  const FailureOptions& options) {
  std::vector<double> newest;  // 1 for a bad run, or seconds
  for (size_t i = runs.size(); i-- > 0 && newest.size() < options.window / 2;) {
    const bool bad = IsBad(runs[i].outcome);
    if (failing && (bad || runs[i].outcome == v1::OUTCOME_OK)) newest.push_back(bad ? 1 : 0);
    if (!failing && runs[i].outcome == v1::OUTCOME_OK) newest.push_back(runs[i].duration_seconds);
  }
  if (newest.empty()) return true;
  double now = 0;
  for (const double value : newest) now += value / static_cast<double>(newest.size());
  return (failing ? now : Median(newest)) > (before + after) / 2;
}

}  // namespace fleetmark::collector
