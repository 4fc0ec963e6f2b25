"""The command plugin, run as the agent runs it."""

import unittest

from harness import Plugin

RATE = {"name": "rate", "unit": "1/s", "better": "higher", "pattern": r"rate (\S+)"}


def run(script, **params):
    return Plugin("command").run({"command": ["sh", "-c", script], "metrics": [RATE], **params})


class Command(unittest.TestCase):
    def test_reads_metrics_and_samples(self):
        table = {"name": "latency", "unit": "us", "better": "lower", "reduce": "all",
                 "pattern": r"(?P<size>\d+) bytes: (?P<value>\S+) ns", "scale": 0.001, "labels": {"tool": "x"}}
        result = run("echo rate 7; echo 8 bytes: 1500 ns; echo 8 bytes: 500 ns", metrics=[RATE, table])
        self.assertTrue(result.done, result)
        self.assertEqual(result.of("metric"), [
            {"type": "metric", "name": "rate", "value": 7, "unit": "1/s", "better": "higher", "labels": {}}])
        self.assertEqual([(s["value"], s["labels"]) for s in result.of("sample")],
                         [(1.5, {"size": "8", "tool": "x"}), (0.5, {"size": "8", "tool": "x"})])

    def test_input_may_be_any_stream_or_a_file(self):
        for where, script in (("stdout", "echo rate 1"), ("stderr", "echo rate 1 >&2"), ("both", "echo rate 1 >&2"),
                              ("out.txt", "echo rate 1 > out.txt")):
            self.assertEqual(run(script, input=where).values("rate"), [1], where)

    def test_stdin_environment_and_expected_exit(self):
        result = run("cat; exit $CODE", stdin="rate 5\n", environment={"CODE": 4}, expected_exit=4)
        self.assertTrue(result.done, result)
        self.assertEqual(result.values("rate"), [5])

    def test_a_run_without_sanity_is_invalid_and_gives_no_value(self):
        for params, word in (({"sanity": ["validated"]}, "validated"), ({"sanity_not": ["rate"]}, "sanity_not"),
                             ({"metrics": [dict(RATE, pattern=r"speed (\d+)")]}, "speed")):
            result = run("echo rate 5", **params)
            self.assertTrue(result.done, result)
            self.assertIn(word, result.of("invalid")[0]["message"])
            self.assertFalse(result.of("metric"))

    def test_wrong_parameters_end_with_78_before_anything_runs(self):
        for params, word in (({"metrics": [dict(RATE, pattern="(")]}, "missing"), ({"metrics": []}, "metrics"),
                             ({"command": []}, "command"), ({"command": ["no-such-program"]}, "no-such-program")):
            result = run("echo it ran >&2", **params)
            self.assertEqual(result.status, 78, result)
            self.assertIn(word, result.log.splitlines()[-1])
            self.assertNotIn("it ran", result.log)

    def test_a_failing_program_fails_the_run(self):
        for script, word in (("echo rate 5; exit 3", "status 3"), ("kill -SEGV $$", "status 139")):
            result = run(script)
            self.assertEqual(result.status, 1, result)
            self.assertIn(word, result.log.splitlines()[-1])
            self.assertFalse(result.lines)

    def test_output_is_in_the_log(self):
        self.assertIn("rate 5", run("echo rate 5").log)


if __name__ == "__main__":
    unittest.main()
