#include "cli/commandline/completion_script.h"
#include "cli/commandline/declare.h"
#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

void AddDetect(CLI::App& app, Invocation& invocation) {
  auto o = std::make_shared<DetectOptions>();
  CLI::App* command =
      app.add_subcommand("detect", "What changed in the series that a file holds, or a stored one");
  CLI::App* source = command->add_option_group("series", "Where the series comes from");
  source->add_option("file", o->file,
                     "CSV (value, or time,value) or JSON, - for standard input; no collector is asked");
  source->add_option("--series", o->series,
                     "A stored series' number instead of a file; its newest 100,000 samples");
  source->require_option(1);
  command
      ->add_option("--budget", o->budget,
                   "False findings in 1,000 samples of an unchanged series; default 0.1")
      ->check(CLI::Range(1e-9, 10.0).description(""));
  Choose(
      command->add_option("--better", o->better, "higher or lower: only what is for the worse; default both"),
      {"higher", "lower", "both"});
  command->callback([&invocation, o] {
    if (!o->series.empty()) {
      invocation.session_command = [o](Session& session) { return DetectInStore(*o, session); };
      return;
    }
    invocation.local_command = [o](const Output& output) { return DetectInFile(*o, output); };
  });
}

void AddParse(CLI::App& app, Invocation& invocation) {
  auto o = std::make_shared<ParseOptions>();
  CLI::App* command =
      app.add_subcommand("parse", "Metrics out of what another tool printed; asks no collector");
  auto list = std::make_shared<bool>(false);
  CLI::Option* listed = command->add_flag("--list", *list, "Lists the readers");
  CLI::Option* reader =
      command->add_option("--reader", o->reader, "Which reader; `fleetmark parse --list` names them");
  CLI::Option* file = command->add_option("file", o->file, "What the tool printed; - reads standard input");
  command->add_option("--options", o->options, "The reader's options: a JSON object, or @FILE with one")
      ->needs(reader);
  listed->excludes(reader)->excludes(file);
  command->callback([&invocation, o, list] {
    invocation.local_command = [o, list](const Output& output) {
      return *list ? ListReaders(output) : ParseOutput(*o, output);
    };
  });
}

void AddPlugin(CLI::App& app, Invocation& invocation) {
  CLI::App* plugin = app.add_subcommand("plugin", "Write and check plugins");
  plugin->require_subcommand(1);

  auto made = std::make_shared<PluginNewOptions>();
  CLI::App* command = plugin->add_subcommand("new", "Write a complete plugin to begin with");
  command->add_option("name", made->name, "Its name: a-z, 0-9 and _")->required();
  Choose(command->add_option("--lang", made->language, "In which language; default sh"),
         {"sh", "python", "cpp"});
  command->add_option("--dir", made->folder, "Where its folder is made; default here");
  command->callback([&invocation, made] {
    invocation.local_command = [made](const Output& output) { return MakePlugin(*made, output); };
  });

  auto checked = std::make_shared<PluginCheckOptions>();
  command = plugin->add_subcommand("check", "Check a plugin's folder and run it once");
  command->add_option("folder", checked->folder, "The plugin's folder")->required();
  command->callback([&invocation, checked] {
    invocation.local_command = [checked](const Output& output) {
      return CheckPluginFolder(*checked, output, RealClock());
    };
  });
}

void AddCompletion(CLI::App& app, Invocation& invocation) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "The script by which a shell completes command lines");
  Choose(command->add_option("shell", *shell, "Which shell"), {"bash", "zsh", "fish"})->required();
  command->footer(
      "Names of nodes, benchmarks, suites and the like are asked from the collector, at most a second long.\n"
      "\n"
      "For this shell, or for good in the shell's start file:\n"
      "  bash  source <(fleetmark completion bash)\n"
      "  zsh   source <(fleetmark completion zsh)     (after compinit)\n"
      "  fish  fleetmark completion fish | source");
  command->callback([&invocation, shell] {
    invocation.local_command = [shell](const Output& output) -> CommandResult {
      FM_ASSIGN_OR_RETURN(const std::string script, CompletionScript(*shell));
      output.Raw(script);
      return kExitOk;
    };
  });
}

void AddVersion(CLI::App& app, Invocation& invocation) {
  app.add_subcommand("version", "This program's version")->callback([&invocation] {
    invocation.local_command = [](const Output& output) -> CommandResult {
      output.Raw("fleetmark " FM_VERSION "\n");
      return kExitOk;
    };
  });
}

}  // namespace

void DeclareTools(CLI::App& app, Invocation& invocation) {
  AddDetect(app, invocation);
  AddParse(app, invocation);
  AddPlugin(app, invocation);
  AddCompletion(app, invocation);
  AddVersion(app, invocation);
}

}  // namespace fleetmark::cli
