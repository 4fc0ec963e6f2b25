"""Templates and parameter files of the plugins that submit jobs."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ["FM_SOURCE_DIR"], "plugins/sdk/python"))
from fleetmark_template import Template, TemplateError, load_parameters, load_template  # noqa: E402


class RenderTest(unittest.TestCase):
    def render(self, text, **parameters):
        return Template(text, "job.sh").render(parameters)

    def test_fills_slots_and_leaves_shell_alone(self):
        self.assertEqual(self.render("srun -n {{ n }} ./a ${HOME} $((1+2)) {x} {{word|quote}} {{map|json}}",
                                     n=4, word="a b'c", map={"k": [1, True]}),
                         "srun -n 4 ./a ${HOME} $((1+2)) {x} 'a b'\"'\"'c' {\"k\": [1, true]}")
        self.assertEqual(self.render("{{a}}{{b}}", a=True, b=1.5), "true1.5")

    def test_a_value_is_not_a_template(self):
        self.assertEqual(self.render("{{a}}", a="{{b}}"), "{{b}}")

    def test_faults_name_file_line_and_parameter(self):
        for text, parameters, what in (
                ("\n\n{{speed}}", {"rate": 1}, r"^job\.sh:3: no parameter 'speed'; there are: rate$"),
                ("\n{{a|shell}}", {"a": 1}, r"^job\.sh:2: '\{\{a\|shell\}\}' is not "),
                ("{{a}}", {"a": [1]}, r"^job\.sh:1: parameter 'a' is a list; write \|json"),
                ("{{a}}", {"a": 1, "b": 2}, r"^job\.sh: no line uses the parameter 'b'")):
            with self.assertRaisesRegex(TemplateError, what):
                self.render(text, **parameters)


class FileTest(unittest.TestCase):
    def file(self, name, data):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / name
        path.write_bytes(data)
        return path

    def test_parameters(self):
        self.assertEqual(load_parameters(self.file("p.json", b'{"a": 1}')), {"a": 1})
        self.assertEqual(load_parameters(self.file("p.yaml", b"a: 1\nb: [x]\n")), {"a": 1, "b": ["x"]})
        self.assertEqual(load_parameters(self.file("p.yaml", b"")), {})

    def test_faults_name_the_file(self):
        for name, data in (("p.json", b"{"), ("p.yaml", b"a: ["), ("p.yaml", b"- a"), ("p.yaml", b"1: a"),
                           ("p.json", b"\xff")):
            with self.assertRaisesRegex(TemplateError, name):
                load_parameters(self.file(name, data))
        with self.assertRaisesRegex(TemplateError, "larger"):
            load_template(self.file("t.sh", b" " * ((1 << 20) + 1)))
        with self.assertRaisesRegex(TemplateError, "No such file"):
            load_template(pathlib.Path("/no/such/file"))


if __name__ == "__main__":
    unittest.main()
