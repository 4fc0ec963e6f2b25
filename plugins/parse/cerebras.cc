// Cerebras training and evaluation logs (CS-2, CS-3; run.py and cszoo). The rate is GlobalRate of the last
// step: Rate is smoothed over a few steps, and "Processed ... in ..." counts the compilation too.
#include <re2/re2.h>

#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

struct Step {
  Labels labels;
  size_t line = 0;
  std::string rate;
  std::string local_rate;
  std::string loss;
  std::string unit;
  std::string step;
};

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

class LogReader {
 public:
  explicit LogReader(Report& report) : report_(report) {}

  void Read() {
    for (const Line& line : report_.text().lines()) ReadLine(line);
    for (const Step* step : {&train_, &eval_}) {
      if (step->line > 0) AddStep(*step);
    }
    if (train_.line > 0 && !completed_ && !report_.failed()) {
      report_.Invalid(train_.line, "the output is cut off: the training did not complete; its last step is");
    }
  }

 private:
  void ReadLine(const Line& line) {
    static const RE2 step_line(R"(\|\s*(Train|Eval)\w* Device=([^,\s]+), (?:Global)?Step=(\d+))");
    std::string mode;
    std::string device;
    std::string step;
    if (RE2::PartialMatch(Piece(line.text), step_line, &mode, &device, &step)) {
      ReadStep(line, mode, device, step);
    } else if (Contains(line.text, "completed successfully")) {
      completed_ = true;
    } else if (Contains(line.text, "reason=InconsistentVersion")) {
      report_.Warning(line.number, "the versions differ");
    } else if (Contains(line.text, " ERROR:") || line.text.starts_with("ERROR:") ||
               Contains(line.text, " CRITICAL:") || line.text.starts_with("Traceback (most recent") ||
               ContainsNoCase(line.text, "job failed") || ContainsNoCase(line.text, "NaN loss") ||
               ContainsNoCase(line.text, "was cancelled")) {
      report_.Failed(line.number, "the run failed");
    }
  }

  void ReadStep(const Line& line, const std::string& mode, const std::string& device,
                const std::string& step) {
    static const RE2 global(R"(\bGlobalRate=(\S+?)(?:\s+(\w+/\w+))?(?:,|\s*$))");
    static const RE2 local(R"(\bRate=(\S+?)(?:\s+(\w+/\w+))?(?:,|\s*$))");
    static const RE2 loss(R"(\bLoss=(\S+?)(?:,|\s*$))");
    Step& last = mode == "Train" ? train_ : eval_;
    Step now;
    now.labels = {{"device", device}, {"mode", Lower(mode)}};
    now.line = line.number;
    now.step = step;
    std::string local_unit;
    RE2::PartialMatch(Piece(line.text), global, &now.rate, &now.unit);
    RE2::PartialMatch(Piece(line.text), local, &now.local_rate, &local_unit);
    RE2::PartialMatch(Piece(line.text), loss, &now.loss);
    if (now.rate.empty() || now.unit.empty()) {
      // The line is cut off in the middle, perhaps within the number; the step before it is whole.
      report_.Invalid(line.number, "a step without GlobalRate and its unit");
      return;
    }
    last = std::move(now);
  }

  void AddStep(const Step& step) {
    const auto unit = FindUnit(step.unit);
    if (!unit) return report_.Invalid(step.line, Join({"the rate's unit '", step.unit, "' is not known"}));
    report_.AddText({"throughput", unit->unit, "higher", unit->scale}, step.rate, step.labels, step.line);
    if (!step.local_rate.empty()) {
      report_.AddText({"local_rate", unit->unit, "none", unit->scale}, step.local_rate, step.labels,
                      step.line);
    }
    if (!step.loss.empty() && ReadNumber(step.loss).kind == NumberKind::kNotFinite) {
      report_.Invalid(step.line, "the loss is not finite");
    } else if (!step.loss.empty()) {
      report_.AddText({"loss", "1", "lower"}, step.loss, step.labels, step.line);
    }
    report_.AddText({"steps", "count", "none"}, step.step, step.labels, step.line);
  }

  Report& report_;
  Step train_;
  Step eval_;
  bool completed_ = false;
};

}  // namespace

void ReadCerebras(const Options&, Report& report) { LogReader(report).Read(); }

}  // namespace fleetmark::parse
