#include "cli/commands/plugin_templates.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace fleetmark::cli {
namespace {

// NAME, PROGRAM, METRIC and the like are replaced.
constexpr std::string_view kManifest =
    R"(# What this plugin is, needs and gives: docs/plugin-protocol.md, section 1.
api: 1
name: NAME
version: "1"
summary: SUMMARY
command: [./PROGRAM]
resources:
  cpu: shared
timeout: 2m
params:
  size:
    type: bytes
    default: 64MiB
    min: 1MiB
    max: 1GiB
    summary: how much is worked on in one repetition
  repetitions:
    type: int
    default: 10
    min: 3
    max: 1000
    summary: how often it is measured; the median is the result
metrics:
  - name: METRIC
    unit: UNIT
    better: higher
    noise: 0.05
    summary: METRIC_SUMMARY
self_check:
  params: {size: 16MiB, repetitions: 3}
  timeout: 30s
)";

constexpr std::string_view kShell = R"(#!/bin/sh
# Measures how fast one core computes SHA-256.
#
# Parameters come in FLEETMARK_PARAM_*; results go out as JSON lines; what is written to standard error is
# the run's log.
set -eu

expected=
i=0
while [ "$i" -lt "$FLEETMARK_PARAM_REPETITIONS" ]; do
  begin=$(date +%s%N)
  digest=$(head -c "$FLEETMARK_PARAM_SIZE" /dev/zero | sha256sum)
  end=$(date +%s%N)
  i=$((i + 1))

  # A benchmark checks its result: a wrong answer must not count as a fast one.
  expected=${expected:-$digest}
  if [ "$digest" != "$expected" ]; then
    echo '{"type":"invalid","message":"two digests of the same bytes differ"}'
    break
  fi

  rate=$(awk -v bytes="$FLEETMARK_PARAM_SIZE" -v ns=$((end - begin)) 'BEGIN { printf "%.3f", bytes * 1e3 / ns }')
  done=$(awk -v i="$i" -v n="$FLEETMARK_PARAM_REPETITIONS" 'BEGIN { printf "%.3f", i / n }')
  echo "{\"type\":\"sample\",\"name\":\"sha256_rate\",\"value\":$rate,\"unit\":\"MB/s\"}"
  echo "{\"type\":\"progress\",\"fraction\":$done,\"message\":\"repetition $i\"}"
done

echo '{"type":"done"}'
)";

constexpr std::string_view kPython = R"(#!/usr/bin/env python3
"""Measures how fast one core computes SHA-256.

One JSON object comes on standard input; results go out as JSON lines; what is written to standard error
is the run's log.
"""
import hashlib
import json
import sys
import time


def tell(kind, **fields):
    print(json.dumps({"type": kind, **fields}), flush=True)


def main():
    params = json.load(sys.stdin)["params"]
    data = bytes(int(params["size"]))
    repetitions = int(params["repetitions"])
    expected = None
    for i in range(repetitions):
        begin = time.perf_counter()
        digest = hashlib.sha256(data).hexdigest()
        seconds = time.perf_counter() - begin
        # A benchmark checks its result: a wrong answer must not count as a fast one.
        expected = expected or digest
        if digest != expected:
            tell("invalid", message="two digests of the same bytes differ")
            break
        tell("sample", name="sha256_rate", value=len(data) / seconds / 1e6, unit="MB/s")
        tell("progress", fraction=(i + 1) / repetitions, message=f"repetition {i + 1}")
    tell("done")


if __name__ == "__main__":
    main()
)";

constexpr std::string_view kCpp = R"(// Measures how fast one core copies memory.
//
// Parameters come in FLEETMARK_PARAM_*; results go out as JSON lines; what is written to standard error is
// the run's log.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

// 78 is the exit status for wrong parameters.
long Parameter(const char* name) {
  const char* text = std::getenv(name);
  const long value = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  if (value > 0) return value;
  std::fprintf(stderr, "%s must be a whole number above 0\n", name);
  std::exit(78);
}

}  // namespace

int main() {
  const auto size = static_cast<std::size_t>(Parameter("FLEETMARK_PARAM_SIZE"));
  const long repetitions = Parameter("FLEETMARK_PARAM_REPETITIONS");
  std::vector<char> from(size, 'f');
  std::vector<char> to(size, 't');
  for (long i = 1; i <= repetitions; ++i) {
    from[size / 2] = static_cast<char>(i);
    const auto begin = std::chrono::steady_clock::now();
    std::memcpy(to.data(), from.data(), size);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    // A benchmark checks its result: a wrong answer must not count as a fast one.
    if (to != from) {
      std::puts("{\"type\":\"invalid\",\"message\":\"the copy differs from what was copied\"}");
      break;
    }
    const double rate = static_cast<double>(size) / seconds.count() / 1e9;
    std::printf("{\"type\":\"sample\",\"name\":\"copy_rate\",\"value\":%.6f,\"unit\":\"GB/s\"}\n", rate);
    std::printf("{\"type\":\"progress\",\"fraction\":%.3f}\n", static_cast<double>(i) / static_cast<double>(repetitions));
    std::fflush(stdout);
  }
  std::puts("{\"type\":\"done\"}");
}
)";

constexpr std::string_view kMakefile = R"(CXXFLAGS ?= -O2 -std=c++20 -Wall -Wextra

NAME: NAME.cc
	$(CXX) $(CXXFLAGS) -o $@ $<
)";

// What the manifest says of one language's program.
struct Subject {
  std::string_view suffix;  // of the program's name
  std::string_view metric, unit, summary, metric_summary;
};

constexpr Subject kShellHash = {".sh", "sha256_rate", "MB/s", "SHA-256 on one core",
                                "bytes hashed per second"};
constexpr Subject kPythonHash = {".py", "sha256_rate", "MB/s", "SHA-256 on one core",
                                 "bytes hashed per second"};
constexpr Subject kCopy = {"", "copy_rate", "GB/s", "memory copy on one core", "bytes copied per second"};

std::string Manifest(const std::string& name, const Subject& subject) {
  const auto text = [](std::string_view s) { return absl::string_view(s.data(), s.size()); };
  return absl::StrReplaceAll(text(kManifest), {{"NAME", name},
                                               {"PROGRAM", absl::StrCat(name, text(subject.suffix))},
                                               {"SUMMARY", text(subject.summary)},
                                               {"METRIC_SUMMARY", text(subject.metric_summary)},
                                               {"METRIC", text(subject.metric)},
                                               {"UNIT", text(subject.unit)}});
}

}  // namespace

absl::StatusOr<std::vector<PluginFile>> PluginFiles(const std::string& name, const std::string& language) {
  if (language == "sh") {
    return std::vector<PluginFile>{{"manifest.yaml", Manifest(name, kShellHash)},
                                   {name + ".sh", std::string(kShell), true}};
  }
  if (language == "python") {
    return std::vector<PluginFile>{{"manifest.yaml", Manifest(name, kPythonHash)},
                                   {name + ".py", std::string(kPython), true}};
  }
  if (language == "cpp") {
    const std::string makefile = absl::StrReplaceAll(std::string(kMakefile), {{"NAME", name}});
    return std::vector<PluginFile>{
        {"manifest.yaml", Manifest(name, kCopy)}, {name + ".cc", std::string(kCpp)}, {"Makefile", makefile}};
  }
  return absl::InvalidArgumentError(absl::StrCat("--lang ", language, ": choose from sh, python, cpp"));
}

}  // namespace fleetmark::cli
