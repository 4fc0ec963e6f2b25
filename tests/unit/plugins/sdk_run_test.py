"""The Python and shell SDKs, and the README's examples, through real runs."""

import os
import re
import shutil
import sys
import tempfile
import unittest

from harness import Plugin

SDK = os.path.join(os.environ["FM_SOURCE_DIR"], "plugins/sdk")
AWKWARD = "quote \" backslash \\ tab \t line\nend é €"


def run_script(sdk_file, name, text, params=None):
    """Runs `text` as a plugin in a folder that also has the SDK's file."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(SDK, sdk_file), folder)
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        program = [sys.executable, "-B", path] if name.endswith(".py") else ["sh", path]
        return Plugin("", folder=folder, command=program).run(params, env={"AWKWARD": AWKWARD})


def run_python(body, params=None):
    return run_script("python/fleetmark_plugin.py", "p.py",
                      "import os\nfrom fleetmark_plugin import Plugin\nplugin = Plugin()\n" + body, params)


def run_shell(body, params=None):
    return run_script("sh/fleetmark.sh", "p.sh", '. "$FLEETMARK_PLUGIN_DIR/fleetmark.sh"\n' + body, params)


class Common(unittest.TestCase):
    EXPECTED = [
        {"type": "metric", "name": "rate", "value": 0.1, "unit": "GB/s", "labels": {"text": AWKWARD}},
        {"type": "sample", "name": "rate", "value": 3, "unit": "GB/s", "labels": {"a": "1", "b": "x=y"}},
        {"type": "progress", "fraction": 0.5, "message": "half"},
        {"type": "log", "message": AWKWARD},
        {"type": "event", "message": "e"},
        {"type": "invalid", "message": "i"},
        {"type": "done"},
    ]

    def test_python_writes_each_type_of_line(self):
        result = run_python("""
print("noise", flush=True); os.system("echo noise of a child")
plugin.metric("rate", 0.1, "GB/s", {"text": os.environ["AWKWARD"]})
plugin.sample("rate", plugin.params["n"], "GB/s", labels={"a": 1, "b": "x=y"})
plugin.progress(0.5, "half"); plugin.log(os.environ["AWKWARD"]); plugin.event("e"); plugin.invalid("i")
plugin.done()""", {"n": 3})
        self.assertEqual(result.status, 0, result)
        self.assertEqual(result.lines, self.EXPECTED)
        self.assertIn("noise of a child", result.log)

    def test_shell_writes_each_type_of_line(self):
        result = run_shell("""
echo noise of a child
fm_metric rate 0.1 GB/s "text=$AWKWARD"
fm_sample rate "$FLEETMARK_PARAM_N" GB/s a=1 b=x=y
fm_progress 0.5 half; fm_log "$AWKWARD"; fm_event e; fm_invalid i
fm_done""", {"n": 3})
        self.assertEqual(result.status, 0, result)
        self.assertEqual(result.lines, self.EXPECTED)
        self.assertIn("noise of a child", result.log)

    def test_numbers_that_are_none_make_the_run_invalid(self):
        for result in (run_python('plugin.metric("rate", float("nan"), "s")'), run_shell("fm_metric rate 1,5 s")):
            self.assertEqual([line["type"] for line in result.lines], ["invalid"])
            self.assertIn("rate", result.lines[0]["message"])

    def test_endings(self):
        for python, shell, status in (('plugin.skip("why")', "fm_skip why", 77), ('plugin.fail("why")', "fm_fail why", 1),
                                      ('plugin.try_later("why")', "fm_try_later why", 75),
                                      ('plugin.bad_parameter("n", "why")', "fm_bad_parameter n why", 78)):
            for result in (run_python(python), run_shell(shell)):
                self.assertEqual(result.status, status, result)
                self.assertRegex(result.log.splitlines()[-1], "why$")
                self.assertEqual(result.lines, [])


class Readme(unittest.TestCase):
    """The examples in plugins/sdk/README.md do what it says."""

    def setUp(self):
        with open(os.path.join(SDK, "README.md"), encoding="utf-8") as file:
            self.examples = re.findall(r"```(python|sh)\n(.*?)```", file.read(), re.DOTALL)
        self.assertEqual([language for language, _ in self.examples], ["sh", "python", "sh"])

    def check(self, result):
        self.assertTrue(result.done, result)
        self.assertEqual([line["type"] for line in result.lines], ["metric", "done"])
        self.assertGreater(result.lines[0]["value"], 0)

    def test_examples_run(self):
        for language, text in self.examples:
            name, sdk = ("p.py", "python/fleetmark_plugin.py") if language == "python" else ("p.sh", "sh/fleetmark.sh")
            self.check(run_script(sdk, name, text, {"count": 100}))

    def test_lengths(self):
        lengths = [len(text.strip().splitlines()) for _, text in self.examples]
        self.assertLessEqual(lengths[0], 15)
        self.assertLessEqual(max(lengths[1:]), 6)  # with the first line that names the interpreter


if __name__ == "__main__":
    unittest.main()
