// A program's output as clean, numbered lines, and the small cuts that all readers make.
//
// What is taken away first: a byte order mark, bytes that are not UTF-8 (U+FFFD instead), ANSI escape
// sequences, NUL and backspace, the carriage return of CRLF, and the prefix that a launcher puts before each
// line: `[1,0]<stdout>:` (Open MPI), `3: ` (srun --label), `[3] ` (Hydra), `[pod/name/container] ` (kubectl).
// The short ones, which could be a tool's own text, only where most lines have them. A carriage return within
// a line (progress that overwrites itself) ends a line too, but not its number.
//
// Thread-safety: immutable once made. Ownership: a Text owns what its lines point to. Bounds: kMaxTextBytes.
#ifndef FLEETMARK_PLUGINS_PARSE_TEXT_H_
#define FLEETMARK_PLUGINS_PARSE_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fleetmark::parse {

inline constexpr size_t kMaxTextBytes = size_t{64} << 20;

struct Line {
  size_t number = 0;      // from 1
  std::string_view text;  // without its end
  int rank = -1;          // as a launcher's prefix said, or -1
};

class Text {
 public:
  // `raw` may be longer than kMaxTextBytes: the rest is left out, and cut() says so.
  explicit Text(std::string_view raw);
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  const std::vector<Line>& lines() const { return lines_; }
  // All lines, each ended by one '\n'.
  std::string_view all() const { return clean_; }
  bool cut() const { return cut_; }
  // Is it the last line, and no newline ends it? Where the tool always writes one, the line may be cut off.
  bool MayBeCut(const Line& line) const { return !last_line_ends_ && line.number == lines_.back().number; }
  // The number of the line with the byte `offset` of all(); the last line's if it is beyond.
  size_t LineNumberAt(size_t offset) const;
  // The line with this number, without its end; empty if there is none.
  std::string_view LineText(size_t number) const;

 private:
  std::string clean_;
  std::vector<Line> lines_;
  bool cut_ = false;
  bool last_line_ends_ = false;
};

std::string_view Trim(std::string_view text);
std::string Lower(std::string_view text);
// Separated by any white space.
std::vector<std::string_view> Words(std::string_view text);
// Separated by each `separator`; "" gives one empty part.
std::vector<std::string_view> Split(std::string_view text, std::string_view separator);
bool Contains(std::string_view text, std::string_view part);
bool ContainsNoCase(std::string_view text, std::string_view part);
bool StartsWithNoCase(std::string_view text, std::string_view start);
// What follows the first `marker` in `text`.
std::optional<std::string_view> After(std::string_view text, std::string_view marker);
// What stands between the first `open` and the next `close`.
std::optional<std::string_view> Between(std::string_view text, std::string_view open, std::string_view close);

// [a-z][a-z0-9_]*, at most 64 characters: lower case, every other run of characters one '_'. "value" for
// nothing.
std::string SnakeCase(std::string_view text);
// `text` cut to at most `bytes` at a character, ended by "..." if it was cut.
std::string Shorten(std::string_view text, size_t bytes);
// Joined, without operator+ (see plugins/sdk/cpp/json_text.h).
std::string Join(std::initializer_list<std::string_view> parts);

}  // namespace fleetmark::parse

#endif  // FLEETMARK_PLUGINS_PARSE_TEXT_H_
