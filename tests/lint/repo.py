"""The files of the project, for the lint tests."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(os.environ["FM_SOURCE_DIR"]).resolve()
OWN_FOLDERS = ("common", "agent", "collector", "cli", "plugins")


def tracked(*suffixes, under=None):
    """Paths of files that Git tracks, or all below ROOT in an exported copy, relative to ROOT, sorted."""
    if (ROOT / ".git").exists():
        # The folder may belong to another user than the one who runs the tests.
        listing = subprocess.run(
            ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"],
            check=True, capture_output=True, text=True).stdout
        paths = [p for p in listing.split("\0") if p and (ROOT / p).is_file()]
    else:
        paths = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")
                 if p.is_file() and p.relative_to(ROOT).parts[0] not in ("build", "run")]
    if under is not None:
        paths = [p for p in paths if p.split("/")[0] in under]
    return sorted(p for p in set(paths) if not suffixes or p.endswith(suffixes))


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")
