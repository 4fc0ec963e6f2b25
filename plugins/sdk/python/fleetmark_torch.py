"""Finds a Python that has PyTorch, for plugins whose own Python may have none, and says what it can use.

Needs Python 3.9; copy this file into the plugin's folder.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import Optional

from fleetmark_plugin import Plugin

# A site puts a virtual environment, or a link to its Python, at the last of these.
CANDIDATES = ("python3", "/usr/bin/python3", "/opt/fleetmark/torch/bin/python3")
_QUESTION = ("import json, torch, torch.distributed as d;"
             "print(json.dumps([torch.__version__, torch.cuda.device_count() if torch.cuda.is_available() else 0,"
             " torch.cuda.get_device_name(0) if torch.cuda.is_available() else '', d.is_available()]))")


@dataclass(frozen=True)
class Torch:
    python: str
    version: str
    gpus: int
    gpu_name: str
    distributed: bool


def find_torch() -> Optional[Torch]:
    """The first of CANDIDATES that can import PyTorch, with GPUs before one without; None when there is none."""
    best = None
    for python in dict.fromkeys(filter(None, map(shutil.which, CANDIDATES))):
        try:
            done = subprocess.run([python, "-c", _QUESTION], capture_output=True, text=True, timeout=120, check=True)
            version, gpus, name, distributed = json.loads(done.stdout)
        except (OSError, ValueError, subprocess.SubprocessError):
            continue
        found = Torch(python, version, gpus, name, distributed)
        if gpus:
            return found
        best = best or found
    return best


def require_torch(plugin: Plugin) -> Torch:
    """find_torch, or the run is skipped."""
    torch = find_torch()
    if torch is None:
        plugin.skip("PyTorch is not installed for python3, /usr/bin/python3 or /opt/fleetmark/torch/bin/python3")
    return torch
