// CRC-32C (Castagnoli, RFC 3720 appendix B.4), which finds every burst of up to 32 wrong bits.
//
// Thread-safety: function without state.
#ifndef FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_CHECKSUM_H_
#define FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_CHECKSUM_H_

#include <cstdint>
#include <string_view>

namespace fleetmark::collector {

uint32_t Crc32c(std::string_view bytes);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_CHECKSUM_H_
