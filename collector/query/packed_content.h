// A content that is kept in the forms in which clients take it, with a tag by which they ask whether it is
// still the same (RFC 9110, sections 8.4 and 13.1.2).
//
// Thread-safety: a value, and a pure function.
#ifndef FLEETMARK_COLLECTOR_QUERY_PACKED_CONTENT_H_
#define FLEETMARK_COLLECTOR_QUERY_PACKED_CONTENT_H_

#include <string>

#include "common/http/http_server.h"

namespace fleetmark::collector {

struct PackedContent {
  std::string plain;
  std::string gzip;    // empty: there is none
  std::string brotli;  // likewise
  std::string etag;    // with its quotation marks
};

// Sets body, encoding and tag: the smallest form that the client takes, or 304 when it has this content.
void SetContent(const PackedContent& content, const HttpRequest& request, HttpResponse* response);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_PACKED_CONTENT_H_
