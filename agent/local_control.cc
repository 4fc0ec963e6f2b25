#include "agent/local_control.h"

#include <cstdio>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "common/base/status.h"
#include "common/daemon/program.h"
#include "common/model/outcome_name.h"

namespace fleetmark::agent {
namespace {

// An agent that is alive answers in a few milliseconds.
constexpr absl::Duration kAnswerWithin = absl::Seconds(2);
// The longest that a benchmark may take (its `timeout`), and then some.
constexpr absl::Duration kLongestRun = absl::Hours(25);
constexpr char kExitStatusHeader[] = "X-Exit-Status";

absl::StatusOr<LocalRunRequest> ParseRunRequest(const HttpRequest& http) {
  LocalRunRequest request;
  request.benchmark = http.Query("benchmark");
  if (http.Query("trigger") == "epilog") request.trigger = v1::TRIGGER_EPILOG;
  request.job_id = http.Query("job");
  double seconds = 0;
  if (absl::SimpleAtod(http.Query("expires_seconds"), &seconds) && seconds > 0) {
    request.expires_after = absl::Seconds(seconds);
  }
  if (request.benchmark.empty()) return absl::InvalidArgumentError("benchmark: must be given");
  return request;
}

std::string LineOf(const v1::Metric& metric) {
  std::string labels;
  for (const auto& [name, value] : metric.labels()) {
    absl::StrAppend(&labels, labels.empty() ? "{" : ",", name, "=", value);
  }
  if (!labels.empty()) labels += "}";
  return absl::StrFormat("%s%s %.6g %s\n", metric.name(), labels, metric.value(), metric.unit());
}

std::string EncodedQuery(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(u) || c == '_' || c == '-' || c == '.') {
      out += c;
    } else {
      absl::StrAppendFormat(&out, "%%%02X", u);
    }
  }
  return out;
}

}  // namespace

std::string LocalSocketPath(const std::string& data_dir) { return absl::StrCat(data_dir, "/agent.sock"); }

RunReport ReportRun(const v1::RunProgress& progress) {
  if (progress.state() != v1::RunProgress::STATE_FINISHED) {
    return {absl::StrCat("not started: ", progress.message(), "\n"), kExitNotNow};
  }
  const v1::Run& run = progress.run();
  RunReport report;
  report.text = absl::StrFormat("%s: %s in %.3g s%s%s\n", run.benchmark(), OutcomeName(run.outcome()),
                                run.duration_seconds(), run.reason().empty() ? "" : ": ", run.reason());
  for (const v1::Metric& metric : run.metrics()) absl::StrAppend(&report.text, LineOf(metric));
  switch (run.outcome()) {
    case v1::OUTCOME_OK:
      report.exit_status = kExitOk;
      break;
    case v1::OUTCOME_SKIPPED:
    case v1::OUTCOME_CANCELLED:
      report.exit_status = kExitNotNow;
      break;
    default:
      report.exit_status = kExitFailed;
  }
  return report;
}

void ServeLocalControl(LocalControlHandlers handlers, HttpServer& server) {
  server.Handle("GET", "/health", [handlers](const HttpRequest&) -> absl::StatusOr<HttpResponse> {
    const std::string problem = handlers.problem();
    if (!problem.empty()) return TextResponse(503, absl::StrCat("unhealthy: ", problem, "\n"));
    return TextResponse(200, absl::StrCat("ok: ", handlers.health_line(), "\n"));
  });
  server.Handle("GET", "/plan", [handlers](const HttpRequest&) -> absl::StatusOr<HttpResponse> {
    return TextResponse(200, handlers.plan_text());
  });
  server.Handle("POST", "/run", [handlers](const HttpRequest& http) -> absl::StatusOr<HttpResponse> {
    FM_ASSIGN_OR_RETURN(const LocalRunRequest request, ParseRunRequest(http));
    FM_ASSIGN_OR_RETURN(const v1::RunProgress progress, handlers.run(request));
    const RunReport report = ReportRun(progress);
    HttpResponse response = TextResponse(200, report.text);
    response.headers[kExitStatusHeader] = absl::StrCat(report.exit_status);
    return response;
  });
}

int HealthCommand(const std::string& data_dir) {
  const auto answer = AskUnix(LocalSocketPath(data_dir), "GET", "/health", kAnswerWithin);
  if (!answer.ok()) {
    printf("no agent answers: %s\n", Message(answer.status()).c_str());
    return kExitNoAgent;
  }
  fputs(answer->body.c_str(), stdout);
  return answer->status == 200 ? kExitOk : kExitFailed;
}

absl::StatusOr<std::string> PlanFromAgent(const std::string& data_dir) {
  FM_ASSIGN_OR_RETURN(HttpResponse answer, AskUnix(LocalSocketPath(data_dir), "GET", "/plan", kAnswerWithin));
  if (answer.status != 200) return absl::InternalError(answer.body);
  return std::move(answer.body);
}

absl::StatusOr<int> RunByAgent(const std::string& data_dir, const LocalRunRequest& request) {
  const std::string target =
      absl::StrCat("/run?benchmark=", EncodedQuery(request.benchmark),
                   "&trigger=", request.trigger == v1::TRIGGER_EPILOG ? "epilog" : "manual",
                   "&job=", EncodedQuery(request.job_id),
                   "&expires_seconds=", absl::ToDoubleSeconds(request.expires_after));
  FM_ASSIGN_OR_RETURN(const HttpResponse answer,
                      AskUnix(LocalSocketPath(data_dir), "POST", target, kLongestRun));
  fputs(answer.body.c_str(), answer.status == 200 ? stdout : stderr);
  int exit_status = kExitFailed;
  const auto header = answer.headers.find(kExitStatusHeader);
  if (header != answer.headers.end() && !absl::SimpleAtoi(header->second, &exit_status)) return kExitFailed;
  return exit_status;
}

}  // namespace fleetmark::agent
