// Prometheus remote write 1.0: snappy-compressed protobuf over HTTP, in time order, with a barrier after each
// step, as a fleet's scrapes would come.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <snappy.h>
#include <sys/socket.h>

#include <barrier>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "bench/store/fleet_load.h"
#include "common/base/file.h"

namespace fleetmark::bench {
namespace {

[[noreturn]] void Die(const std::string& what) {
  fprintf(stderr, "store_load: %s\n", what.c_str());
  std::exit(1);
}

class HttpConnection {
 public:
  explicit HttpConnection(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      Die("can't connect");
  }

  void Post(const std::string& body) {
    std::string request = absl::StrCat(
        "POST /api/v1/write HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Encoding: snappy\r\n"
        "Content-Type: application/x-protobuf\r\nX-Prometheus-Remote-Write-Version: "
        "0.1.0\r\nContent-Length: ",
        body.size(), "\r\n\r\n", body);
    for (size_t sent = 0; sent < request.size();) {
      const ssize_t n = send(fd_.get(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) Die("the server closed the connection");
      sent += static_cast<size_t>(n);
    }
    std::string answer;
    char buffer[4096];
    while (!absl::StrContains(answer, "\r\n\r\n")) {
      const ssize_t n = recv(fd_.get(), buffer, sizeof buffer, 0);
      if (n <= 0) Die("the server closed the connection");
      answer.append(buffer, static_cast<size_t>(n));
    }
    if (!absl::StartsWith(answer, "HTTP/1.1 204")) Die(answer);
  }

 private:
  UniqueFd fd_;
};

void AppendVarint(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void AppendField(std::string* out, char tag, const std::string& bytes) {
  out->push_back(tag);
  AppendVarint(out, bytes.size());
  out->append(bytes);
}

void AppendLabel(std::string* series, const std::string& name, const std::string& value) {
  std::string label;
  AppendField(&label, 0x0A, name);
  AppendField(&label, 0x12, value);
  AppendField(series, 0x0A, label);
}

// A TimeSeries with one sample; labels in their order, as the protocol wants.
std::string TimeSeries(int node, int metric, double value, int64_t time_ms) {
  std::string series;
  AppendLabel(&series, "__name__", MetricName(metric));
  AppendLabel(&series, "benchmark", "fleet_bench");
  AppendLabel(&series, "group", absl::StrCat("rack-", node % 50));
  AppendLabel(&series, "node", NodeName(node));
  AppendLabel(&series, "unit", "GB/s");
  std::string sample(1, 0x09);
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) sample.push_back(static_cast<char>(bits >> shift));
  sample.push_back(0x10);
  AppendVarint(&sample, static_cast<uint64_t>(time_ms));
  AppendField(&series, 0x12, sample);
  return series;
}

void SendStep(const LoadOptions& o, int64_t step, int thread, HttpConnection* connection) {
  const int nodes_each = std::max(1, o.samples_per_request / o.metrics);
  std::string compressed;
  for (int first = thread * nodes_each; first < o.nodes; first += o.connections * nodes_each) {
    std::string request;
    for (int n = first; n < std::min(o.nodes, first + nodes_each); ++n) {
      const int node = o.first_node + n;
      const int64_t time = TimeMs(o.t0_ms, node, step, o.jitter_ms);
      for (int metric = 0; metric < o.metrics; ++metric) {
        AppendField(&request, 0x0A, TimeSeries(node, metric, ValueOf(node, metric, step), time));
      }
    }
    snappy::Compress(request.data(), request.size(), &compressed);
    connection->Post(compressed);
  }
}

}  // namespace

void SendRemoteWrite(const LoadOptions& o) {
  std::barrier step_done(o.connections);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < o.connections; ++thread) {
    threads.emplace_back([&o, &step_done, thread] {
      HttpConnection connection(o.port);
      for (int64_t step = o.first_step; step < o.first_step + o.steps; ++step) {
        SendStep(o, step, thread, &connection);
        step_done.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace fleetmark::bench
