#include "cli/progress_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "cli/format.h"
#include "cli/text.h"

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

int Percent(double fraction) { return static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 100); }

std::string StateName(const v1::RunProgress& progress) {
  switch (progress.state()) {
    case v1::RunProgress::STATE_RUNNING:
      return "running";
    case v1::RunProgress::STATE_FINISHED:
      return "finished";
    case v1::RunProgress::STATE_REFUSED:
      return "refused";
    default:
      return "queued";
  }
}

}  // namespace

std::string ProgressBar(const std::string& name, const v1::RunProgress& progress, absl::Duration elapsed,
                        size_t columns) {
  const bool running = progress.state() == v1::RunProgress::STATE_RUNNING;
  const std::string message =
      progress.message().empty() ? StateName(progress) : Printable(progress.message());
  const std::string line =
      absl::StrFormat("%s  %s %3d %%  %s  %s", name, Bar(running ? progress.fraction() : 0),
                      running ? Percent(progress.fraction()) : 0,
                      FormatSeconds(std::floor(absl::ToDoubleSeconds(elapsed))), message);
  return FitColumns(line, columns);
}

void ProgressView::Update(const v1::RunProgress& progress) {
  const bool new_state = progress.state() != last_.state();
  last_ = progress;
  if (live_ || progress.state() == v1::RunProgress::STATE_FINISHED) return;
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
