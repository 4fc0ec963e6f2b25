#include "cli/commands/progress_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "cli/output/format.h"
#include "cli/output/text.h"

namespace fleetmark::cli {
namespace {

constexpr size_t kBarColumns = 24;
constexpr double kStep = 0.25;  // without a terminal: a line for each quarter

std::string Bar(double fraction) {
  const auto full = static_cast<size_t>(std::lround(std::clamp(fraction, 0.0, 1.0) * kBarColumns));
  std::string bar;
  for (size_t i = 0; i < kBarColumns; ++i) bar += i < full ? "█" : "░";
  return bar;
}

// For a plugin that does not tell how far it is: a block that wanders.
std::string WanderingBar(absl::Duration elapsed) {
  constexpr size_t kBlock = 4;
  const auto at = static_cast<size_t>(absl::ToInt64Milliseconds(elapsed) / 150) % kBarColumns;
  std::string bar;
  for (size_t i = 0; i < kBarColumns; ++i) bar += (i + kBarColumns - at) % kBarColumns < kBlock ? "█" : "░";
  return bar;
}

int Percent(double fraction) { return static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 100); }

std::string StateName(const v1::RunProgress& progress) {
  return progress.state() == v1::RunProgress::STATE_RUNNING ? "running" : "queued";
}

}  // namespace

std::string ProgressBar(const std::string& name, const v1::RunProgress& progress, absl::Duration elapsed,
                        size_t columns) {
  const bool running = progress.state() == v1::RunProgress::STATE_RUNNING;
  const std::string message =
      progress.message().empty() ? StateName(progress) : Printable(progress.message());
  std::string how_far = Bar(0) + "      ";
  if (running && progress.fraction() > 0) {
    how_far = absl::StrFormat("%s %3d %%", Bar(progress.fraction()), Percent(progress.fraction()));
  } else if (running) {
    how_far = WanderingBar(elapsed) + "      ";
  }
  const std::string line =
      absl::StrCat(name, "  ", how_far, "  ", absl::ToInt64Seconds(elapsed), " s  ", message);
  return FitColumns(line, columns);
}

void ProgressView::Update(const v1::RunProgress& progress) {
  const bool new_state = progress.state() != last_.state();
  last_ = progress;
  const bool ended = progress.state() >= v1::RunProgress::STATE_FINISHED;  // its reporter says how
  if (live_ || ended) return;
  const bool new_message = !progress.message().empty() && progress.message() != printed_message_;
  if (new_state || new_message || progress.fraction() >= printed_fraction_ + kStep) PrintLine(progress);
}

void ProgressView::PrintLine(const v1::RunProgress& progress) {
  printed_message_ = progress.message();
  printed_fraction_ = progress.fraction();
  std::string line = absl::StrCat(name_, ": ", StateName(progress));
  if (progress.fraction() > 0) absl::StrAppend(&line, " ", Percent(progress.fraction()), " %");
  if (!progress.message().empty()) absl::StrAppend(&line, ", ", Printable(progress.message()));
  fprintf(stderr, "%s\n", line.c_str());
}

void ProgressView::Tick(absl::Duration elapsed) {
  if (!live_) return;
  fprintf(stderr, "\r\x1b[2K%s", ProgressBar(name_, last_, elapsed, columns_ - 1).c_str());
  fflush(stderr);
  drawn_ = true;
}

void ProgressView::Clear() {
  if (!drawn_) return;
  fputs("\r\x1b[2K", stderr);
  fflush(stderr);
  drawn_ = false;
}

}  // namespace fleetmark::cli
