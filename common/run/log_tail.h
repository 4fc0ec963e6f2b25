// The end of a run's log: the last bytes of all log lines, as text that may go on the wire.
//
// Thread-safety: none. Memory: about twice `max_bytes`.
#ifndef FLEETMARK_COMMON_RUN_LOG_TAIL_H_
#define FLEETMARK_COMMON_RUN_LOG_TAIL_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace fleetmark {

class LogTail {
 public:
  explicit LogTail(size_t max_bytes) : max_bytes_(max_bytes) {}

  // A line without its newline. Bytes that are not UTF-8 and control characters are repaired.
  void Add(std::string_view line);

  // At most `max_bytes`; where lines were left out it begins with a whole line if one fits.
  std::string Text() const;
  // The last line that was not blank, at most `max_bytes`.
  const std::string& last_line() const { return last_line_; }
  bool truncated() const { return truncated_; }
  bool repaired() const { return repaired_; }

 private:
  const size_t max_bytes_;
  std::string text_;  // up to twice `max_bytes_`, so that it is seldom moved
  std::string last_line_;
  bool truncated_ = false;
  bool repaired_ = false;
};

// The longest beginning of `text`, which is UTF-8, that has at most `max_bytes` and cuts no character.
std::string ClipUtf8(std::string_view text, size_t max_bytes);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_LOG_TAIL_H_
