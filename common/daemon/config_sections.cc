#include "common/daemon/config_sections.h"

#include <filesystem>

#include "common/base/status.h"

namespace fleetmark {

LogOptions ReadLogSection(YamlValue section) {
  LogOptions options;
  const std::string level = section.Key("level").Choice("info", {"debug", "info", "warn", "error"});
  section.Check(ParseLogLevel(level, &options.level));
  options.json = section.Key("format").Choice("text", {"text", "json"}) == "json";
  section.NoOtherKeys();
  return options;
}

TlsFiles ReadTlsSection(YamlValue section, const std::string& folder, TlsFilesAre are,
                        const TlsFiles& otherwise) {
  TlsFiles files;
  files.ca = ReadPath(section.Key("ca"), otherwise.ca, folder);
  files.certificate = ReadPath(section.Key("certificate"), otherwise.certificate, folder);
  files.key = ReadPath(section.Key("key"), otherwise.key, folder);
  files.crl = ReadPath(section.Key("crl"), otherwise.crl, folder);
  section.NoOtherKeys();
  if (are == TlsFilesAre::kThere) section.Check(CheckTlsFiles(files));
  return files;
}

HostPort ReadHostPort(YamlValue value, const std::string& default_value) {
  HostPort out;
  const std::string text = value.String(default_value);
  if (!text.empty()) value.Check(ParseHostPort(text, &out));
  return out;
}

std::string AbsolutePath(const std::string& path, const std::string& folder) {
  if (path.empty() || path.front() == '/') return path;
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

std::string ReadPath(YamlValue value, const std::string& default_value, const std::string& folder) {
  return AbsolutePath(value.String(default_value), folder);
}

}  // namespace fleetmark
