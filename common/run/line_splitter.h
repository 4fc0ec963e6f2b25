// Cuts a stream of bytes into lines, holding at most one line.
//
// Thread-safety: none; owned by the loop that reads the stream.
#ifndef FLEETMARK_COMMON_RUN_LINE_SPLITTER_H_
#define FLEETMARK_COMMON_RUN_LINE_SPLITTER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"

namespace fleetmark {

class LineSplitter {
 public:
  enum class Overlong { kFail, kCut };

  LineSplitter(size_t max_line_bytes, Overlong overlong)
      : max_line_bytes_(max_line_bytes), overlong_(overlong) {}

  // Calls `on_line`, without the newline, for each line that `bytes` completes. A line above the maximum
  // is cut in pieces, or ends the splitting: false, then and for good.
  bool Feed(std::string_view bytes, absl::FunctionRef<void(std::string_view)> on_line) {
    while (!failed_ && !bytes.empty()) {
      const size_t end = bytes.find('\n');
      const size_t length = end == std::string_view::npos ? bytes.size() : end;
      const size_t room = max_line_bytes_ - partial_.size();
      if (length > room && overlong_ == Overlong::kFail) {
        failed_ = true;
        break;
      }
      const size_t take = length < room ? length : room;
      partial_.append(bytes.substr(0, take));
      const bool at_newline = take == length && end != std::string_view::npos;
      bytes.remove_prefix(take + (at_newline ? 1 : 0));
      if (at_newline || partial_.size() == max_line_bytes_) Emit(on_line, at_newline);
    }
    return !failed_;
  }

  // The end of the stream: a last line that has no newline counts too.
  void Finish(absl::FunctionRef<void(std::string_view)> on_line) {
    if (!failed_ && !partial_.empty()) Emit(on_line, true);
  }

 private:
  void Emit(absl::FunctionRef<void(std::string_view)> on_line, bool at_newline) {
    // A full line that must not be cut may still be followed by its newline.
    if (!at_newline && overlong_ == Overlong::kFail) return;
    on_line(partial_);
    partial_.clear();
  }

  const size_t max_line_bytes_;
  const Overlong overlong_;
  bool failed_ = false;
  std::string partial_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_LINE_SPLITTER_H_
