// dcgmi diag -j of DCGM 3 and 4. Each test of each GPU becomes the metric `test_passed`, 1 or 0.
#include "plugins/parse/json_documents.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

// Warnings and info are a string, a list of strings, or a list of objects.
std::string AllText(const Json* value) {
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  std::string text;
  if (value->is_object()) return StringIn(*value, "warning");
  for (size_t i = 0; value->is_array() && i < value->size(); ++i) {
    text += Join({text.empty() ? "" : "; ", AllText(&(*value)[i])});
  }
  return text;
}

// Version 4 names what 3 calls "gpu_id" by its entity; a test of the software has neither.
std::string EntityOf(const Json& result) {
  for (const char* key : {"gpu_id", "gpu_ids", "entity_id"}) {
    const Json* value = Member(result, key);
    if (value == nullptr) continue;
    if (!value->is_array()) return StringIn(result, key);
    std::string ids;
    for (const Json& id : *value)
      ids += Join({ids.empty() ? "" : ",", id.is_string() ? id.get<std::string>() : id.dump()});
    return ids;
  }
  return "";
}

class DiagReader {
 public:
  DiagReader(const JsonDocument& document, Report& report) : document_(document), report_(report) {}

  void Read(const Json& root) {
    for (const char* key : {"runtime_error", "error", "Error"}) {
      const std::string error = StringIn(root, key);
      if (!error.empty())
        return report_.Failed(document_.line, Join({"the diagnostic could not run: ", error}));
    }
    // With --iterations each has its own categories.
    if (const Json* iterations = ArrayIn(root, "iterations"); iterations != nullptr) {
      for (const Json& iteration : *iterations) ReadCategories(iteration);
      if (StringIn(root, "Overall Result") == "Fail")
        report_.Failed(document_.line, "the overall result is Fail");
    } else {
      ReadCategories(root);
    }
    if (tests_ == 0) {
      report_.Invalid(document_.line, "the diagnostic holds no test");
    } else if (skipped_ == tests_) {
      report_.Skipped(document_.line, "every test was skipped");
    }
  }

 private:
  void ReadCategories(const Json& root) {
    const Json* categories = ArrayIn(root, "test_categories");
    for (size_t i = 0; categories != nullptr && i < categories->size(); ++i) {
      const Json* tests = ArrayIn((*categories)[i], "tests");
      for (size_t k = 0; tests != nullptr && k < tests->size(); ++k) ReadTest((*tests)[k]);
    }
  }

  void ReadTest(const Json& test) {
    const std::string name = SnakeCase(StringIn(test, "name"));
    const Json* results = ArrayIn(test, "results");
    bool failed = false;
    for (size_t i = 0; results != nullptr && i < results->size(); ++i)
      failed = ReadResult((*results)[i], name) || failed;
    const Json* summary = ObjectIn(test, "test_summary");
    if (summary == nullptr) return;
    if (results == nullptr || results->empty()) ReadResult(*summary, name);
    if (StringIn(*summary, "status") == "Fail" && !failed)
      report_.Failed(document_.line, Join({"test '", name, "' failed"}));
  }

  // True if it failed.
  bool ReadResult(const Json& result, const std::string& name) {
    ++tests_;
    const std::string status = Lower(StringIn(result, "status"));
    const std::string entity = EntityOf(result);
    Labels labels = {{"test", name}};
    if (!entity.empty()) {
      const std::string group = StringIn(result, "entity_group");
      labels[group.empty() ? "gpu" : SnakeCase(group)] = entity;
    }
    const std::string where = Join({"test '", name, "'", entity.empty() ? "" : " on ", entity});
    const std::string said = AllText(Member(result, "warnings"));
    if (status == "pass") {
      report_.Add({"test_passed", "1", "higher"}, 1, labels, document_.line);
    } else if (status == "fail") {
      report_.Add({"test_passed", "1", "higher"}, 0, labels, document_.line);
      report_.Failed(document_.line, Join({where, " failed: ", said}));
    } else if (status == "skip" || status == "skipped" || status == "not_run" || status == "not run") {
      ++skipped_;
    } else if (status == "warn") {
      report_.Add({"test_passed", "1", "higher"}, 1, labels, document_.line);
      report_.Warning(document_.line, Join({where, " warns: ", said}));
    } else {
      report_.Invalid(document_.line, Join({where, " has the unknown status '", status, "'"}));
    }
    return status == "fail";
  }

  const JsonDocument& document_;
  Report& report_;
  size_t tests_ = 0;
  size_t skipped_ = 0;
};

}  // namespace

void ReadDcgmiDiag(const Options&, Report& report) {
  bool diagnostic = false;
  for (const Line& line : report.text().lines()) {
    const bool refused = StartsWithNoCase(Trim(line.text), "Error:") ||
                         Contains(line.text, "Unable to connect to host engine");
    if (refused) report.Failed(line.number, "dcgmi failed");
  }
  const std::vector<JsonDocument> documents = ReadJsonDocuments(report.text(), "of dcgmi diag -j", report);
  for (const JsonDocument& document : documents) {
    for (const char* name : {"DCGM Diagnostic", "DCGM GPU Diagnostic"}) {
      const Json* root = ObjectIn(document.value, name);
      if (root == nullptr) continue;
      diagnostic = true;
      DiagReader(document, report).Read(*root);
    }
    if (!diagnostic)
      report.Invalid(document.line, "this JSON has no 'DCGM Diagnostic' or 'DCGM GPU Diagnostic'");
  }
}

}  // namespace fleetmark::parse
