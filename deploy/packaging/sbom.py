#!/usr/bin/env python3
"""Writes a package's software bill of materials, in SPDX 2.3 as JSON, beside the package:

    deploy/packaging/sbom.py PACKAGE.deb...         each to PACKAGE.spdx.json

It lists what is *in* the package though it was made elsewhere (libraries linked as archives, what the page's bundle
holds), and what it *depends on*, directly and through others, in the versions of the machine that it was built on. Run
it there. Licences are those of Debian's machine-readable copyright files where there is one. Two runs for one package
give the same bytes.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Whose archives cmake/fm_static.cmake links into the agent, by the Debian package that they are of.
LINKED = {"fleetmark-agent": ("libabsl-dev", "libc-ares-dev", "libgrpc++-dev", "libgrpc-dev", "libprotobuf-dev", "libre2-dev",
                              "libsqlite3-dev", "libssl-dev", "libyaml-cpp-dev", "zlib1g-dev")}
BUNDLED = {"fleetmark-collector": "web/package-lock.json"}


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def installed():
    """What is installed here: name to version, source and dependencies; provided names lead to who provides them."""
    known = {}
    for line in output("dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\t"
                       "${Pre-Depends}, ${Depends}\t${Provides}\n").splitlines():
        status, name, version, architecture, depends, provides = line.split("\t")
        if not status.startswith("ii"):
            continue
        entry = {"name": name, "version": version, "architecture": architecture, "depends": depends}
        known[name] = entry
        for provided in names(provides):
            known.setdefault(provided[0], entry)
    return known


def names(relation):
    """The alternatives' names of each term of a dependency field."""
    return [[re.sub(r"[:\s(].*", "", a.strip()) for a in term.split("|")] for term in relation.split(",") if term.strip()]


def licence(name):
    """An SPDX identifier, or NOASSERTION: Debian's short names that differ from SPDX's are not guessed at."""
    file = pathlib.Path(f"/usr/share/doc/{name}/copyright")
    text = file.read_text(errors="replace") if file.exists() else ""
    main = re.search(r"^Files: \*\n(?:.+\n)*?License: (\S+)$", text, re.M) if text.startswith("Format:") else None
    same = {"Apache-2.0", "BSD-3-clause", "BSD-3-Clause", "BSD-2-clause", "MIT", "Zlib", "LGPL-2.1+", "GPL-2+", "GPL-3+"}
    spelt = {"BSD-3-clause": "BSD-3-Clause", "BSD-2-clause": "BSD-2-Clause", "LGPL-2.1+": "LGPL-2.1-or-later",
             "GPL-2+": "GPL-2.0-or-later", "GPL-3+": "GPL-3.0-or-later"}
    return spelt.get(main[1], main[1]) if main and main[1] in same else "NOASSERTION"


def component(kind, name, version, purl, licence_id):
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", lambda m: f"-{ord(m[0]):x}-", f"{kind}-{name}"),
            "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": licence_id, "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]}


def of_debian(entry):
    purl = f"pkg:deb/debian/{entry['name']}@{entry['version']}?arch={entry['architecture']}&distro=debian-12"
    return component("deb", entry["name"], entry["version"], purl.replace("+", "%2B"), licence(entry["name"]))


def of_npm(path, entry):
    name = path.rpartition("node_modules/")[2]
    return component("npm", name, entry["version"], f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}",
                     entry.get("license", "NOASSERTION"))


def closure(fields, known, own):
    """(direct, indirect) dependencies that are installed here, as entries."""
    direct, seen, wanted = [], set(own), names(fields)
    level = direct
    indirect = []
    while wanted:
        following = []
        for alternatives in wanted:
            entry = next((known[a] for a in alternatives if a in known), None)
            if entry and entry["name"] not in seen:
                seen.add(entry["name"])
                level.append(entry)
                following += names(entry["depends"])
        wanted, level = following, indirect
    return direct, indirect


def document(deb, known):
    fields = dict(re.findall(r"^(\S+): (.*)$", output("dpkg-deb", "--field", str(deb)), re.M))
    name, version = fields["Package"], fields["Version"]
    digest = hashlib.sha256(deb.read_bytes()).hexdigest()
    me = component("deb", name, version, f"pkg:deb/fleetmark/{name}@{version}?arch={fields['Architecture']}", "NOASSERTION")
    me |= {"packageFileName": deb.name, "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
           "supplier": "Organization: " + fields["Maintainer"].partition(" <")[0], "primaryPackagePurpose": "APPLICATION"}
    parts, relations = [me], [("SPDXRef-DOCUMENT", "DESCRIBES", me)]

    def relate(other, relation):
        if other["SPDXID"] not in {p["SPDXID"] for p in parts}:
            parts.append(other)
        # "A is a runtime dependency of B" is the one that is said from the other's side.
        ends = (other["SPDXID"], me) if relation == "RUNTIME_DEPENDENCY_OF" else (me["SPDXID"], other)
        relations.append((ends[0], relation, ends[1]))

    for library in LINKED.get(name, ()):
        relate(of_debian(known[library]), "STATIC_LINK")
    if name in BUNDLED:
        lock = json.loads((ROOT / BUNDLED[name]).read_text())
        for path, entry in sorted(lock["packages"].items()):
            if path and not entry.get("dev"):
                relate(of_npm(path, entry), "CONTAINS")
    direct, indirect = closure(fields.get("Depends", ""), known, {name})
    for entry in direct:
        relate(of_debian(entry), "DEPENDS_ON")
    for entry in indirect:
        relate(of_debian(entry), "RUNTIME_DEPENDENCY_OF")
    made = int(os.environ.get("SOURCE_DATE_EPOCH") or
               output("git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "log", "-1", "--format=%ct"))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}-{version}",
            "documentNamespace": f"https://fleetmark.example.org/spdx/{name}-{version}-{digest}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(made)),
                             "creators": ["Tool: fleetmark-sbom"]},
            "packages": parts,
            "relationships": [{"spdxElementId": a, "relationshipType": r, "relatedSpdxElement": b["SPDXID"]}
                              for a, r, b in relations]}


def main(files):
    if not files or not all(f.endswith(".deb") for f in files):
        print("sbom.py: wants packages: sbom.py PACKAGE.deb...", file=sys.stderr)
        return 2
    known = installed()
    for file in map(pathlib.Path, files):
        file.with_suffix(".spdx.json").write_text(json.dumps(document(file, known), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
