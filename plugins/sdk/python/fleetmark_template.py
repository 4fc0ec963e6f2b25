"""Templates with named parameters, for plugins that submit jobs.

`{{name}}` in a template becomes the parameter of that name: as it is, as one word of a shell with
`{{name|quote}}`, or as JSON (which is YAML too) with `{{name|json}}`. Shell and YAML keep their own `${...}`
and `{...}`. A name without a parameter is an error that says where; so is a parameter that no template uses,
since it is a misspelt one more often than not.

Needs Python 3.9; a parameter file in YAML needs python3-yaml, one in JSON nothing. Copy this file into the
plugin's folder.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Mapping

MAX_TEMPLATE_BYTES = 1 << 20
_SLOT = re.compile(r"\{\{([^{}\n]*)\}\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class TemplateError(Exception):
    """What is wrong, beginning with "file:line: " where it concerns a line."""


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)) or value is None:
        raise ValueError("is a %s; write |json behind the name" % type(value).__name__)
    return str(value)


_FILTERS: Mapping[str, Callable[[object], str]] = {
    "": _plain,
    "quote": lambda value: shlex.quote(_plain(value)),
    "json": lambda value: json.dumps(value, allow_nan=False),
}


@dataclass(frozen=True)
class Template:
    """Text with slots. `origin` is the file's name, or that of the parameter which held the text."""

    text: str
    origin: str

    def render(self, parameters: Mapping[str, object], optional: Iterable[str] = ()) -> str:
        """The text with every slot filled. Parameters named in `optional` need not be used."""
        used = set(optional)

        def fill(match: re.Match[str]) -> str:
            where = "%s:%d: " % (self.origin, self.text.count("\n", 0, match.start()) + 1)
            name, _, filter_name = (part.strip() for part in match[1].partition("|"))
            if not _NAME.fullmatch(name) or filter_name not in _FILTERS:
                raise TemplateError("%s'%s' is not {{name}}, {{name|quote}} or {{name|json}}" % (where, match[0]))
            if name not in parameters:
                raise TemplateError("%sno parameter '%s'; there are: %s" % (
                    where, name, ", ".join(sorted(parameters)) or "none"))
            used.add(name)
            try:
                return _FILTERS[filter_name](parameters[name])
            except ValueError as error:
                raise TemplateError("%sparameter '%s' %s" % (where, name, error)) from None

        filled = _SLOT.sub(fill, self.text)
        unused = sorted(set(parameters) - used)
        if unused:
            raise TemplateError("%s: no line uses the parameter '%s'" % (self.origin, "', '".join(unused)))
        return filled


def read_bounded(path: Path) -> str:
    """The file's text. TemplateError when it can't be read, is not UTF-8 or is larger than a template may be."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_TEMPLATE_BYTES + 1)
        if len(data) > MAX_TEMPLATE_BYTES:
            raise TemplateError("%s: is larger than %d bytes" % (path, MAX_TEMPLATE_BYTES))
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError("%s: %s" % (path, error)) from None


def load_template(path: Path) -> Template:
    return Template(read_bounded(path), str(path))


def load_parameters(path: Path) -> dict[str, object]:
    """The map in a JSON or YAML file."""
    text = read_bounded(path)
    try:
        if path.suffix == ".json":
            found = json.loads(text)
        else:
            import yaml  # only for those who write YAML
            found = yaml.safe_load(text)
    except ImportError:
        raise TemplateError("%s: reading YAML needs python3-yaml; JSON needs nothing" % path) from None
    except ValueError as error:
        raise TemplateError("%s: %s" % (path, error)) from None
    except yaml.YAMLError as error:
        raise TemplateError("%s: %s" % (path, " ".join(str(error).split()))) from None
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise TemplateError("%s: must be a map of parameters" % path)
    return found
