#include "agent/gpu/gpu_reader.h"

#include <stdlib.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/status.h"

namespace fleetmark::agent {
namespace {

constexpr RunLimits kLimits = {.line_bytes = 4096, .lines = 50'000, .total_bytes = 4 << 20};
constexpr size_t kMaxGpus = 128;
constexpr size_t kMaxFactsPerGpu = 64;
constexpr size_t kMaxErrorBytes = 512;

absl::Status Malformed(std::string_view line) {
  return absl::InternalError(
      absl::StrCat("the GPU probe wrote '", std::string(line.substr(0, 80)), "', which makes no sense"));
}

bool ReadNumber(const std::string& text, double factor, std::optional<double>* number) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value >= -1e9 && value <= 1e9)) return false;
  *number = value * factor;
  return true;
}

bool ReadProcess(const std::string& text, GpuState* state) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 1));
  GpuProcess process;
  process.name = parts.second;
  if (!absl::SimpleAtoi(parts.first, &process.pid) || process.pid < 0) return false;
  state->processes.push_back(std::move(process));
  return true;
}

// Unknown keys are a newer probe's: left out.
bool ReadLine(const std::string& key, const std::string& value, GpuState* state) {
  absl::string_view fact = key;
  if (absl::ConsumePrefix(&fact, "fact.")) {
    if (state->facts.size() < kMaxFactsPerGpu) state->facts.emplace(std::string(fact), value);
  } else if (key == "vendor") {
    state->gpu.vendor = value;
  } else if (key == "uuid") {
    state->gpu.uuid = value;
  } else if (key == "error") {
    state->error = value;
  } else if (key == "throttle") {
    state->throttle_reasons.push_back(value);
  } else if (key == "processes") {
    state->processes_known = value == "known";
  } else if (key == "process") {
    return ReadProcess(value, state);
  } else if (key == "utilization_percent") {
    return ReadNumber(value, 0.01, &state->utilization);
  } else if (key == "temperature_c") {
    return ReadNumber(value, 1, &state->temperature_c);
  } else if (key == "clock_mhz") {
    return ReadNumber(value, 1, &state->clock_mhz);
  }
  return true;
}

absl::Status Failure(const RunOutcome& outcome, const std::string& said) {
  switch (outcome.end) {
    case RunEnd::kTimedOut:
      return absl::DeadlineExceededError(absl::StrCat("the GPU probe did not answer within ",
                                                      absl::FormatDuration(outcome.elapsed),
                                                      ": the driver hangs"));
    case RunEnd::kCancelled:
      return absl::CancelledError("the reading of the GPUs was cancelled");
    case RunEnd::kOutputTooLong:
    case RunEnd::kLineTooLong:
      return absl::InternalError("the GPU probe wrote too much");
    case RunEnd::kExited:
      return absl::UnavailableError(
          absl::StrCat("the GPU probe failed: ", said.empty() ? "no reason" : said));
    default:
      return absl::UnavailableError(absl::StrCat("the GPU probe died of signal ", outcome.signal));
  }
}

}  // namespace

absl::StatusOr<std::vector<GpuState>> ParseProbe(const std::vector<std::string>& lines) {
  std::vector<GpuState> gpus;
  bool ended = false;
  for (const std::string& line : lines) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits('=', 1));
    const auto& [key, value] = parts;
    if (ended || !absl::StrContains(line, '=')) return Malformed(line);
    if (key == "end") {
      ended = value == absl::StrCat(gpus.size());
      if (!ended) return Malformed(line);
    } else if (key == "gpu") {
      if (gpus.size() >= kMaxGpus) return absl::InternalError("the GPU probe tells of too many GPUs");
      GpuState& state = gpus.emplace_back();
      state.gpu.pci_address = value;
      state.gpu.name = absl::StrCat("gpu", gpus.size() - 1);
    } else if (gpus.empty() || !ReadLine(key, value, &gpus.back())) {
      return Malformed(line);
    }
  }
  if (!ended) return absl::InternalError("the GPU probe's answer is cut");
  return gpus;
}

absl::StatusOr<std::vector<GpuState>> GpuReader::Read(CancelToken& cancel) {
  RunSpec spec;
  spec.command = options_.command;
  spec.work_dir = "/";
  spec.environment = options_.environment;
  spec.timeout = options_.timeout;
  spec.term_grace = absl::Milliseconds(200);
  spec.limits = kLimits;
  std::vector<std::string> lines;
  std::string said;
  const auto on_line = [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  };
  const auto on_log = [&](std::string_view line) {
    if (said.size() < kMaxErrorBytes) said = std::string(line.substr(0, kMaxErrorBytes));
  };
  FM_ASSIGN_OR_RETURN(const RunOutcome outcome, runner_.Run(spec, on_line, on_log, cancel));
  if (outcome.end != RunEnd::kExited || outcome.exit_status != 0) return Failure(outcome, said);
  return ParseProbe(lines);
}

absl::StatusOr<std::vector<GpuState>> GpuReader::Read() {
  CancelToken cancel;
  return Read(cancel);
}

GpuReader::Options ProbeBeside(const std::string& folder) {
  GpuReader::Options options;
  options.command = {absl::StrCat(folder, "/fleetmark-gpu-probe")};
  options.environment["PATH"] = "/usr/bin:/bin";
  if (const char* path = getenv("LD_LIBRARY_PATH")) options.environment["LD_LIBRARY_PATH"] = path;
  return options;
}

}  // namespace fleetmark::agent
