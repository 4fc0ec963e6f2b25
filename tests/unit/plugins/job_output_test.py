"""Metrics out of a job's output."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ["FM_SOURCE_DIR"], "plugins/sdk/python"))
import fleetmark_output  # noqa: E402
from fleetmark_output import OutputError, PatternReader, SpecError, Value  # noqa: E402

RATE = {"name": "rate", "unit": "1/s", "better": "higher", "pattern": r"^rate (\S+)"}


def read(text, *metrics, sanity=(), sanity_not=()):
    return PatternReader.from_parameters(list(metrics), list(sanity), list(sanity_not)).read(text)


class ReadTest(unittest.TestCase):
    def test_reductions(self):
        text = "rate 4\nrate 1\nrate 2\n"
        for reduce, value in (("first", 4), ("last", 2), ("min", 1), ("max", 4), ("median", 2), ("mean", 7 / 3)):
            self.assertEqual([v.value for v in read(text, {**RATE, "reduce": reduce})], [value])
        self.assertEqual([(v.value, v.repetition) for v in read(text, {**RATE, "reduce": "all"})],
                         [(4, True), (1, True), (2, True)])

    def test_groups_are_labels(self):
        values = read("8 B: 2 us\n16 B: 3 us\n", {
            "name": "t", "unit": "s", "better": "lower", "scale": 1e-6, "labels": {"x": 1},
            "pattern": r"(?P<size>\d+) B: (?P<value>\S+) us"})
        self.assertEqual(values, [Value("t", 2e-6, "s", "lower", {"size": "8", "x": "1"}),
                                  Value("t", 3e-6, "s", "lower", {"size": "16", "x": "1"})])

    def test_what_is_no_plain_number_is_a_problem(self):
        for text in ("1,234.5", "nan", "inf", "0x10", "1_000", "5e999", "--3", "5W"):
            with self.assertRaises(OutputError, msg=text):
                read("rate " + text, RATE)
        for text, value in (("+3", 3), (".5", 0.5), ("-2.e3", -2000)):
            self.assertEqual(read("rate " + text, RATE)[0].value, value)

    def test_missing_and_sanity(self):
        for text, options, what in (("speed 3", {}, "nothing matches"), ("rate 3", {"sanity": ["ok$"]}, "sanity:"),
                                    ("rate 3\nError", {"sanity_not": ["(?i)error"]}, "sanity_not: .*Error")):
            with self.assertRaisesRegex(OutputError, what):
                read(text, RATE, **options)

    def test_wrong_specifications_say_where(self):
        for spec, what in (({**RATE, "pattern": "("}, r"metrics\[0\].*pattern"), ({**RATE, "better": "up"}, "better"),
                           ({**RATE, "pattern": "rate"}, "exactly one group"), ({**RATE, "x": 1}, "unknown key 'x'"),
                           ({**RATE, "scale": 0}, "scale"), ({**RATE, "reduce": "sum"}, "reduce"), (3, "a map")):
            with self.assertRaisesRegex(SpecError, what):
                read("", spec)

    def test_files_are_repaired_and_bounded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out"
            path.write_bytes(b"caf\xe9\nrate 3\n")
            self.assertEqual(read(fleetmark_output.read_output(path), RATE)[0].value, 3)
            with open(path, "wb") as file:
                file.truncate(fleetmark_output.MAX_OUTPUT_BYTES + 1)
            with self.assertRaisesRegex(OutputError, "larger"):
                fleetmark_output.read_output(path)


if __name__ == "__main__":
    unittest.main()
