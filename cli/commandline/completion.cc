#include "cli/commandline/completion.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "cli/output/text.h"

namespace fleetmark::cli {
namespace {

std::string WithoutDashes(std::string_view name) {
  return std::string(name.substr(std::min(name.size(), name.find_first_not_of('-'))));
}

// Goes along the words before the one that is being written.
class Reader {
 public:
  explicit Reader(const CommandInfo& program) : path_{&program} {}

  void Word(const std::string& word) {
    if (awaits_ != nullptr) {
      Give(*awaits_, word);
      awaits_ = nullptr;
    } else if (!only_arguments_ && word == "--") {
      only_arguments_ = true;
    } else if (!only_arguments_ && word.size() > 1 && word[0] == '-') {
      Option(word);
    } else if (const CommandInfo* command = FindCommand(current().commands, word);
               command != nullptr && arguments_ == 0) {
      path_.push_back(command);
    } else if (const OptionInfo* argument = NextArgument(); argument != nullptr) {
      Give(*argument, word);
      ++arguments_;
    }
  }

  const CommandInfo& current() const { return *path_.back(); }
  const OptionInfo* awaits() const { return awaits_; }
  bool only_arguments() const { return only_arguments_; }
  bool in_arguments() const { return arguments_ > 0; }
  const std::vector<const CommandInfo*>& path() const { return path_; }
  const std::map<std::string, std::string>& given() const { return given_; }

  const OptionInfo* NextArgument() const {
    const auto& arguments = current().arguments;
    if (arguments_ < arguments.size()) return &arguments[arguments_];
    return !arguments.empty() && arguments.back().repeated ? &arguments.back() : nullptr;
  }

  // An option of the command or of those above it.
  const OptionInfo* Find(std::string_view name) const {
    for (const CommandInfo* command : path_) {
      if (const OptionInfo* option = FindOption(command->options, name); option != nullptr) return option;
    }
    return nullptr;
  }

 private:
  void Option(const std::string& word) {
    const size_t equals = word.find('=');
    const OptionInfo* option = Find(word.substr(0, equals));
    if (option == nullptr || option->value.empty()) return;
    if (equals == std::string::npos) {
      awaits_ = option;
    } else {
      Give(*option, word.substr(equals + 1));
    }
  }

  void Give(const OptionInfo& option, const std::string& value) {
    given_[WithoutDashes(option.names.back())] = value;
  }

  std::vector<const CommandInfo*> path_;
  const OptionInfo* awaits_ = nullptr;
  size_t arguments_ = 0;
  bool only_arguments_ = false;
  std::map<std::string, std::string> given_;
};

void AddIfBegins(const std::string& prefix, Candidate candidate, Completion* completion) {
  if (absl::StartsWith(candidate.value, prefix)) completion->candidates.push_back(std::move(candidate));
}

// `before` stands in front of each value, as in --node=.
void AddValues(const OptionInfo& option, const Reader& reader, const std::string& before,
               const std::string& prefix, const ValueSource& values, Completion* completion) {
  if (option.value == "FILE" || option.value == "FOLDER") {
    (option.value == "FILE" ? completion->files : completion->folders) = true;
    return;
  }
  const std::vector<std::string> choices = Choices(option.value);
  for (const std::string& choice : choices) AddIfBegins(before + prefix, {before + choice, ""}, completion);
  if (!choices.empty()) return;
  for (Candidate& candidate : values({option.value, reader.given()})) {
    AddIfBegins(before + prefix, {before + candidate.value, candidate.summary}, completion);
  }
}

void AddOptions(const Reader& reader, const std::string& prefix, Completion* completion) {
  for (auto it = reader.path().rbegin(); it != reader.path().rend(); ++it) {
    for (const OptionInfo& option : (*it)->options) {
      if (!option.repeated && reader.given().count(WithoutDashes(option.names.back())) != 0) continue;
      AddIfBegins(prefix, {option.names.back(), option.summary}, completion);
    }
  }
}

}  // namespace

Completion Complete(const CommandInfo& program, const std::vector<std::string>& words,
                    const ValueSource& values) {
  Completion completion;
  Reader reader(program);
  for (size_t i = 0; i + 1 < words.size(); ++i) reader.Word(words[i]);
  const std::string last = words.empty() ? "" : words.back();
  if (reader.awaits() != nullptr) {
    AddValues(*reader.awaits(), reader, "", last, values, &completion);
    return completion;
  }
  if (!reader.only_arguments() && absl::StartsWith(last, "-")) {
    const size_t equals = last.find('=');
    if (equals == std::string::npos) {
      AddOptions(reader, last, &completion);
    } else if (const OptionInfo* option = reader.Find(last.substr(0, equals)); option != nullptr) {
      AddValues(*option, reader, last.substr(0, equals + 1), last.substr(equals + 1), values, &completion);
    }
    return completion;
  }
  if (!reader.in_arguments()) {
    for (const CommandInfo& command : reader.current().commands) {
      AddIfBegins(last, {command.name, command.summary}, &completion);
    }
  }
  if (const OptionInfo* argument = reader.NextArgument(); argument != nullptr) {
    AddValues(*argument, reader, "", last, values, &completion);
  }
  return completion;
}

std::string AsLines(const Completion& completion) {
  std::string lines;
  for (const Candidate& candidate : completion.candidates) {
    const std::string value = Printable(candidate.value);
    if (value != candidate.value) continue;  // a shell could not give it back
    absl::StrAppend(&lines, value, "\t", Printable(candidate.summary), "\n");
  }
  if (completion.files) lines += ":files\n";
  if (completion.folders) lines += ":folders\n";
  return lines;
}

}  // namespace fleetmark::cli
