// iperf3 -J and --json-stream.
#include "plugins/parse/json_documents.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

constexpr MetricKind kBitrate = {"bitrate", "bit/s", "higher"};

class EndReader {
 public:
  EndReader(const JsonDocument& document, std::string protocol, Report& report)
      : document_(document), protocol_(std::move(protocol)), report_(report) {}

  void Read(const Json& end) {
    struct Sum {
      const char* key;
      const char* side;
      const char* direction;
    };
    static constexpr Sum kSums[] = {{"sum_sent", "sender", "forward"},
                                    {"sum_received", "receiver", "forward"},
                                    {"sum_sent_bidir_reverse", "sender", "reverse"},
                                    {"sum_received_bidir_reverse", "receiver", "reverse"},
                                    {"sum", "", "forward"},
                                    {"sum_bidir_reverse", "", "reverse"}};
    for (const Sum& sum : kSums) {
      if (const Json* values = ObjectIn(end, sum.key); values != nullptr)
        ReadSum(*values, sum.side, sum.direction);
    }
    ReadCpu(end);
  }

 private:
  // Of UDP there is one sum before 3.10; later versions have both.
  void ReadSum(const Json& values, const char* side, const char* direction) {
    Labels labels = {{"direction", direction}};
    if (!protocol_.empty()) labels["protocol"] = protocol_;
    if (*side != '\0') labels["side"] = side;
    AddMember(kBitrate, values, "bits_per_second", labels, document_, report_);
    AddMember({"retransmits", "count", "lower"}, values, "retransmits", labels, document_, report_);
    if (Member(values, "jitter_ms") == nullptr || NumberIn(values, "packets").value_or(0) <= 0) return;
    AddMember({"jitter", "ms", "lower"}, values, "jitter_ms", labels, document_, report_);
    AddMember({"lost_packets", "count", "lower"}, values, "lost_packets", labels, document_, report_);
    AddMember({"loss", "%", "lower"}, values, "lost_percent", labels, document_, report_);
  }

  void ReadCpu(const Json& end) {
    const Json* cpu = ObjectIn(end, "cpu_utilization_percent");
    if (cpu == nullptr) return;
    AddMember({"cpu", "%", "lower"}, *cpu, "host_total", {{"host", "local"}}, document_, report_);
    AddMember({"cpu", "%", "lower"}, *cpu, "remote_total", {{"host", "remote"}}, document_, report_);
  }

  const JsonDocument& document_;
  const std::string protocol_;
  Report& report_;
};

std::string Protocol(const Json& start) {
  const Json* test = ObjectIn(start, "test_start");
  return test == nullptr ? "" : Lower(StringIn(*test, "protocol"));
}

// Each text of `error`: a document may have it twice, the first being the cause.
bool ReadErrors(const JsonDocument& document, Report& report) {
  bool any = false;
  for (const auto& [key, text] : document.repeated) {
    if (key != "error") continue;
    report.Failed(document.line, Join({"iperf3: ", text}));
    any = true;
  }
  const std::string error = StringIn(document.value, "error");
  if (!any && !error.empty()) report.Failed(document.line, Join({"iperf3: ", error}));
  return any || !error.empty();
}

void ReadDocument(const JsonDocument& document, Report& report) {
  if (ReadErrors(document, report)) return;
  const Json* end = ObjectIn(document.value, "end");
  const Json* start = ObjectIn(document.value, "start");
  if (end == nullptr || end->empty())
    return report.Invalid(document.line, "this result has no 'end': the test did not finish");
  const size_t before = report.metrics();
  EndReader(document, start == nullptr ? "" : Protocol(*start), report).Read(*end);
  if (report.metrics() == before) report.Invalid(document.line, "'end' has no sums");
}

// --json-stream: {"event": "start" | "interval" | "end" | "error", "data": ...}.
void ReadStreamEvents(const std::vector<JsonDocument>& documents, Report& report) {
  std::string protocol;
  bool ended = false;
  for (const JsonDocument& document : documents) {
    const std::string event = StringIn(document.value, "event");
    const Json* data = Member(document.value, "data");
    if (data == nullptr) continue;
    if (event == "start") protocol = Protocol(*data);
    if (event == "error") {
      report.Failed(document.line,
                    Join({"iperf3: ", data->is_string() ? data->get<std::string>() : ShownJson(*data)}));
    }
    if (event == "end" && data->is_object() && !data->empty()) {
      ended = true;
      EndReader(document, protocol, report).Read(*data);
    }
  }
  if (!ended && !report.failed()) report.Invalid(0, "no event 'end': the test did not finish");
}

}  // namespace

void ReadIperf3(const Options&, Report& report) {
  for (const Line& line : report.text().lines()) {
    const std::string_view text = Trim(line.text);
    if (text.starts_with("iperf3: error")) report.Failed(line.number, "iperf3 failed");
    if (text.starts_with("warning: ")) report.Warning(line.number, "iperf3 warns");
  }
  const JsonDocuments found = FindJsonDocuments(report.text());
  for (const JsonError& error : found.errors) report.Invalid(error.line, error.sentence);
  const bool stream = !found.documents.empty() && Member(found.documents[0].value, "event") != nullptr;
  if (stream) return ReadStreamEvents(found.documents, report);
  for (const JsonDocument& document : found.documents) ReadDocument(document, report);
}

}  // namespace fleetmark::parse
