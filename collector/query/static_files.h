// Serves the files of one folder, the page, over HTTP.
//
// Thread-safety: functions; the handlers read nothing but what they hold.
#ifndef FLEETMARK_COLLECTOR_QUERY_STATIC_FILES_H_
#define FLEETMARK_COLLECTOR_QUERY_STATIC_FILES_H_

#include <string>

#include "absl/status/status.h"

#include "common/http/http_server.h"

namespace fleetmark::collector {

// Reads the files below `folder` once, at most 1,000 and 64 MiB, and registers a handler for each, with an
// ETag; index.html is also "/". Beside X, X.gz and X.br are X as sent to those who accept gzip or Brotli.
// Those below assets/ have a digest in their name and are kept by browsers for ever. NotFound when there is
// no index.html; ResourceExhausted above the bounds.
absl::Status ServeFolder(const std::string& folder, HttpServer& server);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_STATIC_FILES_H_
