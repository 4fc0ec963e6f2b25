#include "common/obs/log.h"

#include <atomic>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace fleetmark {
namespace {

std::atomic<bool> g_json{false};

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& Logger() {
  static spdlog::logger& logger = []() -> spdlog::logger& {
    static spdlog::logger instance("fleetmark", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    instance.set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    return instance;
  }();
  return logger;
}

void AppendEscaped(std::string& out, std::string_view text) {
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (u < 0x20) {
      absl::StrAppend(&out, "\\u00", absl::Hex(u, absl::kZeroPad2));
    } else {
      out.push_back(c);
    }
  }
}

void AppendQuoted(std::string& out, std::string_view text) {
  out.push_back('"');
  AppendEscaped(out, text);
  out.push_back('"');
}

bool NeedsQuotes(std::string_view text) {
  if (text.empty()) return true;
  for (char c : text) {
    if (c == ' ' || c == '"' || c == '=' || c == '\\' || static_cast<unsigned char>(c) < 0x20) return true;
  }
  return false;
}

std::string TextLine(std::string_view message, std::initializer_list<LogField> fields) {
  std::string line(message);
  for (const LogField& field : fields) {
    line.push_back(' ');
    line.append(field.key);
    line.push_back('=');
    if (NeedsQuotes(field.value)) {
      AppendQuoted(line, field.value);
    } else {
      line += field.value;
    }
  }
  return line;
}

// The pattern supplies the opening brace, time and level.
std::string JsonTail(std::string_view message, std::initializer_list<LogField> fields) {
  std::string line;
  AppendQuoted(line, message);
  for (const LogField& field : fields) {
    line.push_back(',');
    AppendQuoted(line, field.key);
    line.push_back(':');
    AppendQuoted(line, field.value);
  }
  return line;
}

}  // namespace

LogField::LogField(std::string_view k, double v) : key(k), value(absl::StrCat(v)) {}

void InitLog(const LogOptions& options) {
  g_json = options.json;
  if (options.json) {
    Logger().set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%v})",
                         spdlog::pattern_time_type::utc);
  }
  Logger().set_level(ToSpdlog(options.level));
}

absl::Status ParseLogLevel(std::string_view text, LogLevel* level) {
  for (const auto& [name, value] :
       {std::pair{"debug", LogLevel::kDebug}, std::pair{"info", LogLevel::kInfo},
        std::pair{"warn", LogLevel::kWarn}, std::pair{"error", LogLevel::kError}}) {
    if (text != name) continue;
    *level = value;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("log level must be debug, info, warn or error, not '", std::string(text), "'"));
}

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (!Logger().should_log(ToSpdlog(level))) return;
  Logger().log(ToSpdlog(level), "{}", g_json ? JsonTail(message, fields) : TextLine(message, fields));
}

}  // namespace fleetmark
