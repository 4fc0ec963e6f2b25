#include "cli/commandline/completion_values.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"

#include "cli/output/format.h"
#include "common/base/status.h"
#include "plugins/parse/reader.h"

namespace fleetmark::cli {
namespace {

constexpr absl::Duration kConnect = absl::Milliseconds(400);
constexpr absl::Duration kCall = absl::Milliseconds(600);
constexpr uint32_t kMost = 1000;

using Candidates = std::vector<Candidate>;

std::string Given(const ValueRequest& request, const std::string& name) {
  const auto it = request.given.find(name);
  return it == request.given.end() ? "" : it->second;
}

absl::StatusOr<Candidates> Nodes(const ValueRequest&, Client& client) {
  FM_ASSIGN_OR_RETURN(const v1::FleetResponse fleet, client.GetFleet({}));
  Candidates found;
  for (const std::string& name : fleet.names()) found.push_back({name, ""});
  return found;
}

// Those of the node that is named already, else all.
absl::StatusOr<Candidates> Benchmarks(const ValueRequest& request, Client& client) {
  Candidates found;
  if (const std::string node = Given(request, "node"); !node.empty()) {
    v1::ListNodesRequest nodes;
    nodes.set_name(node);
    nodes.set_limit(1);
    FM_ASSIGN_OR_RETURN(const v1::ListNodesResponse response, client.ListNodes(nodes));
    for (const v1::Node& one : response.nodes()) {
      for (const v1::Benchmark& b : one.benchmarks()) found.push_back({b.name(), b.schedule()});
    }
    return found;
  }
  FM_ASSIGN_OR_RETURN(const v1::BenchmarksResponse response, client.ListBenchmarks({}));
  for (const v1::BenchmarkSummary& b : response.benchmarks()) {
    found.push_back({b.name(), absl::StrCat(b.nodes(), " nodes")});
  }
  return found;
}

absl::StatusOr<Candidates> Suites(const ValueRequest&, Client& client) {
  FM_ASSIGN_OR_RETURN(const v1::BenchmarksResponse response, client.ListBenchmarks({}));
  std::set<std::string> names;
  for (const v1::BenchmarkSummary& b : response.benchmarks()) {
    names.insert(b.suites().begin(), b.suites().end());
  }
  Candidates found;
  for (const std::string& name : names) found.push_back({name, ""});
  return found;
}

absl::StatusOr<Candidates> Metrics(const ValueRequest& request, Client& client) {
  FM_ASSIGN_OR_RETURN(const v1::BenchmarksResponse response, client.ListBenchmarks({}));
  const std::string benchmark = Given(request, "benchmark");
  std::map<std::string, std::string> units;
  for (const v1::BenchmarkSummary& b : response.benchmarks()) {
    if (!benchmark.empty() && b.name() != benchmark) continue;
    for (const v1::BenchmarkMetric& metric : b.metrics()) units.emplace(metric.name(), metric.unit());
  }
  Candidates found;
  for (const auto& [name, unit] : units) found.push_back({name, unit});
  return found;
}

absl::StatusOr<Candidates> Series(const ValueRequest& request, Client& client) {
  v1::ListSeriesRequest list;
  list.mutable_selector()->set_node(Given(request, "node"));
  list.mutable_selector()->set_benchmark(Given(request, "benchmark"));
  list.set_limit(kMost);
  FM_ASSIGN_OR_RETURN(const v1::ListSeriesResponse response, client.ListSeries(list));
  Candidates found;
  for (const v1::Series& s : response.series()) {
    found.push_back(
        {absl::StrCat(s.series_id()), absl::StrCat(s.key().node(), " ", s.key().benchmark(), " ",
                                                   s.key().metric(), " ", FormatLabels(s.key().labels()))});
  }
  return found;
}

absl::StatusOr<Candidates> Runs(const ValueRequest& request, Client& client) {
  v1::ListRunsRequest list;
  list.set_node(Given(request, "node"));
  list.set_limit(100);
  FM_ASSIGN_OR_RETURN(const v1::ListRunsResponse response, client.ListRuns(list));
  Candidates found;
  for (const v1::NodeRun& r : response.runs()) {
    found.push_back({r.run().run_id(),
                     absl::StrCat(r.run().benchmark(), " on ", r.node(), ", ", NameOf(r.run().outcome()))});
  }
  return found;
}

absl::StatusOr<Candidates> Findings(const ValueRequest&, Client& client) {
  v1::ListFindingsRequest list;
  list.set_limit(100);
  FM_ASSIGN_OR_RETURN(const v1::ListFindingsResponse response, client.ListFindings(list));
  Candidates found;
  for (const v1::Finding& f : response.findings()) {
    found.push_back({f.finding_id(), absl::StrCat(f.series().node(), f.scope(), " ", f.series().benchmark(),
                                                  " ", f.series().metric(), " ", FormatChange(f.change()))});
  }
  return found;
}

absl::StatusOr<Candidates> Alerts(const ValueRequest&, Client& client) {
  v1::ListAlertsRequest list;
  list.set_limit(100);
  FM_ASSIGN_OR_RETURN(const v1::ListAlertsResponse response, client.ListAlerts(list));
  Candidates found;
  for (const v1::Alert& a : response.alerts()) found.push_back({a.alert_id(), a.title()});
  return found;
}

absl::StatusOr<Candidates> Silences(const ValueRequest&, Client& client) {
  FM_ASSIGN_OR_RETURN(const v1::ListSilencesResponse response, client.ListSilences({}));
  Candidates found;
  for (const v1::Silence& s : response.silences()) found.push_back({s.silence_id(), s.note()});
  return found;
}

absl::StatusOr<Candidates> Receivers(const ValueRequest&, Client& client) {
  FM_ASSIGN_OR_RETURN(const v1::ListReceiversResponse response, client.ListReceivers({}));
  Candidates found;
  for (const v1::ReceiverStatus& r : response.receivers()) found.push_back({r.name(), r.kind()});
  return found;
}

Candidates Readers() {
  Candidates found;
  for (const parse::Reader& r : parse::Readers()) {
    found.push_back({std::string(r.name), std::string(r.summary)});
  }
  return found;
}

using Ask = absl::StatusOr<Candidates> (*)(const ValueRequest&, Client&);

}  // namespace

std::vector<Candidate> CompletionValues(const ValueRequest& request, const Client::Options& options,
                                        Clock& clock) {
  static const auto* const kAsk =
      new std::map<std::string, Ask>{{"NODE", Nodes},        {"BENCHMARK", Benchmarks}, {"SUITE", Suites},
                                     {"METRIC", Metrics},    {"SERIES", Series},        {"RUN", Runs},
                                     {"ALERT", Alerts},      {"FINDING", Findings},     {"SILENCE", Silences},
                                     {"RECEIVER", Receivers}};
  if (request.kind == "READER") return Readers();
  const auto ask = kAsk->find(request.kind);
  if (ask == kAsk->end()) return {};
  Client::Options connection = options;
  const auto take = [&](const char* name, std::string* value) {
    if (const std::string given = Given(request, name); !given.empty()) *value = given;
  };
  take("collector", &connection.address);
  take("tls-ca", &connection.tls_ca);
  take("tls-cert", &connection.tls_certificate);
  take("tls-key", &connection.tls_key);
  connection.connect_timeout = kConnect;
  connection.call_timeout = kCall;
  const auto client = Client::Connect(connection, clock);
  if (!client.ok()) return {};
  absl::StatusOr<Candidates> found = ask->second(request, **client);
  return found.ok() ? *std::move(found) : Candidates();
}

}  // namespace fleetmark::cli
