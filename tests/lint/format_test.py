"""Every source file is as clang-format 14 with .clang-format writes it."""

import shutil
import subprocess
import unittest

import repo

PROGRAM = shutil.which("clang-format-14")


class FormatTest(unittest.TestCase):
    def test_sources_are_formatted(self):
        self.assertIsNotNone(PROGRAM, "clang-format-14 is missing: deploy/install-deps.sh --dev")
        files = repo.tracked(".h", ".cc")
        self.assertGreater(len(files), 50)
        result = subprocess.run([PROGRAM, "--dry-run", "-Werror", "--style=file", *files], cwd=repo.ROOT,
                                capture_output=True, text=True)
        wrong = sorted({line.split(":")[0] for line in result.stderr.splitlines() if "error:" in line})
        self.assertEqual(wrong, [], "clang-format-14 -i " + " ".join(wrong))
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
