"""The Python side of the plugin protocol, version 1 (docs/plugin-protocol.md).

    from fleetmark_plugin import Plugin
    plugin = Plugin()
    plugin.metric("rate", measure(plugin.params["repetitions"]), "1/s")
    plugin.done()

A Plugin takes standard output for itself and points file descriptor 1 at standard error, so that whatever
prints can't break the protocol. Needs Python 3.6 and no package; copy this file into the plugin's folder.
"""

import json
import math
import os
import sys

FAILED, TRY_LATER, SKIPPED, BAD_PARAMETER = 1, 75, 77, 78


class BadParameter(Exception):
    """For code that reads parameters without a Plugin at hand; Plugin.bad_parameter's arguments."""

    def __init__(self, name, what):
        super().__init__(what)
        self.name = name


class Plugin:
    """params: the parameters as JSON has them, durations in seconds and sizes in bytes.

    request: the whole object of standard input.
    """

    def __init__(self):
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
        os.dup2(2, 1)
        try:
            self.request = json.load(sys.stdin)
            self.params = self.request["params"]
        except (ValueError, KeyError, TypeError) as error:
            self.fail("standard input is not the request of docs/plugin-protocol.md: %r" % error)

    def metric(self, name, value, unit, labels=None, better=None):
        """One value for each name and label set. One that is not finite makes the run invalid."""
        self._value("metric", name, value, unit, labels, better)

    def sample(self, name, value, unit, labels=None, better=None):
        """One repetition; the agent keeps the median."""
        self._value("sample", name, value, unit, labels, better)

    def progress(self, fraction, message=""):
        self._write(type="progress", fraction=fraction, message=message)

    def log(self, message):
        self._write(type="log", message=message)

    def event(self, message):
        self._write(type="event", message=message)

    def artifact(self, name, path):
        """A small file in the working folder."""
        self._write(type="artifact", name=name, path=path)

    def invalid(self, message):
        """The plugin's own check of its result failed: nothing of this run may be used."""
        self._write(type="invalid", message=message)

    def done(self):
        """The last line of a run that is complete, also of an invalid one."""
        self._write(type="done")

    def skip(self, reason):
        self._exit(SKIPPED, reason)

    def try_later(self, reason):
        self._exit(TRY_LATER, reason)

    def fail(self, reason):
        self._exit(FAILED, reason)

    def bad_parameter(self, name, what):
        self._exit(BAD_PARAMETER, "parameter '%s' %s" % (name, what))

    def _value(self, kind, name, value, unit, labels, better):
        if not math.isfinite(value):
            self.invalid("%s is not a finite number" % name)
            return
        fields = {"type": kind, "name": name, "value": value, "unit": unit}
        if labels:
            fields["labels"] = {str(key): str(text) for key, text in labels.items()}
        if better:
            fields["better"] = better
        self._write(**fields)

    def _write(self, **fields):
        self._out.write(json.dumps(fields, allow_nan=False) + "\n")
        self._out.flush()

    @staticmethod
    def _exit(status, reason):
        print(reason, file=sys.stderr, flush=True)
        sys.exit(status)
