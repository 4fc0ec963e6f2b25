# The POSIX shell side of the plugin protocol, version 1 (docs/plugin-protocol.md).
#
#   . "$FLEETMARK_PLUGIN_DIR/fleetmark.sh"
#   fm_metric rate "$(measure "$FLEETMARK_PARAM_REPETITIONS")" 1/s
#   fm_done
#
# Sourcing it moves the protocol to file descriptor 9 and points standard output at standard error, so that
# programs that print can't break the protocol. Text must be UTF-8. Copy this file into the plugin's folder.

exec 9>&1 1>&2

# fm_json TEXT: TEXT as a JSON string. Control characters other than tab and newline become spaces, and
# newlines at the end are dropped.
fm_json() {
  printf '"%s"' "$(printf '%s\n' "$1" | LC_ALL=C tr '\001-\010\013-\037' ' ' |
    LC_ALL=C sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e "s/$fm_tab/\\\\t/g" |
    LC_ALL=C awk '{ printf "%s%s", separator, $0; separator = "\\n" }')"
}
fm_tab=$(printf '\t')

# fm_metric NAME VALUE UNIT [LABEL=TEXT...]: one value for each name and label set.
fm_metric() { fm_value_line metric "$@"; }

# fm_sample NAME VALUE UNIT [LABEL=TEXT...]: one repetition; the agent keeps the median.
fm_sample() { fm_value_line sample "$@"; }

# fm_progress FRACTION [MESSAGE]
fm_progress() { fm_line "\"type\":\"progress\",\"fraction\":$1,\"message\":$(fm_json "${2-}")"; }

# fm_log, fm_event, fm_invalid MESSAGE
fm_log() { fm_line "\"type\":\"log\",\"message\":$(fm_json "$1")"; }
fm_event() { fm_line "\"type\":\"event\",\"message\":$(fm_json "$1")"; }
fm_invalid() { fm_line "\"type\":\"invalid\",\"message\":$(fm_json "$1")"; }

# fm_done: the last line of a run that is complete, also of an invalid one.
fm_done() { fm_line '"type":"done"'; }

# fm_skip, fm_try_later, fm_fail REASON and fm_bad_parameter NAME REASON end the plugin.
fm_skip() { printf '%s\n' "$1" >&2; exit 77; }
fm_try_later() { printf '%s\n' "$1" >&2; exit 75; }
fm_fail() { printf '%s\n' "$1" >&2; exit 1; }
fm_bad_parameter() { printf "parameter '%s' %s\n" "$1" "$2" >&2; exit 78; }

fm_line() { printf '{%s}\n' "$1" >&9; }

fm_value_line() {
  fm_kind=$1 fm_name=$2 fm_number=$3 fm_unit=$4
  shift 4
  if ! printf '%s\n' "$fm_number" | grep -Eqx -e '-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?'; then
    fm_invalid "$fm_name: '$fm_number' is not a number"
    return
  fi
  fm_labels=
  for fm_label in "$@"; do
    fm_labels="$fm_labels${fm_labels:+,}$(fm_json "${fm_label%%=*}"):$(fm_json "${fm_label#*=}")"
  done
  fm_line "\"type\":\"$fm_kind\",\"name\":$(fm_json "$fm_name"),\"value\":$fm_number,\"unit\":$(
    fm_json "$fm_unit"),\"labels\":{$fm_labels}"
}
