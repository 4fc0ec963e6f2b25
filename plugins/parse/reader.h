// The table of readers: each turns what a program printed into metrics or into problems.
//
// A reader is a pure function of the text and its options: it reads no file, no clock, no environment, and
// throws nothing. docs/readers.md says what each gives.
//
// Besides its own options every reader takes: `only`, a list of metric names to keep; `labels`, a map of
// labels added to each metric; `reduce`, what becomes of repetitions (all, first, last, min, max, mean,
// median; all is the default).
//
// Thread-safety: functions without state; any number of threads may read. Errors: of options, a sentence; of
// the text, in the output.
#ifndef FLEETMARK_PLUGINS_PARSE_READER_H_
#define FLEETMARK_PLUGINS_PARSE_READER_H_

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "plugins/parse/parsed_output.h"

namespace fleetmark::parse {

enum class OptionType { kBool, kString, kList, kMap };

struct ReaderOption {
  std::string_view name;
  OptionType type;
  std::string_view summary;
};

struct Reader {
  std::string_view name;
  std::string_view summary;  // one line
  void (*read)(const nlohmann::json& options, Report& report);
  std::string_view what;  // for "there is no ... in the text"
  std::vector<ReaderOption> options = {};
  // Checks what the types don't say. May be null; returns a sentence, or nothing when all is well.
  std::string (*check)(const nlohmann::json& options) = nullptr;
};

// By name.
const std::vector<Reader>& Readers();

// By its name or another that it is known by; '-' and '_' are the same there, and so are upper and lower
// case. nullptr if there is none of that name.
const Reader* FindReader(std::string_view name);

// A sentence that says which option is wrong and what would be right; empty when all are well.
std::string CheckOptions(const Reader& reader, const nlohmann::json& options);

// `options` must have passed CheckOptions.
ParsedOutput ReadOutput(const Reader& reader, std::string_view text, const nlohmann::json& options,
                        OutputBounds bounds = {});

// The same for those who have no JSON library: `options` is a JSON object as text, or empty. False, with the
// reason in `*error`, when there is no such reader or the options are wrong.
bool ReadOutput(std::string_view reader, std::string_view text, std::string_view options,
                ParsedOutput* output, std::string* error, OutputBounds bounds = {});

// One JSON object: outcome; metrics with name, value, unit, better, labels and, where there is one,
// reference; problems with line, text and severity (error or warning).
std::string ToJson(const ParsedOutput& output);

// A list of objects with name, summary, and options with name and summary.
std::string ReadersJson();

}  // namespace fleetmark::parse

#endif  // FLEETMARK_PLUGINS_PARSE_READER_H_
