#include "collector/notify/curl_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::collector {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(5);
constexpr absl::Duration kMaxRetryAfter = absl::Minutes(10);

struct EasyDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;

class List {
 public:
  void Add(const std::string& line) {
    // The list is left as it was when there is no memory.
    if (curl_slist* longer = curl_slist_append(list_.get(), line.c_str()); longer != nullptr) {
      (void)list_.release();
      list_.reset(longer);
    }
  }
  curl_slist* get() const { return list_.get(); }

 private:
  std::unique_ptr<curl_slist, ListDeleter> list_;
};

Easy NewHandle() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  return Easy(curl_easy_init());
}

struct Download {
  const size_t max_bytes;
  std::string body;
};

size_t TakeAnswer(char* data, size_t size, size_t count, void* to) {
  auto& download = *static_cast<Download*>(to);
  const size_t room = download.max_bytes - std::min(download.max_bytes, download.body.size());
  download.body.append(data, std::min(room, size * count));
  return size * count;  // the rest is read and forgotten; the time limit bounds it
}

int StopWhenCancelled(void* cancelled, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(cancelled)->load() ? 1 : 0;
}

struct Upload {
  const std::string& text;
  size_t sent = 0;
};

size_t GiveText(char* buffer, size_t size, size_t count, void* from) {
  auto& upload = *static_cast<Upload*>(from);
  const size_t part = std::min(size * count, upload.text.size() - upload.sent);
  std::memcpy(buffer, upload.text.data() + upload.sent, part);
  upload.sent += part;
  return part;
}

void SetCommon(CURL* curl, const std::string& url, const char* protocols, absl::Duration timeout,
               const std::string& ca_file, const std::atomic<bool>& cancelled) {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, protocols);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  // A proxy of the environment is not asked: what is configured is what is spoken to.
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  const absl::Duration connect = std::min(timeout, kConnectTimeout);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(timeout)));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(connect)));
  if (!ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, ca_file.c_str());
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, StopWhenCancelled);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &cancelled);
}

absl::Status ToStatus(CURLcode code, const char* detail) {
  if (code == CURLE_OK) return absl::OkStatus();
  const std::string text = *detail != '\0' ? detail : curl_easy_strerror(code);
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return absl::DeadlineExceededError(text);
    case CURLE_ABORTED_BY_CALLBACK:
      return absl::CancelledError("stopped");
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::InvalidArgumentError(text);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_LOGIN_DENIED:
    case CURLE_USE_SSL_FAILED:
      return absl::PermissionDeniedError(text);
    default:
      return absl::UnavailableError(text);
  }
}

}  // namespace

absl::StatusOr<HttpAnswer> SendHttp(const OutgoingRequest& request, const std::atomic<bool>& cancelled) {
  const Easy curl = NewHandle();
  if (curl == nullptr) return absl::UnavailableError("libcurl: no memory");
  char detail[CURL_ERROR_SIZE] = "";
  Download download{request.max_answer_bytes, {}};
  List headers;
  for (const auto& [name, value] : request.headers) headers.Add(absl::StrCat(name, ": ", value));
  headers.Add("Expect:");  // no waiting for a 100 that small servers never send
  SetCommon(curl.get(), request.url, "http,https", request.timeout, request.ca_file, cancelled);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (request.body.empty() && request.method == "GET") {
    curl_easy_setopt(curl.get(), CURLOPT_HTTPGET, 1L);
  } else {
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, TakeAnswer);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &download);
  const CURLcode code = curl_easy_perform(curl.get());
  if (code != CURLE_OK) return ToStatus(code, detail);
  long status = 0;
  curl_off_t retry_after = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(curl.get(), CURLINFO_RETRY_AFTER, &retry_after);
  HttpAnswer answer;
  answer.status = static_cast<int>(status);
  answer.body = std::move(download.body);
  answer.retry_after = std::clamp(absl::Seconds(retry_after), absl::ZeroDuration(), kMaxRetryAfter);
  return answer;
}

absl::Status SendSmtp(const OutgoingMail& mail, const std::atomic<bool>& cancelled) {
  const Easy curl = NewHandle();
  if (curl == nullptr) return absl::UnavailableError("libcurl: no memory");
  char detail[CURL_ERROR_SIZE] = "";
  List recipients;
  for (const std::string& to : mail.to) recipients.Add(absl::StrCat("<", to, ">"));
  const std::string from = absl::StrCat("<", mail.from, ">");
  Upload upload{mail.text};
  SetCommon(curl.get(), mail.server, "smtp,smtps", mail.timeout, mail.ca_file, cancelled);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(curl.get(), CURLOPT_USE_SSL,
                   static_cast<long>(mail.starttls ? CURLUSESSL_ALL : CURLUSESSL_NONE));
  if (!mail.user.empty()) {
    curl_easy_setopt(curl.get(), CURLOPT_USERNAME, mail.user.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_PASSWORD, mail.password.c_str());
  }
  curl_easy_setopt(curl.get(), CURLOPT_MAIL_FROM, from.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_MAIL_RCPT, recipients.get());
  curl_easy_setopt(curl.get(), CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_READFUNCTION, GiveText);
  curl_easy_setopt(curl.get(), CURLOPT_READDATA, &upload);
  const CURLcode code = curl_easy_perform(curl.get());
  if (code == CURLE_OK) return absl::OkStatus();
  long reply = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &reply);
  // A reply of 5xx is for good (RFC 5321, 4.2.1); the login and TLS have codes of their own above.
  const bool for_good = reply / 100 == 5 && (code == CURLE_SEND_ERROR || code == CURLE_WEIRD_SERVER_REPLY);
  if (for_good) return absl::InvalidArgumentError(absl::StrCat("the server refused it: ", reply));
  return ToStatus(code, detail);
}

}  // namespace fleetmark::collector
