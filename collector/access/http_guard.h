// AccessControl before every route of an HTTP server, and the routes by which a page logs in.
//
// A token comes as "Authorization: Bearer TOKEN", or in the cookie that /login sets: HttpOnly, so that no
// script reads it, and SameSite=Strict, so that no other site's page sends it. A post by cookie must be this
// site's own besides.
//
// Thread-safety: the handlers run in the server's threads. Ownership: `access` must outlive the server.
#ifndef FLEETMARK_COLLECTOR_ACCESS_HTTP_GUARD_H_
#define FLEETMARK_COLLECTOR_ACCESS_HTTP_GUARD_H_

#include "absl/status/status.h"

#include "collector/access/access_control.h"
#include "common/http/http_server.h"

namespace fleetmark::collector {

// An answer that goes on for long ends, soon after the person may have it no more.
HttpGuard MakeHttpGuard(AccessControl& access, Clock& clock);

// GET whoami, POST login and logout. Before HttpServer::Start.
void ServeLogin(AccessControl& access, HttpServer& server);

// PermissionDenied when a browser says that another site's page made it send this.
absl::Status CheckSameSite(const HttpRequest& request);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACCESS_HTTP_GUARD_H_
