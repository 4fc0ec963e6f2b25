#include "cli/commandline/completion_script.h"

#include "absl/strings/str_cat.h"

namespace fleetmark::cli {
namespace {

// bash cuts words at = and :, which must be put together again, and cut from the answers.
constexpr const char* kBash = R"(# bash completion of fleetmark: source it, or keep it as
# /usr/share/bash-completion/completions/fleetmark.
_fleetmark() {
  local line=${COMP_LINE:0:COMP_POINT} word answer value cut
  local -a words=() given=()
  # The words as they were typed, without bash's cuts.
  read -r -a given <<<"$line"
  words=("${given[@]:1}")
  [[ $line == *[[:space:]] ]] && words+=("")
  word=${words[${#words[@]} - 1]-}
  cut=
  [[ $word == *[=:]* ]] && cut=${word%"${word##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r answer; do
    case $answer in
      :files)
        compopt -o filenames 2>/dev/null
        while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "${word#"$cut"}")
        ;;
      :folders)
        compopt -o filenames 2>/dev/null
        while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -d -- "${word#"$cut"}")
        ;;
      *)
        value=${answer%%$'\t'*}
        printf -v value %q "${value#"$cut"}"
        COMPREPLY+=("$value")
        ;;
    esac
  done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
}
complete -F _fleetmark fleetmark
)";

constexpr const char* kZsh = R"(#compdef fleetmark
# zsh completion of fleetmark: keep it as _fleetmark in a folder of $fpath, or source it after compinit.
_fleetmark() {
  local answer value summary
  local -a candidates
  for answer in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $answer in
      '') ;;
      :files) _files ;;
      :folders) _files -/ ;;
      *)
        value=${answer%%$'\t'*}
        summary=${answer#*$'\t'}
        candidates+=("${value//:/\\:}:$summary")
        ;;
    esac
  done
  (( ${#candidates} )) && _describe -t fleetmark fleetmark candidates
}
if [[ ${funcstack[1]-} == _fleetmark ]]; then
  _fleetmark "$@"
else
  compdef _fleetmark fleetmark
fi
)";

constexpr const char* kFish =
    R"(# fish completion of fleetmark: keep it as ~/.config/fish/completions/fleetmark.fish, or source it.
function __fleetmark_complete
    set -l words (commandline -opc) (commandline -ct)
    for answer in ($words[1] __complete $words[2..-1] 2>/dev/null)
        switch $answer
            case :files
                __fish_complete_path (commandline -ct)
            case :folders
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $answer
        end
    end
end
complete -c fleetmark -f -a '(__fleetmark_complete)'
)";

}  // namespace

absl::StatusOr<std::string> CompletionScript(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return absl::InvalidArgumentError(absl::StrCat("'", shell, "': choose from bash, zsh, fish"));
}

}  // namespace fleetmark::cli
