#include "common/run/launch_options.h"

#include <errno.h>
#include <limits.h>
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

// 0,1,…
bool ParseList(const char* text, long max, std::vector<int>& numbers) {
  while (*text != '\0') {
    char* end = nullptr;
    const long number = strtol(text, &end, 10);
    if (end == text || number < 0 || number > max || (*end != ',' && *end != '\0')) return false;
    numbers.push_back(static_cast<int>(number));
    text = *end == ',' ? end + 1 : end;
  }
  return !numbers.empty();
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
  if (is("--cgroup")) {
    options.cgroups.push_back(value);
    return true;
  }
  if (is("--cpus")) return ParseList(value, 1 << 20, options.cpus);
  if (is("--groups")) return ParseList(value, INT_MAX, options.groups);
  if (is("--grace-ms")) return ParseNumber(value, options.grace_ms);
  if (is("--nice")) return ParseNumber(value, options.nice);
  if (is("--uid")) return ParseNumber(value, options.uid);
  if (is("--gid")) return ParseNumber(value, options.gid);
  if (is("--nofile")) return ParseNumber(value, options.nofile);
  if (is("--nproc")) return ParseNumber(value, options.nproc);
  if (is("--io-class")) return ParseNumber(value, options.io_class);
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
