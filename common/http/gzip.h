// Compression of answers (RFC 1952, by zlib).
//
// Thread-safety: a pure function.
#ifndef FLEETMARK_COMMON_HTTP_GZIP_H_
#define FLEETMARK_COMMON_HTTP_GZIP_H_

#include <string>
#include <string_view>

namespace fleetmark {

// `level`: 1 (fastest) to 9 (smallest). Empty when memory is short; nobody needs it compressed then.
std::string Gzip(std::string_view text, int level);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_HTTP_GZIP_H_
