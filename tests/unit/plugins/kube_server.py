"""A server that speaks the Kubernetes API as far as the plugin kubernetes_job uses it: discovery, create, get,
list by labels, delete, logs that are followed, errors as Status objects. What becomes of a created object is a
story: a list of steps, one of which is taken at each look at the object.

Built from the published behaviour of the API server: empty lists come as null, a log ends with its container,
a deleted object is 404, a broken server is 500 or closes the connection.
"""

import contextlib
import http.server
import json
import ssl
import threading
import time
import urllib.parse

KINDS = {
    "batch/v1": {"Job": "jobs"},
    "kubeflow.org/v1": {"TFJob": "tfjobs", "PyTorchJob": "pytorchjobs"},
    "kubeflow.org/v2beta1": {"MPIJob": "mpijobs"},
    "trainer.kubeflow.org/v1alpha1": {"TrainJob": "trainjobs"},
    "graphcore.ai/v1alpha1": {"IPUJob": "ipujobs"},
    "example.com/v1": {"Bench": "benches"},
}


def pod(name, phase="Running", node="node-1", log=(), labels=None, **status):
    """A pod with one container; `log` is what it has printed so far."""
    containers = status.pop("containers", [{
        "name": "main", "restartCount": status.pop("restarts", 0),
        "state": status.pop("state", {"Running": {"running": {}}, "Pending": {"waiting": {"reason": "ContainerCreating"}},
                                      "Succeeded": {"terminated": {"exitCode": 0, "reason": "Completed"}},
                                      "Failed": {"terminated": {"exitCode": 1, "reason": "Error"}}}[phase])}])
    return {"metadata": {"name": name, "uid": "uid-" + name, "labels": labels or {}},
            "spec": {"nodeName": node} if node else {},
            "status": {"phase": phase, "containerStatuses": containers, **status}, "_log": list(log)}


def condition(kind, status="True", **more):
    return {"type": kind, "status": status, **more}


class Step:
    """One moment of a story: the job's status, its pods, other fields of the object, or an answer instead."""

    def __init__(self, status=None, pods=(), spec=None, gone=False, broken=None):
        self.status, self.pods, self.spec, self.gone, self.broken = status or {}, pods, spec or {}, gone, broken


class KubeServer:
    """`stories`: kind → list of Steps. `refuse`: (code, reason, message) for creations."""

    def __init__(self, stories, refuse=None, token="secret", certificate=None, lose_creation=False):
        self.stories, self.refuse, self.token, self.lose_creation = stories, refuse, token, lose_creation
        self.objects, self.at, self.created, self.requests = {}, {}, [], []
        self.nodes = {"node-1": {"nvidia.com/gpu.product": "H100"}}
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"kube": self})
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        scheme = "http"
        if certificate:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(*certificate)
            self.http.socket = tls.wrap_socket(self.http.socket, server_side=True)
            scheme = "https"
        self.url = "%s://127.0.0.1:%d" % (scheme, self.http.server_address[1])
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def step(self, name):
        story = self.stories[self.objects[name]["kind"]]
        return story[min(self.at[name], len(story) - 1)]

    def pods(self):
        """Those of all objects, labelled as a controller labels them by their object's template."""
        found = []
        for name, thing in self.objects.items():
            if name in self.at and not self.step(name).gone:
                for each in self.step(name).pods:
                    labels = {**thing["metadata"].get("labels", {}), "jobset.sigs.k8s.io/jobset-name": name,
                              "training.kubeflow.org/job-name": name, **each["metadata"]["labels"]}
                    found.append({**each, "metadata": {**each["metadata"], "labels": labels}})
        return found

    def log_of(self, name):
        """(lines, has its container ended) now; None when there is no such pod."""
        for each in self.pods():
            if each["metadata"]["name"] == name:
                return each["_log"], each["status"]["phase"] in ("Succeeded", "Failed")
        return None


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self, code, body):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _refuse(self, code, reason, message):
        self._answer(code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                            "message": message})

    def _body(self):
        """The object sent, whole or, as kubectl does, in chunks."""
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        while self.headers.get("Transfer-Encoding") == "chunked":
            size = int(self.rfile.readline(), 16)
            data += self.rfile.read(size)
            self.rfile.readline()
            if size == 0:
                break
        return json.loads(data) if data else None

    def handle(self):
        with contextlib.suppress(ConnectionError):  # a client that is gone
            super().handle()

    def _dispatch(self):
        kube, url = self.kube, urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        parts = url.path.strip("/").split("/")
        body = self._body()
        with kube.lock:
            kube.requests.append((self.command, self.path))
        if kube.token and self.headers.get("Authorization") != "Bearer " + kube.token:
            return self._refuse(401, "Unauthorized", "Unauthorized")
        if "namespaces" not in parts:
            return self._cluster_wide(parts)
        at = parts.index("namespaces") + 2
        if parts[at] == "pods":
            return self._pods(parts[at + 1:], query)
        return self._object("/".join(parts[1:at - 2]), parts[at], parts[at + 1:], query, body)

    do_GET = do_POST = do_DELETE = _dispatch

    def _cluster_wide(self, parts):
        if parts[:3] == ["api", "v1", "nodes"] and parts[-1] in self.kube.nodes:
            return self._answer(200, {"metadata": {"name": parts[-1], "labels": self.kube.nodes[parts[-1]]}})
        kinds = KINDS.get("/".join(parts[1:]))
        if kinds is None:
            return self._refuse(404, "NotFound", "the server could not find the requested resource")
        listed = [{"name": plural, "kind": kind, "namespaced": True} for kind, plural in kinds.items()]
        listed += [{"name": plural + "/status", "kind": kind, "namespaced": True} for kind, plural in kinds.items()]
        return self._answer(200, {"kind": "APIResourceList", "resources": listed})

    @staticmethod
    def _selected(things, query):
        wanted = [w.split("=") for w in query.get("labelSelector", "").split(",") if w]
        return [t for t in things if all(t["metadata"].get("labels", {}).get(k) == v for k, v in wanted)]

    def _object(self, api_version, plural, rest, query, body):
        kube = self.kube
        with kube.lock:
            if self.command == "POST":
                return self._create(api_version, plural, body)
            if not rest:
                return self._answer(200, {"items": self._selected(kube.objects.values(), query) or None})
            if rest[0] not in kube.objects:
                return self._refuse(404, "NotFound", '%s "%s" not found' % (plural, rest[0]))
            if self.command == "DELETE":
                kube.objects.pop(rest[0])
                return self._answer(200, {"kind": "Status", "status": "Success"})
            kube.at[rest[0]] = kube.at.get(rest[0], -1) + 1
            step, thing = kube.step(rest[0]), kube.objects[rest[0]]
        if step.broken == "close":
            self.close_connection = True
            return None
        if step.broken:
            return self._refuse(step.broken, "InternalError", "etcdserver: request timed out")
        if step.gone:
            return self._refuse(404, "NotFound", "not found")
        return self._answer(200, {**thing, "spec": {**thing["spec"], **step.spec}, "status": step.status})

    def _create(self, api_version, plural, body):
        kube = self.kube
        if kube.refuse:
            return self._refuse(*kube.refuse)
        if body["apiVersion"] != api_version or KINDS[api_version].get(body["kind"]) != plural:
            return self._refuse(400, "BadRequest", "the object does not belong to this path")
        kube.created.append(body)
        name = "%sa%04d" % (body["metadata"]["generateName"], len(kube.created))
        kube.objects[name] = {**body, "metadata": {**body["metadata"], "name": name, "uid": "u" + name}}
        if kube.lose_creation:
            self.close_connection = True
            return None
        return self._answer(201, kube.objects[name])

    def _pods(self, rest, query):
        kube = self.kube
        if len(rest) == 2 and rest[1] == "log":
            return self._log(rest[0], query)
        with kube.lock:
            found = self._selected(kube.pods(), query)
        return self._answer(200, {"items": [{k: v for k, v in p.items() if k != "_log"} for p in found] or None})

    def _log(self, name, query):
        """What there is, and with follow what comes, until the container has ended or its pod is gone."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        sent = 0
        while True:
            with self.kube.lock:
                now = self.kube.log_of(name)
            for line in (now[0] if now else [])[sent:]:
                data = line if isinstance(line, bytes) else (line + "\n").encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()
                sent += 1
            if now is None or now[1] or "follow" not in query:
                break
            time.sleep(0.02)
        self.wfile.write(b"0\r\n\r\n")
