#!/usr/bin/env -S python3 -B
"""A benchmark as a Kubernetes job of any kind: a template becomes an object, which is created, followed with
its logs to its end, read and deleted."""

from __future__ import annotations

import re
import shutil
import socket
import sys
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, NoReturn, Optional, Sequence

import fleetmark_output
import kube_endings
from fleetmark_output import OutputError, PatternReader, SpecError, Value
from fleetmark_plugin import BadParameter, Plugin
from fleetmark_template import Template, TemplateError, load_parameters, load_template
from fleetmark_waiting import Clock, Stopped, run_plugin, seconds_until
from kube_api import (ApiError, HttpTransport, KubectlTransport, Resource, Transport, Unreachable, find_resource,
                      items)
from kube_config import ConfigError, NoCluster, find_access
from kube_endings import Ending, EndRules, Verdict
from kube_object import BENCHMARK_LABEL, OWNER, OWNER_LABEL, JobObject, ObjectError, label_value, parse_manifest, prepare
from kube_watch import KubeWatch, Patience, Target

RESERVE_SECONDS = 5.0
DELETE_SECONDS = 1.5  # the agent kills two seconds after it has asked


@dataclass(frozen=True)
class Job:
    """Everything that the parameters say, but the way to the API server."""

    object: JobObject
    rules: EndRules
    patience: Patience
    owner_selector: str  # of this benchmark's objects by this machine
    max_outstanding: int
    reader: str
    program: str
    patterns: PatternReader
    end_pattern: Optional[re.Pattern[str]]
    label_host: bool
    node_labels: Mapping[str, str]


def render(params: Mapping[str, object]) -> str:
    text, path = str(params["manifest"]), str(params["template"])
    if bool(text) == bool(path):
        raise BadParameter("template", "or 'manifest' must be set, and not both")
    template = Template(text, "manifest") if text else load_template(Path(path))
    parameters = dict(params["parameters"])  # type: ignore[call-overload]
    if params["parameter_file"]:
        parameters = {**load_parameters(Path(str(params["parameter_file"]))), **parameters}
    return template.render(parameters)


def end_rules(params: Mapping[str, object], kind: str) -> EndRules:
    """Those of a known kind, unless the parameters have others."""
    given = {}
    for name in ("success", "failure"):
        rules = params[name]
        if not isinstance(rules, list) or not all(
                isinstance(r, str) and re.fullmatch(r"(condition|phase):\w+|pods:(Succeeded|Failed)", r) for r in rules):
            raise BadParameter(name, "must be a list of condition:TYPE, phase:WORD or pods:Succeeded, pods:Failed")
        given[name] = tuple(rules)
    known = kube_endings.KNOWN_KINDS.get(kind, EndRules((), ()))
    rules = EndRules(given["success"] or known.success, given["failure"] or known.failure)
    if not rules.success or not rules.failure:
        raise BadParameter("success", "and 'failure' must say how a %s ends; this program doesn't know" % kind)
    return rules


def read_job(request: Mapping[str, object]) -> Job:
    params: Mapping[str, object] = request["params"]  # type: ignore[assignment]
    number = lambda name: float(str(params[name]))  # noqa: E731
    origin = str(params["template"] or "manifest")
    benchmark = "%s.%s" % (request["benchmark"], socket.gethostname())
    made = prepare(parse_manifest(render(params), origin), benchmark, str(request["run_id"]), str(params["queue"]),
                   int(number("job_time")), str(params["pod_selector"]) or None)
    if bool(params["reader"]) == bool(params["metrics"]):
        raise BadParameter("reader", "or 'metrics' must be set, and not both")
    try:
        end_pattern = re.compile(str(params["end_pattern"]), re.M) if params["end_pattern"] else None
    except re.error as error:
        raise BadParameter("end_pattern", "is no pattern: %s" % error) from None
    patience = Patience(number("max_pending"), number("start_patience"), number("api_patience"),
                        seconds_until(request.get("deadline_unix_ns")) - RESERVE_SECONDS, number("poll"))
    return Job(made, end_rules(params, made.kind), patience, "%s=%s" % (BENCHMARK_LABEL, label_value(benchmark)),
               int(number("max_outstanding")), str(params["reader"]), str(params["fleetmark"]),
               PatternReader.from_parameters(params["metrics"], params["sanity"], params["sanity_not"]), end_pattern,
               bool(params["label_host"]),
               {str(k): str(v) for k, v in dict(params["node_labels"]).items()})  # type: ignore[call-overload]


def open_transport(params: Mapping[str, object]) -> tuple[Transport, str]:
    """(the way to the API server, the namespace). ConfigError, NoCluster."""
    kubeconfig, context = str(params["kubeconfig"]), str(params["context"])
    if params["client"] == "kubectl":
        program = str(params["kubectl"])
        if shutil.which(program) is None:
            raise NoCluster("%s is not installed" % program)
        arguments = ["--kubeconfig=" + kubeconfig] if kubeconfig else []
        arguments += ["--context=" + context] if context else []
        return KubectlTransport(arguments, program), str(params["namespace"] or "default")
    access = find_access(kubeconfig, context)
    return HttpTransport(access), str(params["namespace"] or access.namespace)


class JobRun:
    """One run: creates, waits, reads. The object is deleted whenever the run ends."""

    def __init__(self, plugin: Plugin, job: Job, transport: Transport, namespace: str):
        self._plugin = plugin
        self._job = job
        self._transport = transport
        self._namespace = namespace
        self._resource: Optional[Resource] = None
        self._creating = False
        self._target: Optional[Target] = None
        self._watch: Optional[KubeWatch] = None

    def measure(self) -> None:
        try:
            self._resource = find_resource(self._transport, self._job.object.api_version, self._job.object.kind)
            self._make_room(self._resource)
            self._target = self._create(self._resource)
            watch = self._watch = KubeWatch(self._transport, self._target, self._job.rules, self._job.patience, Clock(),
                                            lambda text: self._plugin.progress(0, text), self._job.end_pattern)
            self._report(watch, watch.wait())
        except Unreachable as error:
            self._plugin.try_later("the API server can't be asked now: %s" % error)
        except ApiError as error:
            self._refused(error)
        finally:
            if self._watch is not None:
                self._watch.logs.close()
            self._take_back()

    def _refused(self, error: ApiError) -> NoReturn:
        if error.quota:
            self._plugin.try_later("no slot: %s" % error)
        if error.code in (400, 404, 422):
            self._plugin.bad_parameter("template", "is refused by the API server: %s" % error)
        self._plugin.fail("the API server refuses (%d %s): %s" % (error.code, error.reason, error))
        raise AssertionError("unreachable")

    def _listed(self, resource: Resource, selector: str) -> list[str]:
        found = items(self._transport.request(
            "GET", "%s?labelSelector=%s" % (resource.path(self._namespace), urllib.parse.quote(selector))))
        return [str(each["metadata"]["name"]) for each in found]  # type: ignore[index]

    def _make_room(self, resource: Resource) -> None:
        """Deletes what an earlier run of this benchmark lost, and waits for a turn if too much is there."""
        lost = self._listed(resource, self._job.owner_selector)
        for name in lost:
            self._plugin.event("%s, which an earlier run left behind, is deleted" % name)
            self._delete(resource.path(self._namespace, name), None)
        if lost:
            self._plugin.try_later("objects of an earlier run had to be deleted first")
        there = self._listed(resource, "%s=%s" % (OWNER_LABEL, OWNER))
        if len(there) >= self._job.max_outstanding:
            self._plugin.try_later("no slot: %d benchmark jobs are in %s, %d are allowed" % (
                len(there), self._namespace, self._job.max_outstanding))

    def _create(self, resource: Resource) -> Target:
        self._creating = True
        try:
            made = self._transport.request("POST", resource.path(self._namespace), self._job.object.body)
        except ApiError:
            self._creating = False
            raise
        name = str(made["metadata"]["name"])  # type: ignore[index]
        self._plugin.log("%s %s/%s is created" % (self._job.object.kind, self._namespace, name))
        return Target(resource, self._namespace, name, self._job.object.selector(name))

    def _delete(self, path: str, timeout: Optional[float]) -> bool:
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        try:
            self._transport.request("DELETE", path + "?propagationPolicy=Background", options, timeout)
        except ApiError as error:
            return error.not_found
        except Unreachable:
            return False
        return True

    def _take_back(self) -> None:
        seconds = DELETE_SECONDS if isinstance(sys.exc_info()[1], Stopped) else None
        if self._target is not None:
            if not self._delete(self._target.path, seconds):
                print("%s could not be deleted; the next run does it" % self._target.name, file=sys.stderr)
        elif self._creating and self._resource is not None:
            try:  # the answer was lost, and with it the name
                for name in self._listed(self._resource, self._job.owner_selector):
                    self._delete(self._resource.path(self._namespace, name), seconds)
            except (ApiError, Unreachable) as error:
                print("what was created may still be there; the next run deletes it: %s" % error, file=sys.stderr)

    def _report(self, watch: KubeWatch, verdict: Verdict) -> None:
        if verdict.ending is Ending.LATER:
            if verdict.node:
                self._plugin.event("Kubernetes: %s" % verdict.reason)
            self._plugin.try_later(verdict.reason)
        if verdict.ending is Ending.FAILED:
            uids = {str(pod["metadata"].get("uid")) for pod in watch.pods}
            watch.logs.finish(2)
            print("The pods' logs end with:\n%s" % fleetmark_output.decode(watch.logs.text(uids))[0][-4000:],
                  file=sys.stderr)
            self._plugin.fail(verdict.reason)
        try:
            values = self._read_values(watch)
        except OutputError as error:
            self._plugin.invalid(str(error))
            return
        fleetmark_output.write_values(self._plugin, values, self._labels(watch))

    def _read_values(self, watch: KubeWatch) -> Sequence[Value]:
        data = watch.output()
        if watch.logs.truncated:
            raise OutputError("a pod's log is larger than is kept")
        text = fleetmark_output.decode(data)[0]
        if not self._job.reader:
            return self._job.patterns.read(text)
        self._job.patterns.check(text)
        path = Path("output.txt")
        path.write_text(text, "utf-8")
        return fleetmark_output.read_by_program(self._job.program, self._job.reader, path)

    def _labels(self, watch: KubeWatch) -> dict[str, str]:
        """The node, and what its own labels say of it, when all pods ran on one."""
        nodes = {kube_endings.pod_node(pod) for pod in watch.pods if kube_endings.pod_trouble(pod) is None} - {""}
        if len(nodes) != 1:
            return {}
        node = nodes.pop()
        labels = {"host": node} if self._job.label_host else {}
        if self._job.node_labels:
            try:
                metadata = self._transport.request("GET", "/api/v1/nodes/" + urllib.parse.quote(node)).get("metadata")
                there = (metadata if isinstance(metadata, dict) else {}).get("labels") or {}
                labels.update({k: str(there[v]) for k, v in self._job.node_labels.items() if v in there})
            except (ApiError, Unreachable) as error:
                raise OutputError("the labels of node %s can't be read: %s" % (node, error)) from None
        return labels


def run(plugin: Plugin) -> None:
    try:
        job = read_job(plugin.request)
    except SpecError as error:
        plugin.bad_parameter("metrics", "is wrong: %s" % error)
    except (TemplateError, ObjectError) as error:
        plugin.bad_parameter("template", "is wrong: %s" % error)
    try:
        transport, namespace = open_transport(plugin.params)
        JobRun(plugin, job, transport, namespace).measure()
    except ConfigError as error:
        plugin.bad_parameter("kubeconfig", "can't be used: %s" % error)
    except NoCluster as error:
        plugin.skip("no Kubernetes cluster is known here: %s" % error)


if __name__ == "__main__":
    run_plugin(run)
