"""The object that is created: read from a rendered template, named and labelled so that it, its pods and what
a lost run left of it are found again."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional

RUN_LABEL = "fleetmark.io/run"
BENCHMARK_LABEL = "fleetmark.io/benchmark"
OWNER_LABEL = "app.kubernetes.io/managed-by"
OWNER = "fleetmark"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
# Where no pod template is in the object, another object makes the pods and labels them.
_POD_SELECTORS: Mapping[str, str] = {
    "TrainJob": "jobset.sigs.k8s.io/jobset-name={name}",
}


class ObjectError(Exception):
    """What is wrong with the manifest."""


def label_value(text: str) -> str:
    """As labels allow it: short texts stay readable, the rest is told apart by a digest."""
    clean = re.sub(r"[^A-Za-z0-9_.-]", "-", text).strip("-_.")
    if clean == text and len(text) <= 63 and text:
        return text
    return ("%s-%s" % (clean[:46].rstrip("-_."), hashlib.sha256(text.encode()).hexdigest()[:16])).lstrip("-")


def parse_manifest(text: str, origin: str) -> dict[str, Any]:
    """One object, JSON or YAML. ObjectError."""
    try:
        if text.lstrip().startswith("{"):
            found = [json.loads(text)]
        else:
            import yaml
            found = [each for each in yaml.safe_load_all(text) if each is not None]
    except ImportError:
        raise ObjectError("%s: reading YAML needs python3-yaml; JSON needs nothing" % origin) from None
    except ValueError as error:
        raise ObjectError("%s: %s" % (origin, error)) from None
    except yaml.YAMLError as error:
        raise ObjectError("%s: %s" % (origin, " ".join(str(error).split()))) from None
    if len(found) != 1 or not isinstance(found[0], dict):
        raise ObjectError("%s: must hold one object, not %d" % (origin, len(found)))
    for key in ("apiVersion", "kind"):
        if not isinstance(found[0].get(key), str):
            raise ObjectError("%s: '%s' must be set" % (origin, key))
    if not isinstance(found[0].get("spec"), dict):
        raise ObjectError("%s: 'spec' must be a map" % origin)
    return found[0]


def pod_templates(value: Any) -> Iterator[dict[str, Any]]:
    """Every pod template in an object, at whatever depth: replicaSpecs, replicatedJobs, plain Jobs."""
    if isinstance(value, dict):
        spec = value.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            yield value
        for each in value.values():
            yield from pod_templates(each)
    elif isinstance(value, list):
        for each in value:
            yield from pod_templates(each)


@dataclass(frozen=True)
class JobObject:
    body: dict[str, Any]
    pod_selector: str  # with {name}; a label selector of the pods

    @property
    def api_version(self) -> str:
        return str(self.body["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    def selector(self, name: str) -> str:
        return self.pod_selector.replace("{name}", name)


def prepare(body: dict[str, Any], benchmark: str, run_id: str, queue: str, job_seconds: int,
            pod_selector: Optional[str] = None) -> JobObject:
    """`body` with a generated name, labels, the queue, and for a plain Job ends of its own should this run be
    lost: a time limit and the time after which the cluster removes it."""
    metadata = body.setdefault("metadata", {})
    metadata.pop("name", None)
    # With the five letters that the server adds, at most 35: longer names of an IPUJob don't get their IPUs.
    metadata["generateName"] = "fm-%s-" % (re.sub(r"[^a-z0-9-]", "-", benchmark.lower())[:26].strip("-") or "job")
    labels = {OWNER_LABEL: OWNER, BENCHMARK_LABEL: label_value(benchmark), RUN_LABEL: label_value(run_id)}
    metadata["labels"] = {**(metadata.get("labels") or {}), **labels, **({QUEUE_LABEL: queue} if queue else {})}
    templates = list(pod_templates(body["spec"]))
    for template in templates:
        pod = template.setdefault("metadata", {})
        pod["labels"] = {**(pod.get("labels") or {}), **labels}
    if body["kind"] == "Job":
        if job_seconds:
            body["spec"].setdefault("activeDeadlineSeconds", job_seconds)
        body["spec"].setdefault("ttlSecondsAfterFinished", 3600)
    selector = pod_selector or ("%s=%s" % (RUN_LABEL, labels[RUN_LABEL]) if templates else
                                _POD_SELECTORS.get(body["kind"], ""))
    if not selector:
        raise ObjectError("%s has no pod template: set pod_selector to the labels of its pods" % body["kind"])
    return JobObject(body, selector)
