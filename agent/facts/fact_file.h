// Facts that a file gives: lines `key=value` or `key="value"`, as Kubernetes' downward API writes a pod's
// labels and annotations. In quotes \" \\ \n \t \r \xHH \uHHHH stand for what they do in Go. Empty lines, and
// lines that begin with #, are left out. Anything else, a key given twice, or more than 64 KiB or 256 keys,
// makes the whole file faulty.
//
// A key is 1 to 100 letters, digits and . _ - /. A fact whose whole name is over limits::kFactNameBytes is
// left out.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_AGENT_FACTS_FACT_FILE_H_
#define FLEETMARK_AGENT_FACTS_FACT_FILE_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "agent/facts/sources.h"

namespace fleetmark::agent {

// InvalidArgument, with the line, when the text is faulty.
absl::StatusOr<std::map<std::string, std::string>> ParseFactFile(std::string_view text);

// Adds each as "prefix.key". NotFound and others when the file can't be read; nothing is added then.
absl::Status AddFileFacts(const std::string& path, const std::string& prefix, FactSet& facts);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_FACTS_FACT_FILE_H_
