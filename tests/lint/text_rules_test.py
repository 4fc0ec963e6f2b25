"""What each header states, that no unfinished work is left, and that links between documents lead somewhere."""

import re
import unittest
import urllib.parse

import repo

GUARD = re.compile(r"^#ifndef (\w+)\n#define \1\n", re.M)
LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
# Only constants: nothing to be safe or unsafe about.
CONSTANTS_ONLY = {"common/model/limits.h"}


def expected_guard(path):
    return "FLEETMARK_" + re.sub(r"[^A-Za-z0-9]", "_", path).upper() + "_"


def header_problems(path, text):
    match = GUARD.search(text)
    if match is None or match.group(1) != expected_guard(path):
        yield f"{path}: its include guard should be {expected_guard(path)}"
    if not text.startswith("//"):
        yield f"{path}: must begin with a comment that says what it is for"
    if path not in CONSTANTS_ONLY and not path.startswith("tests/") and "thread-safety" not in text.lower():
        yield f"{path}: no line says what its thread-safety is"


def heading_anchor(heading):
    text = re.sub(r"[`*_]", "", heading.strip().lower())
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))


def link_problems(path, text, exists, read):
    """`exists` and `read` take a path relative to the root."""
    for target in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.S)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = urllib.parse.unquote(target).partition("#")
        base = path.rpartition("/")[0]
        full = path if not file else str((repo.ROOT / base / file).resolve().relative_to(repo.ROOT))
        if not exists(full):
            yield f"{path}: {target} leads nowhere"
        elif anchor and full.endswith(".md"):
            headings = re.findall(r"^#+ (.*)$", read(full), re.M)
            if anchor not in map(heading_anchor, headings):
                yield f"{path}: {target}: {full} has no such heading"


class TextRulesTest(unittest.TestCase):
    def test_headers(self):
        headers = repo.tracked(".h")
        self.assertGreater(len(headers), 20)
        problems = [p for h in headers for p in header_problems(h, repo.text(h))]
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def test_nothing_unfinished(self):
        problems = []
        for path in repo.tracked(".h", ".cc", ".py", ".sh", ".md", ".yaml", ".proto", ".txt", ".cmake", ".js", ".css"):
            if path == "tests/lint/text_rules_test.py":
                continue
            for number, line in enumerate(repo.text(path).splitlines(), 1):
                if LEFTOVER.search(line):
                    problems.append(f"{path}:{number}: {line.strip()}")
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def test_links_between_documents(self):
        documents = repo.tracked(".md")
        self.assertGreater(len(documents), 0)
        exists = lambda p: (repo.ROOT / p).exists()
        problems = [p for d in documents for p in link_problems(d, repo.text(d), exists, repo.text)]
        self.assertEqual(problems, [], "\n" + "\n".join(problems))


class CheckerTest(unittest.TestCase):
    def test_headers(self):
        good = "// Purpose. Thread-safety: none.\n#ifndef FLEETMARK_A_B_H_\n#define FLEETMARK_A_B_H_\n#endif\n"
        self.assertEqual(list(header_problems("a/b.h", good)), [])
        self.assertEqual(len(list(header_problems("a/c.h", good))), 1)
        self.assertEqual(len(list(header_problems("a/b.h", good.replace("Thread-safety", "It")))), 1)

    def test_links(self):
        read = lambda p: "# A `big` heading\n"
        check = lambda t: list(link_problems("docs/a.md", t, lambda p: p in ("docs/a.md", "b.md"), read))
        self.assertEqual(check("[x](../b.md) [y](#a-big-heading) [z](https://e.org)"), [])
        self.assertEqual(len(check("[x](../c.md)")), 1)
        self.assertEqual(len(check("[x](../b.md#small)")), 1)


if __name__ == "__main__":
    unittest.main()
