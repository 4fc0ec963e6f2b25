// fio's JSON, 2.x to 3.x. Text may stand around it (fio's own warnings); with --status-interval the last
// whole document counts.
#include <map>

#include "plugins/parse/json_documents.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

class JobReader {
 public:
  JobReader(const JsonDocument& document, Report& report) : document_(document), report_(report) {}

  void Read(const Json& job) {
    job_ = StringIn(job, "jobname");
    if (const std::string host = StringIn(job, "hostname"); !host.empty()) job_labels_["host"] = host;
    if (!job_.empty()) job_labels_["job"] = job_;
    const double error = NumberIn(job, "error").value_or(0);
    if (error != 0) {
      return report_.Failed(document_.line,
                            Join({"job '", job_, "' ended with error ", StringIn(job, "error")}));
    }
    for (const char* direction : {"read", "write", "trim", "mixed"}) {
      if (const Json* values = ObjectIn(job, direction); values != nullptr) ReadDirection(*values, direction);
    }
    ReadSync(job);
    AddMember({"cpu_user", "%", "none"}, job, "usr_cpu", job_labels_, document_, report_);
    AddMember({"cpu_system", "%", "none"}, job, "sys_cpu", job_labels_, document_, report_);
  }

 private:
  // A direction that did nothing has no values: its zeros are not results.
  void ReadDirection(const Json& values, const char* direction) {
    const double bytes = NumberIn(values, "io_bytes").value_or(0) + NumberIn(values, "io_kbytes").value_or(0);
    if (bytes <= 0 && NumberIn(values, "iops").value_or(0) <= 0) return;
    Labels labels = job_labels_;
    labels["direction"] = direction;
    if (Member(values, "bw_bytes") != nullptr) {
      AddMember({"bandwidth", "B/s", "higher"}, values, "bw_bytes", labels, document_, report_);
    } else {
      AddMember({"bandwidth", "B/s", "higher", 1024}, values, "bw", labels, document_, report_);
    }
    AddMember({"iops", "IOPS", "higher"}, values, "iops", labels, document_, report_);
    for (const char* kind : {"slat", "clat", "lat"}) ReadLatency(values, kind, labels);
  }

  // In nanoseconds under NAME_ns; in microseconds under NAME in 2.x. Both become microseconds.
  void ReadLatency(const Json& values, std::string_view kind, const Labels& labels) {
    const std::string nanoseconds = Join({kind, "_ns"});
    const Json* latency = ObjectIn(values, nanoseconds);
    const double scale = latency == nullptr ? 1 : 1e-3;
    if (latency == nullptr) latency = ObjectIn(values, kind);
    if (latency == nullptr) return;
    // Without a sample fio writes zeros.
    const std::optional<double> samples = NumberIn(*latency, "N");
    if ((samples && *samples == 0) || NumberIn(*latency, "max").value_or(1) == 0) return;
    for (const char* statistic : {"min", "mean", "max", "stddev"}) {
      const std::string name = Join({kind, "_", statistic});
      AddMember({name, "us", "lower", scale}, *latency, statistic, labels, document_, report_);
    }
    const Json* percentiles = ObjectIn(*latency, "percentile");
    if (percentiles == nullptr) return;
    for (const auto& item : percentiles->items()) {
      Labels of_percentile = labels;
      const auto percentile = FiniteNumber(item.key());
      if (!percentile) continue;  // "Total" and the like in some versions
      of_percentile["percentile"] = Json(*percentile).dump();
      const std::string name = Join({kind, "_percentile"});
      AddMember({name, "us", "lower", scale}, *percentiles, item.key(), of_percentile, document_, report_);
    }
  }

  void ReadSync(const Json& job) {
    const Json* sync = ObjectIn(job, "sync");
    if (sync == nullptr || NumberIn(*sync, "total_ios").value_or(0) <= 0) return;
    Labels labels = job_labels_;
    labels["direction"] = "sync";
    ReadLatency(*sync, "lat", labels);
  }

  const JsonDocument& document_;
  Report& report_;
  std::string job_;
  Labels job_labels_;
};

bool IsFio(const Json& json) {
  return json.is_object() &&
         (json.contains("jobs") || json.contains("client_stats") || json.contains("fio version"));
}

void ReadDocument(const JsonDocument& document, Report& report) {
  const Json* jobs = ArrayIn(document.value, "jobs");
  if (jobs == nullptr) jobs = ArrayIn(document.value, "client_stats");
  if (jobs == nullptr || jobs->empty()) return report.Invalid(document.line, "fio ran no job");
  std::map<std::string, int> seen;
  for (const Json& job : *jobs) {
    // Client mode adds the sum of all clients.
    if (StringIn(job, "jobname") == "All clients" && jobs->size() > 1) continue;
    JobReader(document, report).Read(job);
  }
}

// What fio says outside of the JSON, where it matters.
void ReadMessages(Report& report) {
  for (const Line& line : report.text().lines()) {
    const std::string_view text = Trim(line.text);
    if (!text.starts_with("fio: ")) continue;
    const bool error = Contains(text, "err=") || Contains(text, "not loadable") || Contains(text, "error=");
    if (error) {
      report.Failed(line.number, "fio reports an error");
    } else {
      report.Warning(line.number, "fio says");
    }
  }
}

}  // namespace

void ReadFio(const Options&, Report& report) {
  ReadMessages(report);
  const JsonDocuments found = FindJsonDocuments(report.text());
  const JsonDocument* last = nullptr;
  for (const JsonDocument& document : found.documents) {
    if (IsFio(document.value)) last = &document;
  }
  // A document that is cut off at the end is the newer one: the results before it are not the final ones.
  for (const JsonError& error : found.errors) {
    if (last == nullptr || error.line > last->line) report.Invalid(error.line, error.sentence);
  }
  if (last != nullptr) ReadDocument(*last, report);
}

}  // namespace fleetmark::parse
