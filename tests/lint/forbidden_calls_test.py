"""Calls that this project does without, and where one is allowed all the same.

Time is injected (common/base/clock.h), a process is started in one place and stopped by its id, and errors
are values.
"""

import re
import unittest

import repo

# What, why, and the files that may.
RULES = [
    (re.compile(r"\babsl::Now\(|\b(system|steady|high_resolution)_clock::now\(|\bclock_gettime\(|\bgettimeofday\("),
     # The reaper of a run is linked with the C library alone.
     "the time comes from a Clock", {"common/base/clock.cc", "common/run/launch_main.cc"}),
    (re.compile(r"\bsleep_(for|until)\(|\babsl::SleepFor\(|(?<![\w.])(u|nano)?sleep\("),
     "waits go through Clock::WaitUntil", {"common/base/clock.cc"}),
    (re.compile(r"\b(std::)?system\(|\bpopen\("), "no shell: start processes by common/run", set()),
    (re.compile(r"\b(p?killall|pkill)\b"), "processes are stopped by their id", set()),
    (re.compile(r"\bstd::(cout|cerr)\b"), "daemons log; libraries return", {"cli/main.cc"}),
    (re.compile(r"\b(strcpy|strcat|sprintf|gets|strtok)\("), "unbounded or stateful C string calls", set()),
    (re.compile(r"\bthrow\s+[A-Za-z_:]+"), "errors are absl::Status", set()),
]

# A plugin has no Clock: it stands alone, and measures time.
PLUGIN_MAY = {"the time comes from a Clock", "waits go through Clock::WaitUntil", "daemons log; libraries return"}
# A program text that is written for others, not run here.
TEMPLATES = {"cli/commands/plugin_templates.cc"}


def without_comments(text):
    """Comments and string contents blanked, line numbers kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def problems_of_file(path, text):
    code = without_comments(text)
    for pattern, why, allowed in RULES:
        if path in allowed or path in TEMPLATES or (path.startswith("plugins/") and why in PLUGIN_MAY):
            continue
        for match in pattern.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {match.group(0).strip()}: {why}"


class ForbiddenCallsTest(unittest.TestCase):
    def test_none_is_used(self):
        files = repo.tracked(".h", ".cc", under=repo.OWN_FOLDERS)
        self.assertGreater(len(files), 50)
        problems = [p for f in files for p in problems_of_file(f, repo.text(f))]
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def test_scripts_never_stop_processes_by_name(self):
        problems = []
        for path in repo.tracked(".sh"):
            for number, line in enumerate(repo.text(path).splitlines(), 1):
                if re.search(r"\b(pkill|killall)\b", line.split("#")[0]):
                    problems.append(f"{path}:{number}: {line.strip()}")
        self.assertEqual(problems, [])

    def test_the_checker_sees_a_violation(self):
        self.assertEqual(len(list(problems_of_file("agent/x.cc", "auto t = absl::Now();"))), 1)
        self.assertEqual(len(list(problems_of_file("agent/x.cc", "usleep(5); std::system(s);"))), 2)
        self.assertEqual(list(problems_of_file("agent/x.cc", "// absl::Now() is not used\n")), [])
        self.assertEqual(list(problems_of_file("common/base/clock.cc", "absl::Now()")), [])
        self.assertEqual(list(problems_of_file("plugins/gemm/main.cc", "steady_clock::now()")), [])


if __name__ == "__main__":
    unittest.main()
