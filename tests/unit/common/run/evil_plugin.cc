// A plugin that misbehaves on request: `evil_plugin MODE [ARGUMENT]`. What it starts has the same command
// line but for the mode, so that tests find it in /proc.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <string>

namespace {

void Say(const char* text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(99);
}

[[noreturn]] void Hang() {
  while (true) pause();
}

void IgnoreTerm() {
  for (int s : {SIGTERM, SIGINT, SIGHUP}) signal(s, SIG_IGN);
}

constexpr char kMetric[] = "{\"type\":\"metric\",\"name\":\"rate\",\"value\":12.5,\"unit\":\"GB/s\"}\n";
constexpr char kDone[] = "{\"type\":\"done\"}\n";

int Good() {
  Say(kMetric);
  Say(kDone);
  return 0;
}

// A daemon in the classic way, which keeps standard output and ignores SIGTERM.
void StartDaemon() {
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    setsid();
    IgnoreTerm();
    Hang();
  }
  wait(nullptr);
}

int Daemon() {
  StartDaemon();
  return Good();
}

int DaemonAndHang() {
  IgnoreTerm();
  for (int i = 0; i < 3; ++i) StartDaemon();
  Say("ready\n");
  Hang();
}

int Flood() {
  const std::string line(1000, 'x');
  while (true) Say((line + "\n").c_str());
}

int ManyLines() {
  for (int i = 0; i < 30000; ++i) Say("x\n");
  return 0;
}

int EndlessLine() {
  const std::string piece(4096, 'x');
  while (true) Say(piece.c_str());
}

int Binary() {
  for (int i = 0; i < 4096; ++i) {
    const char byte = static_cast<char>(i * 37 + i / 256);
    if (write(i % 2 == 0 ? STDOUT_FILENO : STDERR_FILENO, &byte, 1) < 0) return 99;
  }
  Say("\n");
  return Good();
}

// Never stops forking, up to a bound that the machine can bear.
int Forks() {
  IgnoreTerm();
  Say("ready\n");
  for (int generation = 0; generation < 6; ++generation) {
    for (int i = 0; i < 2; ++i) {
      if (fork() == 0) break;
    }
    setsid();
  }
  Hang();
}

int CloseAndSleep() {
  close(STDOUT_FILENO);
  close(STDERR_FILENO);
  Hang();
}

int StderrFlood() {
  for (int i = 0; i < 20000; ++i) fprintf(stderr, "line %d of a long log\n", i);
  return Good();
}

int Echo() {
  char buffer[65536];
  ssize_t n;
  while ((n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0) {
    if (write(STDOUT_FILENO, buffer, static_cast<size_t>(n)) < 0) return 99;
  }
  return 0;
}

int Environment() {
  for (char** entry = environ; *entry != nullptr; ++entry) printf("%s\n", *entry);
  char folder[4096];
  printf("cwd %s\n", getcwd(folder, sizeof folder));
  for (int fd = 3; fd < 256; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) printf("open descriptor %d\n", fd);
  }
  printf("session leader %d\n", getsid(0) == getpid());
  FILE* file = fopen("left_behind", "w");
  if (file == nullptr) return 99;
  fclose(file);
  return 0;
}

int KillReaper() {
  StartDaemon();
  Say("ready\n");
  kill(getppid(), SIGKILL);
  Hang();
}

int SignalGroupOfAll() {
  kill(0, SIGTERM);
  Hang();
}

int DieOf(int number) {
  signal(number, SIG_DFL);  // a sanitizer's own handler would make an exit of it
  raise(number);
  Hang();
}

int Term() {
  signal(SIGTERM, [](int) {
    Say("{\"type\":\"log\",\"message\":\"cleaning up\"}\n");
    _exit(0);
  });
  Say("ready\n");
  Hang();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const char* argument = argc > 2 ? argv[2] : "";
  const std::map<std::string, std::function<int()>> modes = {
      {"good", Good},
      {"hang", [] { return Hang(), 0; }},
      {"hang_term", [] { return IgnoreTerm(), Hang(), 0; }},
      {"daemon", Daemon},
      {"daemon_hang", DaemonAndHang},
      {"flood", Flood},
      {"many_lines", ManyLines},
      {"endless_line", EndlessLine},
      {"binary", Binary},
      {"forks", Forks},
      {"close", CloseAndSleep},
      {"stderr_flood", StderrFlood},
      {"echo", Echo},
      {"environment", Environment},
      {"kill_reaper", KillReaper},
      {"signal_group", SignalGroupOfAll},
      {"term", Term},
      {"exit", [&] { return atoi(argument); }},
      {"say", [&] { return Say(argument), Say("\n"), Say(kDone), 0; }},
      {"say_exit", [&] { return Say("the last words\n"), atoi(argument); }},
      {"signal", [&] { return DieOf(atoi(argument)); }},
      {"no_done", [] { return Say(kMetric), 0; }},
  };
  const auto found = modes.find(mode);
  return found == modes.end() ? 98 : found->second();
}
