#include "common/run/plugin_run.h"

#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/util/json_util.h"

#include "common/base/status.h"
#include "common/model/limits.h"
#include "common/run/log_tail.h"
#include "common/run/run_recorder.h"
#include "common/run/work_folder.h"
#include "fleetmark/v1/plugin.pb.h"

namespace fleetmark {
namespace {

constexpr int kApi = 1;
constexpr int kMaxCpus = 1 << 14;

std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  cpu_set_t* set = CPU_ALLOC(kMaxCpus);
  if (set == nullptr) return cpus;
  const size_t size = CPU_ALLOC_SIZE(kMaxCpus);
  if (sched_getaffinity(0, size, set) == 0) {
    for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), size, set)) cpus.push_back(cpu);
    }
  }
  CPU_FREE(set);
  return cpus;
}

// "0-3,8", as the kernel writes it.
std::string CpuRanges(const std::vector<int>& cpus) {
  std::vector<std::string> ranges;
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    ranges.push_back(last == i ? absl::StrCat(cpus[i]) : absl::StrCat(cpus[i], "-", cpus[last]));
    i = last + 1;
  }
  return absl::StrJoin(ranges, ",");
}

std::string InputJson(const PluginRunSpec& spec, const std::vector<int>& cpus, const std::string& work_dir,
                      int64_t deadline_unix_ns) {
  v1::PluginInput input;
  input.set_api(kApi);
  input.set_run_id(spec.run_id);
  input.set_benchmark(spec.benchmark);
  *input.mutable_params() = spec.params.values;
  for (const std::string& device : spec.devices) input.add_devices(device);
  for (int cpu : cpus) input.add_cpus(cpu);
  input.set_work_dir(work_dir);
  input.set_deadline_unix_ns(deadline_unix_ns);
  for (const std::string& peer : spec.peers) input.add_peers(peer);
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  // Fails only for texts that are not UTF-8, which ResolveParams and the configuration rule out.
  if (!google::protobuf::util::MessageToJsonString(input, &json, options).ok()) json = "{}";
  return json + "\n";
}

std::map<std::string, std::string> Environment(const PluginRunSpec& spec, const std::vector<int>& cpus,
                                               const std::string& work_dir, int64_t deadline_unix_ns) {
  std::map<std::string, std::string> environment = spec.params.environment;
  environment["FLEETMARK_API"] = absl::StrCat(kApi);
  environment["FLEETMARK_RUN_ID"] = spec.run_id;
  environment["FLEETMARK_BENCHMARK"] = spec.benchmark;
  environment["FLEETMARK_WORK_DIR"] = work_dir;
  environment["FLEETMARK_DEADLINE_UNIX_NS"] = absl::StrCat(deadline_unix_ns);
  environment["FLEETMARK_CPUS"] = absl::StrJoin(cpus, ",");
  environment["FLEETMARK_DEVICES"] = absl::StrJoin(spec.devices, ",");
  environment["FLEETMARK_PLUGIN_DIR"] = spec.plugin.folder;
  environment["PATH"] = kPluginPath;
  environment["HOME"] = work_dir;
  environment["TMPDIR"] = work_dir;
  // Else Python would write beside a plugin's modules, and the plugin's files would have changed.
  environment["PYTHONDONTWRITEBYTECODE"] = "1";
  environment["LANG"] = "C.UTF-8";
  const char* time_zone = getenv("TZ");
  environment["TZ"] = time_zone != nullptr ? time_zone : "UTC";
  return environment;
}

RunSpec MakeRunSpec(const PluginRunSpec& spec, absl::Duration timeout, const std::vector<int>& cpus,
                    const std::string& work_dir, absl::Time now) {
  const int64_t deadline_unix_ns = absl::ToUnixNanos(now + timeout);
  RunSpec run;
  run.command = spec.plugin.manifest.command;
  run.command.front() = spec.plugin.program;
  run.work_dir = work_dir;
  run.environment = Environment(spec, cpus, work_dir, deadline_unix_ns);
  run.mark = absl::StrCat("FLEETMARK_RUN_ID=", spec.run_id);
  run.stdin_text = InputJson(spec, cpus, work_dir, deadline_unix_ns);
  run.timeout = timeout;
  run.term_grace = spec.term_grace;
  run.nice = spec.nice;
  run.user = spec.user;
  run.io_class = spec.io_class;
  run.bounds = spec.bounds;
  run.name = spec.run_id;
  run.cpus = spec.cpus;
  run.on_started = spec.on_started;
  return run;
}

void NotStarted(const absl::Status& status, v1::Run& run) {
  run.set_outcome(v1::OUTCOME_FAILED);
  run.set_ending(v1::ENDING_NOT_STARTED);
  run.set_reason(ClipUtf8(absl::StrCat("not started: ", Message(status)), limits::kReasonBytes));
  run.set_started_unix_ns(0);
}

void AddCondition(const char* name, const std::string& value, v1::Run& run) {
  if (!value.empty()) (*run.mutable_conditions())[name] = ClipUtf8(value, limits::kFactValueBytes);
}

}  // namespace

absl::Duration TimeLimit(const PluginRunSpec& spec) {
  return spec.timeout > absl::ZeroDuration() ? spec.timeout : spec.plugin.manifest.timeout;
}

v1::Run DescribeRun(const PluginRunSpec& spec) {
  v1::Run run;
  run.set_run_id(spec.run_id);
  run.set_benchmark(spec.benchmark);
  run.set_suite(spec.suite);
  run.set_plugin(spec.plugin.manifest.name);
  run.set_plugin_version(spec.plugin.manifest.version);
  run.set_params_json(spec.params.json);
  run.set_params_digest(spec.params.digest);
  run.set_trigger(spec.trigger);
  run.set_request_id(spec.request_id);
  run.set_facts_digest(spec.facts_digest);
  run.set_scheduled_unix_ns(std::max<int64_t>(0, absl::ToUnixNanos(spec.scheduled)));
  return run;
}

v1::Run RunPlugin(const PluginRunSpec& spec, Runner& runner, Clock& clock, CancelToken& cancel,
                  absl::FunctionRef<void(double, std::string_view)> progress) {
  v1::Run run = DescribeRun(spec);
  if (spec.seals != nullptr) {
    if (const absl::Status status = spec.seals->Check(spec.plugin); !status.ok()) {
      NotStarted(status, run);
      return run;
    }
  }
  absl::StatusOr<WorkFolder> folder =
      WorkFolder::Make(absl::StrCat(spec.work_root, "/", spec.run_id), spec.user);
  if (!folder.ok()) {
    NotStarted(folder.status(), run);
    return run;
  }
  const std::vector<int> cpus = spec.cpus.empty() ? AllowedCpus() : spec.cpus;
  AddCondition("cpus_allowed", CpuRanges(cpus), run);

  const absl::Duration timeout = TimeLimit(spec);
  const absl::Time started = clock.Now();
  run.set_started_unix_ns(std::max<int64_t>(0, absl::ToUnixNanos(started)));
  RunRecorder recorder(spec.plugin.manifest, progress);
  const absl::StatusOr<RunOutcome> outcome = runner.Run(
      MakeRunSpec(spec, timeout, cpus, folder->path(), started),
      [&recorder](std::string_view line) { return recorder.OnLine(line); },
      [&recorder](std::string_view line) { recorder.OnLog(line); }, cancel);
  if (outcome.ok()) {
    recorder.Finish(*outcome, {timeout, cancel.reason(), cancel.cause(), spec.bounds}, run);
  } else {
    NotStarted(outcome.status(), run);
  }
  const absl::Status removed = folder->Remove();
  if (!removed.ok()) run.add_warnings(ClipUtf8(Message(removed), limits::kReasonBytes));
  return run;
}

}  // namespace fleetmark
