#include "common/net/endpoint.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark {
namespace {

constexpr size_t kMaxPemBytes = 1024 * 1024;

}  // namespace

std::string HostPort::ToString() const {
  const bool v6 = absl::StrContains(host, ":");
  return v6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

absl::Status ParseHostPort(const std::string& text, HostPort* out) {
  const auto wrong = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not an address with a port; write for example 127.0.0.1:9410"));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong();
  std::string host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && absl::StrContains(host, ":")) return wrong();
  int port = 0;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port < 0 || port > 65535) return wrong();
  *out = {host, port};
  return absl::OkStatus();
}

bool IsLoopback(const std::string& host) {
  return absl::StartsWith(host, "127.") || host == "::1" || host == "localhost";
}

absl::Status CheckTlsFiles(const TlsFiles& files) {
  if (!files.enabled()) return absl::OkStatus();
  if (files.ca.empty() || files.certificate.empty() || files.key.empty()) {
    return absl::InvalidArgumentError("tls needs all of ca, certificate and key");
  }
  for (const std::string& path : {files.ca, files.certificate, files.key, files.crl}) {
    if (path.empty()) continue;  // no list of revoked certificates
    FM_ASSIGN_OR_RETURN(const std::string pem, ReadFile(path, kMaxPemBytes));
    if (!absl::StrContains(pem, "-----BEGIN ")) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is not a PEM file"));
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetmark
