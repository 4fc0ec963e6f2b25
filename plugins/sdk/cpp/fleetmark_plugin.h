// The C++ side of the plugin protocol, version 1 (docs/plugin-protocol.md): parameters in, JSON lines out.
// Header only, needs nothing but the standard library and POSIX.
//
//   int main() {
//     fleetmark::plugin::Plugin plugin;
//     plugin.Metric("rate", Measure(plugin.Int("repetitions")), "1/s");
//     plugin.Done();
//   }
//
// A Plugin takes standard output for itself and points file descriptor 1 at standard error, so that a
// library that prints can't break the protocol. Make one, first thing in main, before threads start.
//
// Thread-safety: the parameter getters may be called from any thread; lines from one thread at a time.
// Errors: a getter whose parameter is missing or malformed ends the program with status 78 and says why; a
// line that can't be written ends it with status 1.
#ifndef FLEETMARK_PLUGINS_SDK_CPP_FLEETMARK_PLUGIN_H_
#define FLEETMARK_PLUGINS_SDK_CPP_FLEETMARK_PLUGIN_H_

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

#include "plugins/sdk/cpp/json_text.h"

namespace fleetmark::plugin {

using Labels = std::map<std::string, std::string>;

inline constexpr int kExitFailed = 1;
inline constexpr int kExitTryLater = 75;
inline constexpr int kExitSkipped = 77;
inline constexpr int kExitBadParameter = 78;

class Plugin {
 public:
  Plugin() : out_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
    if (out_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) Exit(kExitFailed, "no standard output");
  }
  ~Plugin() { close(out_); }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  // Parameters by their names in the manifest. A duration is a Float, in seconds; a size an Int, in bytes.
  std::string String(std::string_view name) const { return Parameter(name); }
  int64_t Int(std::string_view name) const { return Number<int64_t>(name, "a whole number"); }
  double Float(std::string_view name) const { return Number<double>(name, "a number"); }
  bool Bool(std::string_view name) const {
    const std::string text = Parameter(name);
    if (text != "true" && text != "false")
      BadParameter(name, Concat({"must be true or false, not '", text, "'"}));
    return text == "true";
  }

  // One value for each name and label set. A value that is not finite makes the run invalid.
  void Metric(std::string_view name, double value, std::string_view unit, const Labels& labels = {},
              std::string_view better = {}) {
    Value("metric", name, value, unit, labels, better);
  }
  // One repetition; the agent keeps the median.
  void Sample(std::string_view name, double value, std::string_view unit, const Labels& labels = {},
              std::string_view better = {}) {
    Value("sample", name, value, unit, labels, better);
  }
  void Progress(double fraction, std::string_view message = {}) {
    Write({R"({"type":"progress","fraction":)", JsonNumber(fraction), Field("message", message), "}"});
  }
  void Log(std::string_view message) { Text("log", message); }
  void Event(std::string_view message) { Text("event", message); }
  // The plugin's own check of its result failed: nothing of this run may be used.
  void Invalid(std::string_view message) { Text("invalid", message); }
  // The last line of a run that is complete, also of an invalid one.
  void Done() { Write({R"({"type":"done"})"}); }

  [[noreturn]] void Skip(std::string_view reason) const { Exit(kExitSkipped, reason); }
  [[noreturn]] void TryLater(std::string_view reason) const { Exit(kExitTryLater, reason); }
  [[noreturn]] void Fail(std::string_view reason) const { Exit(kExitFailed, reason); }
  [[noreturn]] void BadParameters(std::string_view reason) const { Exit(kExitBadParameter, reason); }
  [[noreturn]] void BadParameter(std::string_view name, std::string_view what) const {
    Exit(kExitBadParameter, Concat({"parameter '", name, "' ", what}));
  }

 private:
  std::string Parameter(std::string_view name) const {
    std::string variable = "FLEETMARK_PARAM_";
    for (const char c : name) variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    const char* text = std::getenv(variable.c_str());
    if (text == nullptr) BadParameter(name, Concat({"is not set (", variable, ")"}));
    return text;
  }

  template <typename T>
  T Number(std::string_view name, const char* what) const {
    const std::string text = Parameter(name);
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() ||
        !std::isfinite(static_cast<double>(value))) {
      BadParameter(name, Concat({"must be ", what, ", not '", text, "'"}));
    }
    return value;
  }

  void Value(std::string_view type, std::string_view name, double value, std::string_view unit,
             const Labels& labels, std::string_view better) {
    if (!std::isfinite(value)) return Invalid(Concat({name, " is not a finite number"}));
    std::string label_list;
    for (const auto& [label, text] : labels) {
      label_list += Concat({label_list.empty() ? "" : ",", JsonString(label), ":", JsonString(text)});
    }
    Write({R"({"type":)", JsonString(type), R"(,"name":)", JsonString(name), R"(,"value":)",
           JsonNumber(value), R"(,"unit":)", JsonString(unit), Field("better", better), R"(,"labels":{)",
           label_list, "}}"});
  }

  static std::string Field(std::string_view key, std::string_view text) {
    return text.empty() ? "" : Concat({",", JsonString(key), ":", JsonString(text)});
  }

  void Text(std::string_view type, std::string_view message) {
    Write({R"({"type":)", JsonString(type), R"(,"message":)", JsonString(message), "}"});
  }

  void Write(std::initializer_list<std::string_view> parts) const {
    const std::string line = Concat({Concat(parts), "\n"});
    for (std::string_view rest = line; !rest.empty();) {
      const ssize_t n = write(out_, rest.data(), rest.size());
      if (n < 0 && errno != EINTR) _exit(kExitFailed);
      if (n > 0) rest.remove_prefix(static_cast<size_t>(n));
    }
  }

  // The agent shows the last line of the log.
  [[noreturn]] static void Exit(int status, std::string_view reason) {
    std::fflush(stdout);
    std::fprintf(stderr, "%.*s\n", static_cast<int>(reason.size()), reason.data());
    std::exit(status);
  }

  int out_;
};

}  // namespace fleetmark::plugin

#endif  // FLEETMARK_PLUGINS_SDK_CPP_FLEETMARK_PLUGIN_H_
