// What ReFrame's reports and performance logs have in common: performance values with references, results of
// tests, names with parameters. Semantics as in ReFrame 3.4 to 4.10.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_PLUGINS_PARSE_REFRAME_H_
#define FLEETMARK_PLUGINS_PARSE_REFRAME_H_

#include <optional>
#include <string>
#include <string_view>

#include "plugins/parse/number.h"
#include "plugins/parse/parsed_output.h"

namespace fleetmark::parse {

struct ReframeValue {
  std::string name;
  Number value;
  std::string unit;
  std::optional<double> reference, lower, upper;
  Labels labels;
  size_t line = 0;
};

// Adds it as a metric. (0, none, none) and (none, none, none) are no reference; the direction follows from
// the only tolerance that is set, else from the unit. A unit that the project does not have becomes a label.
void AddReframeValue(const ReframeValue& value, Report& report);

enum class ReframeResult { kPass, kExpectedFailure, kFail, kSkip, kUnknown };

// The words of all versions: pass, success, xfail, fail, failure, xpass, abort, aborted, fail_deps, skip, ...
ReframeResult ResultOf(std::string_view word);

// A job that ended with a status other than 0 has failed, though ReFrame lets such a test pass unless it is
// told otherwise. `exit_code` as text; empty or absent is unknown.
void CheckExitCode(std::string_view result, std::string_view test, std::string_view exit_code, size_t line,
                   Report& report);

// Did the job end badly, whatever the test says?
bool IsBadExitCode(std::string_view exit_code);

// "Base %p=v %fixture.q=w ~scope": labels `test` and `parameters`; what ReFrame's command line generates
// (node, partition, repetition) is left out.
void AddTestName(std::string_view display_name, Labels* labels);

}  // namespace fleetmark::parse

#endif  // FLEETMARK_PLUGINS_PARSE_REFRAME_H_
