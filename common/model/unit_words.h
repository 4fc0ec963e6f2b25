// Units in words, as metric names of Prometheus carry them.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_MODEL_UNIT_WORDS_H_
#define FLEETMARK_COMMON_MODEL_UNIT_WORDS_H_

#include <string>
#include <string_view>

namespace fleetmark {

// The words for a unit of common/model/units.h, in the plural: "GB/s" is "gigabytes_per_second". Of an
// unknown one its letters and digits.
std::string UnitWords(std::string_view unit);

// The known unit whose words a name ends with, the longest if several: "read_gigabytes_per_second" ends with
// that of "GB/s". Empty when there is none.
std::string_view UnitOfName(std::string_view name);

// Other characters than letters and digits become '_'.
std::string Underscored(std::string_view text);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_MODEL_UNIT_WORDS_H_
