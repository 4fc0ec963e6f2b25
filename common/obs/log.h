// The structured log of both daemons: a fixed sentence and fields, one line each, on standard error, as
// `key=value` text or JSON. systemd's journal or the container's runtime keeps it.
//
// error: a person must act. warn: degraded, heals by itself. info: something changed state (a run, a
// connection), never a sample. debug: off by default.
//
// Thread-safety: any thread. Log once, where an error is handled, not where it passes.
#ifndef FLEETMARK_COMMON_OBS_LOG_H_
#define FLEETMARK_COMMON_OBS_LOG_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace fleetmark {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

// A field's value is quoted where it needs to be.
struct LogField {
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  LogField(std::string_view k, const absl::Status& v) : key(k), value(v.ToString()) {}
  LogField(std::string_view k, double v);
  LogField(std::string_view k, int v) : LogField(k, static_cast<long long>(v)) {}
  LogField(std::string_view k, unsigned v) : LogField(k, static_cast<unsigned long long>(v)) {}
  LogField(std::string_view k, long v) : LogField(k, static_cast<long long>(v)) {}
  LogField(std::string_view k, unsigned long v) : LogField(k, static_cast<unsigned long long>(v)) {}
  LogField(std::string_view k, long long v) : key(k), value(std::to_string(v)) {}
  LogField(std::string_view k, unsigned long long v) : key(k), value(std::to_string(v)) {}

  std::string_view key;
  std::string value;
};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  bool json = false;
};

// Once, in main. Until then everything from info up goes to standard error as text.
void InitLog(const LogOptions& options);

// InvalidArgument unless debug, info, warn or error.
absl::Status ParseLogLevel(std::string_view text, LogLevel* level);

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields);

inline void LogDebug(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kDebug, message, fields);
}
inline void LogInfo(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, message, fields);
}
inline void LogWarn(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarn, message, fields);
}
inline void LogError(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, message, fields);
}

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_OBS_LOG_H_
