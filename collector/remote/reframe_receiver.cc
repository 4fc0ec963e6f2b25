#include "collector/remote/reframe_receiver.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/exposition/imported_runs.h"
#include "common/history/history.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kReasonsShown = 5;

std::string Shown(const std::vector<std::string>& faults) {
  std::string out = absl::StrCat(faults.size(), " faults, the rest is stored:\n");
  for (size_t i = 0; i < faults.size() && i < kReasonsShown; ++i) absl::StrAppend(&out, faults[i], "\n");
  return out;
}

}  // namespace

HttpResponse TakeReframeRecord(const HttpRequest& request, const ImportFn& import) {
  if (!absl::StartsWithIgnoreCase(request.Header("content-type"), "application/json")) {
    return TextResponse(400, "Content-Type must be application/json\n");
  }
  if (request.body.find('{') == std::string::npos) return TextResponse(400, "the body is no JSON object\n");
  const absl::StatusOr<History> history = ReadHistory("reframe", request.body, {});
  if (!history.ok()) return TextResponse(400, absl::StrCat(Message(history.status()), "\n"));

  std::vector<std::string> faults;
  for (const HistoryFault& fault : history->faults) faults.push_back(fault.why);
  ImportedRuns runs;
  for (const HistoryMetric& one : history->metrics) {
    const absl::Status added = runs.Add(one.metric, one.line);
    if (!added.ok()) faults.push_back(absl::StrCat(one.metric.metric, ": ", Message(added)));
  }
  v1::ImportRunsRequest message;
  for (ImportedRuns::Run& run : runs.Take()) *message.add_runs() = std::move(run.run);
  if (message.runs_size() > 0) {
    const absl::StatusOr<v1::ImportRunsResponse> imported = import(message);
    if (!imported.ok()) {
      const int status = IsRetryable(imported.status())               ? 429
                         : absl::IsInvalidArgument(imported.status()) ? 400
                                                                      : 500;
      return TextResponse(status, absl::StrCat(Message(imported.status()), "\n"));
    }
    for (const v1::ImportRefusal& refusal : imported->refused()) faults.push_back(refusal.reason());
  }
  return faults.empty() ? TextResponse(204, "") : TextResponse(400, Shown(faults));
}

void ServeReframeRecords(HttpServer& server, ImportFn import) {
  server.Handle("POST", "/api/v1/reframe", [import = std::move(import)](const HttpRequest& request) {
    return TakeReframeRecord(request, import);
  });
}

}  // namespace fleetmark::collector
