"""Who may include whom.

A file includes files of ours only from its own folder and from the folders of the targets that its own
target names under DEPS in CMake; the graph of the folders has no cycle; agent, collector and cli do not know
one another; a plugin knows only the SDK and the readers; a heavy foreign library is included in its one
place.
"""

import json
import os
import pathlib
import re
import unittest

import repo

LAYERS = pathlib.Path(os.environ["FM_BUILD_DIR"]) / "layers.json"
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)

# Foreign headers and where they are allowed: a folder, or one file.
FOREIGN = {
    r"grpc(pp)?/|fleetmark/v1/\w+\.grpc\.pb\.h|agent/gate/podresources/.*\.pb\.h": (
        "common/net", "agent/gate/kubelet_client.cc", "agent/join", "agent/upload", "collector/ingest", "collector/join",
        "collector/query", "collector/collector.cc",
        "cli/commands/client.cc", "bench/store", "bench/web"),
    r"openssl/": ("common/tls", "common/base/digest.cc"),
    r"rocksdb/": ("collector/store",),
    r"httplib\.h": ("common/http",),
    r"yaml-cpp/": ("common/config",),
    r"spdlog/": ("common/obs",),
    r"prometheus/": ("common/obs",),
    r"CLI/": ("cli/commandline",),
    r"sqlite3\.h": ("agent/spool",),
    r"curl/": ("collector/notify/curl_transport.cc",),
    r"snappy\.h": ("collector/remote",),
    r"re2/": ("plugins/parse", "collector/promql/matcher.cc", "collector/store/series_catalog.cc"),
    r"nlohmann/": ("plugins",),
    r"cblas\.h|openblas": ("plugins/gemm",),
    r"numa\.h": ("plugins",),
}

# Who besides the plugins may include the readers of other tools' output (plugins/parse).
READERS_USERS = ("cli", "common/history")

# Independent of what CMake says.
NEVER = {
    "common": ("agent", "collector", "cli", "plugins"),
    "agent": ("collector", "cli", "plugins"),
    "collector": ("agent", "cli", "plugins"),
    "cli": ("agent", "collector", "plugins"),
    "plugins": ("common", "agent", "collector", "cli", "fleetmark"),
}


def folder_of(path):
    return path.rpartition("/")[0]


def is_below(path, place):
    return path == place or path.startswith(place + "/")


class Layers:
    """What layers.json says: for each source its target's DEPS, for each folder all of its targets'."""

    def __init__(self, entries):
        self.folder = {e["target"]: e["folder"] for e in entries}
        self.by_file = {}
        self.by_folder = {}
        for e in entries:
            self.by_folder.setdefault(e["folder"], set()).update(e["deps"])
            for source in e["sources"]:
                path = str(pathlib.PurePosixPath(e["folder"]) / source)
                self.by_file.setdefault(path, set()).update(e["deps"])

    def deps(self, path):
        # A header belongs to whichever target of its folder includes it.
        return self.by_file.get(path, self.by_folder.get(self.owner(folder_of(path)), set()))

    def owner(self, folder):
        """The folder whose CMake file declares what is in `folder`: itself, or the nearest above."""
        while folder and folder not in self.by_folder:
            folder = folder_of(folder)
        return folder

    def allowed(self, path, include):
        if include.startswith("fleetmark/"):
            return "fm_proto_grpc" in self.deps(path) if ".grpc.pb.h" in include else (
                self.deps(path) & {"fm_proto", "fm_proto_grpc"} != set())
        folders = {self.folder[d] for d in self.deps(path) if d in self.folder}
        return self.owner(folder_of(include)) in folders | {self.owner(folder_of(path))}


def problems_of_file(layers, path, text, ours):
    for include in INCLUDE.findall(text):
        for pattern, places in FOREIGN.items():
            if re.match(pattern, include) and not any(is_below(path, p) for p in places):
                yield f"{path}: {include} belongs only in {', '.join(places) or 'no file yet'}"
        top = path.split("/")[0]
        of_readers = folder_of(include) == "plugins/parse" and any(is_below(path, p) for p in READERS_USERS)
        forbidden = include.split("/")[0] in NEVER.get(top, ()) and not of_readers
        if forbidden and (include in ours or include.startswith("fleetmark/")):
            yield f"{path}: {top} must not include {include}"
        elif (include in ours or include.startswith("fleetmark/")) and not layers.allowed(path, include):
            yield f"{path}: {include} is in no folder that its target names under DEPS"


def cycle(edges):
    """A list of folders that depend on one another in a ring; empty if there is none."""
    done, stack = set(), []

    def visit(node):
        if node in stack:
            return stack[stack.index(node):] + [node]
        if node in done:
            return []
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            ring = visit(other)
            if ring:
                return ring
        stack.pop()
        done.add(node)
        return []

    for node in sorted(edges):
        ring = visit(node)
        if ring:
            return ring
    return []


def folder_edges(files, ours):
    edges = {}
    for path, text in files.items():
        for include in INCLUDE.findall(text):
            if include in ours and folder_of(include) != folder_of(path):
                edges.setdefault(folder_of(path), set()).add(folder_of(include))
    return edges


class LayeringTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.layers = Layers(json.loads(LAYERS.read_text()))
        paths = repo.tracked(".h", ".cc", under=repo.OWN_FOLDERS)
        cls.ours = set(paths)
        cls.files = {p: repo.text(p) for p in paths}

    def test_there_are_files(self):
        self.assertGreater(len(self.files), 50)
        self.assertGreater(len(self.layers.folder), 5)

    def test_includes_follow_the_layers(self):
        problems = [p for path, text in self.files.items()
                    for p in problems_of_file(self.layers, path, text, self.ours)]
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def test_folders_have_no_cycle(self):
        self.assertEqual(cycle(folder_edges(self.files, self.ours)), [])


class CheckerTest(unittest.TestCase):
    """That the checks above would see a violation."""

    def setUp(self):
        self.layers = Layers([
            {"target": "fm_base", "folder": "common/base", "deps": [], "sources": ["a.cc"]},
            {"target": "fm_spool", "folder": "agent/spool", "deps": ["fm_base"], "sources": ["spool.cc"]},
            {"target": "fm_upload", "folder": "agent/upload", "deps": ["fm_spool"], "sources": ["up.cc"]}])
        self.ours = {"common/base/a.h", "agent/spool/spool.h", "agent/upload/up.h", "collector/store/s.h"}

    def problems(self, path, include):
        return list(problems_of_file(self.layers, path, f'#include "{include}"\n', self.ours))

    def test_direct_dependencies_only(self):
        self.assertEqual(self.problems("agent/spool/spool.cc", "common/base/a.h"), [])
        self.assertEqual(self.problems("agent/upload/up.cc", "agent/upload/up.h"), [])
        self.assertEqual(len(self.problems("agent/upload/up.cc", "common/base/a.h")), 1)
        self.assertEqual(len(self.problems("agent/spool/spool.cc", "agent/upload/up.h")), 1)
        self.assertEqual(len(self.problems("agent/spool/spool.cc", "collector/store/s.h")), 1)
        self.assertEqual(len(self.problems("agent/spool/spool.cc", "fleetmark/v1/types.pb.h")), 1)

    def test_foreign_headers(self):
        self.assertEqual(self.problems("agent/spool/spool.cc", "sqlite3.h"), [])
        self.assertEqual(len(self.problems("agent/upload/up.cc", "sqlite3.h")), 1)
        self.assertEqual(len(self.problems("cli/commands/runs.cc", "grpcpp/channel.h")), 1)

    def test_cycle(self):
        self.assertEqual(cycle({"a": {"b"}, "b": {"c"}}), [])
        self.assertEqual(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}), ["a", "b", "c", "a"])


if __name__ == "__main__":
    unittest.main()
