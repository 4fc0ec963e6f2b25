#include "common/run/launch_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

namespace fleetmark::launch {
namespace {

bool ParseNumber(const char* text, long& number) {
  char* end = nullptr;
  errno = 0;
  number = strtol(text, &end, 10);
  return errno == 0 && end != text && *end == '\0';
}

bool ParseCpus(const char* text, std::vector<int>& cpus) {
  while (*text != '\0') {
    char* end = nullptr;
    const long cpu = strtol(text, &end, 10);
    if (end == text || cpu < 0 || cpu > 1 << 20 || (*end != ',' && *end != '\0')) return false;
    cpus.push_back(static_cast<int>(cpu));
    text = *end == ',' ? end + 1 : end;
  }
  return !cpus.empty();
}

bool ParseOption(const char* argument, LaunchOptions& options) {
  const char* equals = strchr(argument, '=');
  if (equals == nullptr) return false;
  const char* value = equals + 1;
  const size_t length = static_cast<size_t>(equals - argument);
  const auto is = [&](const char* name) {
    return strlen(name) == length && strncmp(argument, name, length) == 0;
  };
  if (is("--dir")) {
    options.dir = value;
    return true;
  }
  if (is("--cpus")) return ParseCpus(value, options.cpus);
  if (is("--grace-ms")) return ParseNumber(value, options.grace_ms);
  if (is("--nice")) return ParseNumber(value, options.nice);
  if (is("--uid")) return ParseNumber(value, options.uid);
  if (is("--gid")) return ParseNumber(value, options.gid);
  if (is("--nofile")) return ParseNumber(value, options.nofile);
  if (is("--nproc")) return ParseNumber(value, options.nproc);
  return false;
}

}  // namespace

bool ParseLaunchOptions(int argc, char** argv, LaunchOptions& options) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--") == 0) {
      options.command = argv + i + 1;
      return i + 1 < argc;
    }
    if (!ParseOption(argv[i], options)) return false;
  }
  return false;
}

}  // namespace fleetmark::launch
