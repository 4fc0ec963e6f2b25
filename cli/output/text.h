// Text for a terminal: how wide it is, and what of it is safe to print.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_CLI_OUTPUT_TEXT_H_
#define FLEETMARK_CLI_OUTPUT_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fleetmark::cli {

// Columns that a terminal uses for `utf8`: two for East Asian wide characters and emoji, none for
// combining marks. Ill-formed bytes count as one each.
size_t DisplayWidth(std::string_view utf8);

// `text` without anything that could steer a terminal: control characters become a space. With
// `keep_lines`, newline and tab stay.
std::string Printable(std::string_view text, bool keep_lines = false);

// The beginning of `utf8` that fits into `columns`, with an ellipsis when something was cut.
std::string FitColumns(std::string_view utf8, size_t columns);

// `utf8` in lines of at most `columns`, broken between words; a longer word has a line of its own.
std::vector<std::string> Wrapped(std::string_view utf8, size_t columns);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_OUTPUT_TEXT_H_
