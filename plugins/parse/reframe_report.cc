// ReFrame's JSON run reports of data versions 1.2 to 5.0, and the records that its httpjson handler posts.
#include <map>

#include "plugins/parse/json_documents.h"
#include "plugins/parse/reader_functions.h"
#include "plugins/parse/reframe.h"

namespace fleetmark::parse {
namespace {

// A performance value must be a number: ReFrame itself fails a test whose value is a string. Bare NaN was
// turned into a string before.
Number ValueOf(const Json* value) {
  if (value == nullptr) return {NumberKind::kAbsent, 0};
  const Number number = NumberOf(*value);
  if (value->is_string() && number.kind == NumberKind::kNumber) return {};
  return number;
}

std::optional<double> BoundOf(const Json* value) {
  if (value == nullptr) return std::nullopt;
  const Number number = NumberOf(*value);
  if (number.kind != NumberKind::kNumber) return std::nullopt;
  return number.value;
}

std::string FirstOf(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const std::string text = StringIn(object, key);
    if (!text.empty() && text != "<undefined>") return text;
  }
  return "";
}

std::string NodesOf(const Json& test) {
  for (const char* key : {"job_nodelist", "nodelist", "check_job_nodelist"}) {
    const Json* nodes = ArrayIn(test, key);
    if (nodes == nullptr) continue;
    std::string text;
    for (const Json& node : *nodes) {
      if (node.is_string()) text += Join({text.empty() ? "" : ",", node.get<std::string>()});
    }
    return text;
  }
  return FirstOf(test, {"job_nodelist", "job_nodelist_folded"});
}

// When the job ended; in the oldest reports the session's end must do.
std::string TimeOf(const Json& test, const Json* session) {
  std::string microseconds = StringIn(test, "job_completion_time_us");
  if (microseconds.size() > 6) return microseconds.insert(microseconds.size() - 6, ".");
  const std::string time = FirstOf(test, {"job_completion_time_unix", "job_completion_time"});
  return time.empty() && session != nullptr ? FirstOf(*session, {"time_end_unix", "time_end"}) : time;
}

class TestCase {
 public:
  TestCase(const Json& test, const JsonDocument& document) : test_(test), document_(document) {
    std::string name = FirstOf(test, {"display_name", "name", "unique_name"});
    AddTestName(name, &labels_);
    std::string system = StringIn(test, "system");
    std::string partition = StringIn(test, "partition");
    if (partition.empty()) {  // up to 3.1: "system:partition"
      const size_t colon = system.find(':');
      if (colon != std::string::npos) partition = system.substr(colon + 1);
      system = system.substr(0, colon);
    }
    labels_["system"] = system;
    labels_["partition"] = partition;
    labels_["environ"] = FirstOf(test, {"environ", "environment"});
    labels_["nodes"] = NodesOf(test);
    AddOldParameters();
  }

  // Tells the attempts of one case apart from other cases.
  std::string Key() const {
    std::string key;
    for (const auto& [name, value] : labels_) {
      if (name != "nodes") key += Join({name, "=", value, "\n"});
    }
    return Join({key, StringIn(test_, "unique_name")});
  }
  std::string Result() const { return StringIn(test_, "result"); }
  std::string ExitCode() const { return FirstOf(test_, {"job_exitcode"}); }
  std::string Name() const { return FirstOf(test_, {"display_name", "name", "unique_name"}); }
  Origin WhereAndWhen(const Json* session) const {
    return {.time = TimeOf(test_, session),
            .node = labels_.at("nodes"),
            .benchmark = labels_.at("test"),
            .failed = IsBadExitCode(ExitCode())};
  }
  std::string Reason() const {
    const std::string phase = FirstOf(test_, {"fail_phase"});
    const std::string reason = FirstOf(test_, {"fail_reason"});
    return Join({phase, phase.empty() || reason.empty() ? "" : ": ", reason});
  }

  void AddValues(Report& report) const {
    if (const Json* values = ObjectIn(test_, "perfvalues"); values != nullptr) {
      for (const auto& item : values->items()) AddPerfValue(item.key(), item.value(), report);
    }
    const Json* variables = ArrayIn(test_, "perfvars");
    for (size_t i = 0; variables != nullptr && i < variables->size(); ++i)
      AddPerfVar((*variables)[i], report);
  }

 private:
  // Up to 3.x the parameters are apart from the name.
  void AddOldParameters() {
    const Json* parameters = ObjectIn(test_, "check_params");
    if (parameters == nullptr || labels_.contains("parameters")) return;
    std::string text;
    for (const auto& item : parameters->items()) {
      text += Join({text.empty() ? "" : " ", item.key(), "=",
                    item.value().is_string() ? item.value().get<std::string>() : item.value().dump()});
    }
    labels_["parameters"] = text;
  }

  // "sys:part:metric": [value, reference, lower, upper, unit, result]; the result from 4.1 on.
  void AddPerfValue(const std::string& key, const Json& values, Report& report) const {
    const std::string name = key.substr(key.rfind(':') + 1);
    if (!values.is_array() || values.size() < 5) {
      return report.Invalid(document_.line,
                            Join({"'", key, "' is not [value, reference, lower, upper, unit, result]"}));
    }
    AddReframeValue({.name = name,
                     .value = ValueOf(&values[0]),
                     .unit = values[4].is_string() ? values[4].get<std::string>() : "",
                     .reference = BoundOf(&values[1]),
                     .lower = BoundOf(&values[2]),
                     .upper = BoundOf(&values[3]),
                     .labels = labels_,
                     .line = document_.line},
                    report);
  }

  void AddPerfVar(const Json& variable, Report& report) const {
    AddReframeValue({.name = StringIn(variable, "name"),
                     .value = ValueOf(Member(variable, "value")),
                     .unit = StringIn(variable, "unit"),
                     .reference = BoundOf(Member(variable, "reference")),
                     .lower = BoundOf(Member(variable, "thres_lower")),
                     .upper = BoundOf(Member(variable, "thres_upper")),
                     .labels = labels_,
                     .line = document_.line},
                    report);
  }

  const Json& test_;
  const JsonDocument& document_;
  Labels labels_;
};

// The results of all attempts; the last one of a case decides.
class Verdicts {
 public:
  void Add(const TestCase& test) {
    Case& one = cases_[test.Key()];
    one.failed_before = one.failed_before || one.last == ReframeResult::kFail;
    one.last = ResultOf(test.Result());
    one.word = test.Result();
    one.name = test.Name();
    one.reason = test.Reason();
  }

  void Tell(size_t line, Report& report) const {
    size_t skipped = 0;
    for (const auto& [key, one] : cases_) {
      if (one.last == ReframeResult::kFail) {
        report.Failed(
            line, Join({"test '", one.name, "': ", one.word, one.reason.empty() ? "" : " in ", one.reason}));
      } else if (one.last == ReframeResult::kUnknown) {
        report.Invalid(line, Join({"test '", one.name, "' has the unknown result '", one.word, "'"}));
      } else if (one.last == ReframeResult::kExpectedFailure) {
        report.Warning(line, Join({"test '", one.name, "' failed as expected"}));
      } else if (one.failed_before) {
        report.Warning(line, Join({"test '", one.name, "' passed after a retry"}));
      }
      skipped += one.last == ReframeResult::kSkip ? 1 : 0;
    }
    if (!cases_.empty() && skipped == cases_.size()) report.Skipped(line, "every test was skipped");
  }

 private:
  struct Case {
    ReframeResult last = ReframeResult::kUnknown;
    bool failed_before = false;
    std::string word, name, reason;
  };
  std::map<std::string, Case> cases_;
};

void ReadRun(const JsonDocument& document, Report& report) {
  const Json* runs = ArrayIn(document.value, "runs");
  if (runs == nullptr) return report.Invalid(document.line, "this JSON has no 'runs'");
  const Json* session = ObjectIn(document.value, "session_info");
  const std::string version = session == nullptr ? "" : StringIn(*session, "data_version");
  if (version.empty() || version[0] < '1' || version[0] > '5') {
    report.Warning(document.line,
                   Join({"data version '", version, "' is not known; read as the newest known"}));
  }
  Verdicts verdicts;
  size_t cases = 0;
  for (const Json& run : *runs) {
    const Json* tests = ArrayIn(run, "testcases");
    for (size_t i = 0; tests != nullptr && i < tests->size(); ++i) {
      const TestCase test((*tests)[i], document);
      report.SetOrigin(test.WhereAndWhen(session));
      test.AddValues(report);
      CheckExitCode(test.Result(), test.Name(), test.ExitCode(), document.line, report);
      verdicts.Add(test);
      ++cases;
    }
  }
  if (cases == 0) report.Invalid(document.line, "the report holds no test");
  verdicts.Tell(document.line, report);
}

// check_perf_NAME_value and so on, for all metrics at once or (check_perf_var) for one.
void ReadRecord(const JsonDocument& document, Report& report) {
  const Json& record = document.value;
  Labels labels;
  AddTestName(FirstOf(record, {"check_display_name", "check_name"}), &labels);
  labels["system"] = StringIn(record, "check_system");
  labels["partition"] = StringIn(record, "check_partition");
  labels["environ"] = StringIn(record, "check_environ");
  labels["nodes"] = NodesOf(record);
  report.SetOrigin({.time = FirstOf(record, {"check_job_completion_time_unix", "check_job_completion_time"}),
                    .node = labels["nodes"],
                    .benchmark = labels["test"],
                    .failed = IsBadExitCode(FirstOf(record, {"check_job_exitcode"}))});
  for (const auto& item : record.items()) {
    const auto prefix = std::string_view("check_perf_");
    const std::string_view key = item.key();
    if (!key.starts_with(prefix) || !key.ends_with("_value") || key == "check_perf_value") continue;
    const std::string name(key.substr(prefix.size(), key.size() - prefix.size() - 6));
    const std::string base = Join({prefix, name});
    const auto member = [&](const char* suffix) { return Member(record, Join({base, suffix})); };
    AddReframeValue({.name = name,
                     .value = ValueOf(&item.value()),
                     .unit = StringIn(record, Join({base, "_unit"})),
                     .reference = BoundOf(member("_ref")),
                     .lower = BoundOf(member("_lower_thres")),
                     .upper = BoundOf(member("_upper_thres")),
                     .labels = labels,
                     .line = document.line},
                    report);
  }
  if (const std::string variable = StringIn(record, "check_perf_var"); !variable.empty()) {
    AddReframeValue({.name = variable,
                     .value = ValueOf(Member(record, "check_perf_value")),
                     .unit = StringIn(record, "check_perf_unit"),
                     .reference = BoundOf(Member(record, "check_perf_ref")),
                     .lower = BoundOf(Member(record, "check_perf_lower_thres")),
                     .upper = BoundOf(Member(record, "check_perf_upper_thres")),
                     .labels = labels,
                     .line = document.line},
                    report);
  }
  const std::string result = StringIn(record, "check_result");
  const std::string reason = FirstOf(record, {"check_fail_reason"});
  CheckExitCode(result, labels["test"], FirstOf(record, {"check_job_exitcode"}), document.line, report);
  if (ResultOf(result) == ReframeResult::kFail) {
    report.Failed(document.line,
                  Join({"test '", labels["test"], "': ", result, reason.empty() ? "" : ": ", reason}));
  } else if (ResultOf(result) == ReframeResult::kUnknown) {
    report.Invalid(document.line,
                   Join({"test '", labels["test"], "' has the unknown result '", result, "'"}));
  }
}

}  // namespace

void ReadReframeReport(const Options&, Report& report) {
  for (const JsonDocument& document : ReadJsonDocuments(report.text(), "of ReFrame", report)) {
    if (Member(document.value, "check_result") != nullptr) {
      ReadRecord(document, report);
    } else {
      ReadRun(document, report);
    }
  }
}

}  // namespace fleetmark::parse
