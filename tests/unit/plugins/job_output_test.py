"""Metrics out of a job's output."""

import json
import os
import pathlib
import subprocess
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

    def test_readers_of_the_command_line(self):
        """The program itself, as the job plugins call it."""
        program = os.path.join(os.environ["FM_BIN_DIR"], "fleetmark")
        data = pathlib.Path(os.environ["FM_SOURCE_DIR"]) / "tests/data/readers"
        values = fleetmark_output.read_by_program(program, "popdist", data / "popdist/mpi_prefix.txt")
        self.assertEqual(values, [Value("throughput", rate, "samples/s", "higher", {"rank": rank})
                                  for rate, rank in ((7599.7, "0"), (7601.2, "1"), (7610.5, "0"))])
        for reader, case, what in (
                ("hpl", "hpl/failed_residual.txt", "reader hpl: invalid: line 31: the solution is wrong"),
                ("nccl_tests", "nccl_tests/cuda_failure.txt", "failed: line 2: the tool failed.*NCCL failure"),
                ("nvbandwidth", "nvbandwidth/all_waived.txt", "skipped: every test was waived"),
                ("no_such", "hpl/two_rows.txt", "status 2.*there is no reader 'no_such'"),
                ("hpl", "hpl/no_such_file.txt", "can't be read")):
            with self.assertRaisesRegex(OutputError, what):
                fleetmark_output.read_by_program(program, reader, data / case)

    def test_every_reader_is_listed(self):
        program = os.path.join(os.environ["FM_BIN_DIR"], "fleetmark")
        listed = json.loads(subprocess.run([program, "parse", "--list", "-o", "json"], check=True, timeout=60,
                                           capture_output=True).stdout)
        folders = {path.name for path in (pathlib.Path(os.environ["FM_SOURCE_DIR"]) / "tests/data/readers").iterdir()}
        self.assertEqual({each["name"] for each in listed}, folders)
        docs = (pathlib.Path(os.environ["FM_SOURCE_DIR"]) / "docs/readers.md").read_text()
        for name in folders:
            self.assertIn("| `%s` |" % name, docs)

    def test_the_command_line_reads_standard_input(self):
        program = os.path.join(os.environ["FM_BIN_DIR"], "fleetmark")
        done = subprocess.run([program, "parse", "--reader", "keyvalue", "-", "--options", '{"only": ["rate"]}'],
                              input="rate=2.5 samples/s\nother=1\n", capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\nrate +2\.5 +samples/s +higher")
        self.assertNotIn("other", done.stdout)
        broken = subprocess.run([program, "parse", "--reader", "csv", "-"], input="a,b\nalone\n", capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(broken.returncode, 1)
        self.assertIn("-:2: a row of 1 cells under a header of 2: alone\n", broken.stderr)
        wrong = subprocess.run([program, "parse", "--reader", "csv"], capture_output=True, text=True, timeout=60)
        self.assertEqual(wrong.returncode, 2)


if __name__ == "__main__":
    unittest.main()
