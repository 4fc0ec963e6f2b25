// The sections that the configuration files of both daemons share: log, tls, listening addresses, paths.
//
// Thread-safety: functions without state. Faults are noted in the YamlValue's reader.
#ifndef FLEETMARK_COMMON_DAEMON_CONFIG_SECTIONS_H_
#define FLEETMARK_COMMON_DAEMON_CONFIG_SECTIONS_H_

#include <string>

#include "common/config/yaml_reader.h"
#include "common/net/endpoint.h"
#include "common/obs/log.h"

namespace fleetmark {

// `log: {level: info, format: text}`
LogOptions ReadLogSection(YamlValue section);

// Must the files be there? Not for the commands that make them.
enum class TlsFilesAre { kThere, kToCome };

// `tls: {ca: FILE, certificate: FILE, key: FILE, crl: FILE}`; relative paths start at `folder`. `otherwise`
// stands for the files that are not given.
TlsFiles ReadTlsSection(YamlValue section, const std::string& folder, TlsFilesAre are = TlsFilesAre::kThere,
                        const TlsFiles& otherwise = {});

// "host:port"; `default_value` may be empty for "not served".
HostPort ReadHostPort(YamlValue value, const std::string& default_value);

// A path; a relative one starts at `folder`.
std::string ReadPath(YamlValue value, const std::string& default_value, const std::string& folder);

std::string AbsolutePath(const std::string& path, const std::string& folder);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_DAEMON_CONFIG_SECTIONS_H_
