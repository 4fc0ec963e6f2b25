// Shows how a run gets on, on standard error: a bar that is redrawn on a terminal, else a line for each
// step worth a line.
//
// Thread-safety: none; its owner's lock.
#ifndef FLEETMARK_CLI_COMMANDS_PROGRESS_VIEW_H_
#define FLEETMARK_CLI_COMMANDS_PROGRESS_VIEW_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"

#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::cli {

// One line for a terminal of `columns`: name, bar, share, message, time so far.
std::string ProgressBar(const std::string& name, const v1::RunProgress& progress, absl::Duration elapsed,
                        size_t columns);

class ProgressView {
 public:
  // `live`: redraw one line. `name` says what runs.
  ProgressView(std::string name, bool live, size_t columns)
      : name_(std::move(name)), live_(live), columns_(columns) {}
  ~ProgressView() { Clear(); }

  void Update(const v1::RunProgress& progress);

  // Redraws the live line; nothing otherwise.
  void Tick(absl::Duration elapsed);

  // Takes the live line away, for other output.
  void Clear();

 private:
  void PrintLine(const v1::RunProgress& progress);

  const std::string name_;
  const bool live_;
  const size_t columns_;
  bool drawn_ = false;
  v1::RunProgress last_;
  std::string printed_message_;
  double printed_fraction_ = 0;
};

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDS_PROGRESS_VIEW_H_
