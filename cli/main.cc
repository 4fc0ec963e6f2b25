// fleetmark, the command line: reads the arguments, connects where the command needs it, and turns an error
// into one line and an exit status.
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commandline/command_line.h"
#include "cli/commandline/completion.h"
#include "cli/commandline/completion_script.h"
#include "cli/commandline/completion_values.h"
#include "cli/commandline/help_page.h"
#include "cli/commandline/man_page.h"
#include "common/base/signals.h"
#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

constexpr const char* kManCommand = "__man";  // the build makes the manual page by it

Format FormatNamed(const std::string& name) {
  if (name == "wide") return Format::kWide;
  if (name == "json") return Format::kJson;
  return name == "csv" ? Format::kCsv : Format::kTable;
}

Output::Options OutputOptions(const Invocation& invocation) {
  Output::Options options;
  options.format = FormatNamed(invocation.format);
  const char* no_color = getenv("NO_COLOR");
  const char* terminal = getenv("TERM");
  const bool dumb = terminal != nullptr && std::string(terminal) == "dumb";
  const bool wanted = !invocation.no_color && (no_color == nullptr || *no_color == '\0');
  options.color = wanted && !dumb && isatty(STDOUT_FILENO) == 1;
  options.live = !dumb && isatty(STDERR_FILENO) == 1;
  winsize size = {};
  const bool known =
      ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  if (known && size.ws_col > 0) options.columns = size.ws_col;
  return options;
}

ExitCode PrintError(const absl::Status& status) {
  std::cerr << "fleetmark: " << Message(status) << "\n";
  return ExitCodeOf(status);
}

ExitCode RunOnce(const SessionCommand& command, Session& session) {
  const CommandResult result = command(session);
  return result.ok() ? *result : PrintError(result.status());
}

// Until Ctrl-C. Errors don't end it: a collector that restarts comes back.
ExitCode Watch(const Invocation& invocation, Session& session) {
  while (true) {
    if (isatty(STDOUT_FILENO) == 1) std::cout << "\x1b[H\x1b[2J" << std::flush;
    RunOnce(invocation.session_command, session);
    fflush(stdout);
    if (WaitForSignal({SIGINT, SIGTERM}, absl::Seconds(invocation.watch_seconds)) != 0) return kExitOk;
  }
}

ExitCode Execute(const Invocation& invocation) {
  const Output output(OutputOptions(invocation));
  if (invocation.local_command) {
    const CommandResult result = invocation.local_command(output);
    return result.ok() ? *result : PrintError(result.status());
  }
  const bool watch = invocation.watch_seconds > 0;
  // Before the connection, whose threads must inherit this.
  if (watch || invocation.handles_signals) BlockSignals({SIGINT, SIGTERM});
  const auto client = Client::Connect(invocation.client, RealClock());
  if (!client.ok()) return PrintError(client.status());
  Session session{**client, output, RealClock(), invocation.client.address};
  return watch ? Watch(invocation, session) : RunOnce(invocation.session_command, session);
}

// Commands of the build and of the shells, which stand in no help.
bool HiddenCommand(const CommandLine& command_line, int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == kManCommand) {
    std::cout << ManPage(command_line.Describe(), FM_VERSION);
    return true;
  }
  if (command != kCompleteCommand) return false;
  const std::vector<std::string> words(argv + 2, argv + argc);
  Client::Options connection = command_line.invocation().client;
  if (const char* address = getenv("FLEETMARK_COLLECTOR"); address != nullptr) connection.address = address;
  std::cout << AsLines(Complete(command_line.Describe(), words, [&](const ValueRequest& request) {
    return CompletionValues(request, connection, RealClock());
  }));
  return true;
}

int Main(int argc, char** argv) {
  CommandLine command_line;
  if (HiddenCommand(command_line, argc, argv)) return kExitOk;
  const CommandLine::Reading reading = command_line.Read(argc, argv);
  switch (reading.kind) {
    case CommandLine::Reading::Kind::kCommand:
      return Execute(command_line.invocation());
    case CommandLine::Reading::Kind::kText:
      std::cout << reading.text;
      return kExitOk;
    case CommandLine::Reading::Kind::kFault:
      break;
  }
  std::cerr << "fleetmark: " << reading.text << "\n`fleetmark --help` lists the commands, "
            << "`fleetmark COMMAND --help` the options of one\n";
  return kExitUsage;
}

}  // namespace
}  // namespace fleetmark::cli

int main(int argc, char** argv) { return fleetmark::cli::Main(argc, argv); }
