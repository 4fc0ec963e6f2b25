#include "collector/access/http_guard.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "common/base/quote_json.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr char kPrefix[] = "/api/fleetmark/v1";
constexpr char kCookie[] = "fleetmark_token=";
constexpr size_t kMaxTokenBytes = 4000;  // browsers keep cookies of 4 KiB
constexpr absl::Duration kLookAgain = absl::Seconds(5);

std::string CookieToken(const HttpRequest& request) {
  const std::string cookies = request.Header("cookie");
  for (const absl::string_view part : absl::StrSplit(cookies, ';')) {
    absl::string_view cookie = absl::StripAsciiWhitespace(part);
    if (absl::ConsumePrefix(&cookie, kCookie)) return std::string(cookie);
  }
  return "";
}

// `request` must outlive it.
Caller CallerOf(const HttpRequest& request) {
  Caller caller;
  caller.bearer = BearerToken(request.Header("authorization"));
  if (caller.bearer.empty()) caller.bearer = CookieToken(request);
  caller.address = request.remote_address;
  caller.header = [&request](const std::string& name) { return request.Header(name); };
  return caller;
}

absl::Status StatusOf(const absl::StatusOr<HttpResponse>& answer) {
  if (!answer.ok()) return answer.status();
  if (answer->status < 400) return absl::OkStatus();
  return absl::UnknownError(absl::StrCat("HTTP status ", answer->status));
}

// Ends `response`'s stream when whoever follows it may no more.
void EndWhenRefused(AccessControl& access, Clock& clock, const HttpRequest& request, const AccessRule& rule,
                    HttpResponse* response) {
  const auto kept = std::make_shared<HttpRequest>(request);
  kept->body.clear();
  const auto next = std::make_shared<MonoTime>(clock.Mono() + kLookAgain);
  response->stream = [&access, &clock, &rule, kept, next,
                      write_more = std::move(response->stream)](const HttpResponse::Write& write) {
    if (clock.Mono() >= *next) {
      *next = clock.Mono() + kLookAgain;
      if (!access.StillMay(CallerOf(*kept), rule)) return false;
    }
    return write_more(write);
  };
}

// Could a browser have been made to send this by a page of another site, with harm? A browser adds a cookie
// by itself, but no Authorization header; and where nobody is asked it needs neither.
bool MayBeForged(const HttpRequest& request, const AccessRule& rule) {
  if (rule.least == Role::kNobody || request.method == "GET") return false;
  return rule.effect != AccessRule::Effect::kReads || !CookieToken(request).empty();
}

HttpResponse Refusal(const absl::Status& status) {
  HttpResponse refused = ErrorResponse(status);
  if (refused.status == 401) refused.headers["WWW-Authenticate"] = "Bearer";
  if (refused.status == 429) refused.headers["Retry-After"] = "5";
  return refused;
}

HttpResponse PersonResponse(const Person& person, bool asked) {
  HttpResponse response;
  response.headers["Cache-Control"] = "no-store";
  response.body = absl::StrCat("{\"name\":", QuoteJson(person.name), ",\"role\":\"", RoleName(person.role),
                               "\",\"areas\":\"", AreasText(person.areas),
                               "\",\"asked\":", asked ? "true" : "false", "}\n");
  return response;
}

// Behind TLS a browser must send the cookie that way alone.
std::string Cookie(const HttpRequest& request, const std::string& token, bool remove) {
  const bool secure = absl::StartsWith(request.Header("origin"), "https://");
  return absl::StrCat(kCookie, token, "; Path=/; HttpOnly; SameSite=Strict", secure ? "; Secure" : "",
                      remove ? "; Max-Age=0" : "");
}

absl::StatusOr<HttpResponse> LogIn(AccessControl& access, const HttpRequest& request) {
  FM_RETURN_IF_ERROR(CheckSameSite(request));
  Caller caller = CallerOf(request);
  caller.bearer = BearerToken(request.Header("authorization"));
  const bool plain = caller.bearer.find_first_of("; ,\"\\\r\n") == std::string::npos;
  if (caller.bearer.empty() || caller.bearer.size() > kMaxTokenBytes || !plain) {
    return Refusal(absl::UnauthenticatedError("Authorization: Bearer TOKEN is needed"));
  }
  // As for the first thing that a page asks.
  const AccessRule* rule = HttpRule("GET", absl::StrCat(kPrefix, "/status"));
  const absl::StatusOr<Person> person = access.Admit(caller, rule, absl::StrCat("POST ", request.path));
  if (!person.ok()) return Refusal(person.status());
  HttpResponse response = PersonResponse(*person, access.people().asked());
  response.headers["Set-Cookie"] = Cookie(request, caller.bearer, false);
  return response;
}

}  // namespace

absl::Status CheckSameSite(const HttpRequest& request) {
  const std::string origin = request.Header("origin");
  const std::string host = request.Header("host");
  if (!origin.empty() && origin != absl::StrCat("http://", host) &&
      origin != absl::StrCat("https://", host)) {
    return absl::PermissionDeniedError(absl::StrCat("requests from ", origin, " are not allowed"));
  }
  const std::string site = request.Header("sec-fetch-site");
  if (!site.empty() && site != "same-origin" && site != "none") {
    return absl::PermissionDeniedError("requests from other sites are not allowed");
  }
  return absl::OkStatus();
}

HttpGuard MakeHttpGuard(AccessControl& access, Clock& clock) {
  return [&access, &clock](HttpRequest& request, const HttpRoute& route,
                           const HttpHandler& next) -> absl::StatusOr<HttpResponse> {
    const AccessRule* rule = HttpRule(route.method, route.pattern);
    const Caller caller = CallerOf(request);
    const std::string action = absl::StrCat(request.method, " ", request.path);
    absl::StatusOr<Person> person = access.Admit(caller, rule, action);
    if (person.ok() && MayBeForged(request, *rule)) {
      const absl::Status same = CheckSameSite(request);
      if (!same.ok()) person = access.Refuse(*person, caller, action, same, "sent by another site's page");
    }
    if (!person.ok()) return Refusal(person.status());
    request.person = person->name;
    absl::StatusOr<HttpResponse> answer = next(request);
    access.Ended(*person, caller, *rule, action, StatusOf(answer));
    if (answer.ok() && answer->stream && rule->least != Role::kNobody) {
      EndWhenRefused(access, clock, request, *rule, &*answer);
    }
    return answer;
  };
}

void ServeLogin(AccessControl& access, HttpServer& server) {
  server.Handle("GET", absl::StrCat(kPrefix, "/whoami"), [&access](const HttpRequest& request) {
    std::string reason;
    const absl::StatusOr<Person> person = access.people().Identify(CallerOf(request), &reason);
    return PersonResponse(person.ok() ? *person : Person(), access.people().asked());
  });
  server.Handle("POST", absl::StrCat(kPrefix, "/login"),
                [&access](const HttpRequest& request) { return LogIn(access, request); });
  server.Handle("POST", absl::StrCat(kPrefix, "/logout"),
                [&access](const HttpRequest& request) -> absl::StatusOr<HttpResponse> {
                  FM_RETURN_IF_ERROR(CheckSameSite(request));
                  HttpResponse response = PersonResponse(Person(), access.people().asked());
                  response.headers["Set-Cookie"] = Cookie(request, "", true);
                  return response;
                });
}

}  // namespace fleetmark::collector
