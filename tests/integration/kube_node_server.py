"""A server that speaks the Kubernetes API as actions on nodes use it: nodes are got, listed in pages, and patched (JSON
merge patch; strategic merge of conditions under /status), events are created. Built from the published behaviour: a
patch with an old resourceVersion is 409, a second object of a name 409 AlreadyExists, a missing right 403."""

import copy
import http.server
import json
import ssl
import threading
import urllib.parse

TOKEN = "secret-of-the-test"


def node(name, ready=True):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "labels": {"rack": "r1"}},
            "spec": {"podCIDR": "10.0.0.0/24"},
            "status": {"nodeInfo": {"bootID": "boot-1", "kernelVersion": "6.1"}, "images": [],
                       "conditions": [{"type": "Ready", "status": "True" if ready else "Unknown", "message": "kubelet"}]}}


def merge(target, patch):
    """RFC 7386."""
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            merge(target.setdefault(key, {}), value)
        else:
            target[key] = value


class KubeNodes:
    """`forbidden`: verbs that are refused. `before_patch`: called once, with the lock held, before the next patch. `lose`:
    the next patch is done and its answer lost. `hang`: nothing is answered."""

    def __init__(self, names, certificate=None):
        self.nodes = {name: node(name) for name in names}
        self.events, self.requests = {}, []
        self.forbidden, self.before_patch, self.lose = set(), None, False
        self.hang, self.lock = threading.Event(), threading.RLock()
        self.free = threading.Event()
        handler = type("Handler", (_Handler,), {"kube": self})
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        scheme = "http"
        if certificate:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(*certificate)
            self.http.socket = tls.wrap_socket(self.http.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.free.set()
        self.http.shutdown()
        self.http.server_close()

    def person(self, name, change):
        """Somebody else's change of a node."""
        with self.lock:
            merge(self.nodes[name], change)
            self.touch(name)

    def touch(self, name):
        metadata = self.nodes[name]["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)


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

    def _dispatch(self):
        kube, url = self.kube, urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if kube.hang.is_set():
            kube.free.wait()
            self.close_connection = True
            return
        parts = url.path.strip("/").split("/")
        with kube.lock:
            kube.requests.append((self.command, self.path))
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self._refuse(401, "Unauthorized", "Unauthorized")
            elif self.command in kube.forbidden:
                self._refuse(403, "Forbidden", f'nodes is forbidden: User "fleetmark" cannot {self.command.lower()}')
            elif parts[2] == "namespaces":
                self._event(json.loads(body))
            elif len(parts) == 3:
                self._list(dict(urllib.parse.parse_qsl(url.query)))
            elif parts[3] not in kube.nodes:
                self._refuse(404, "NotFound", f'nodes "{parts[3]}" not found')
            elif self.command == "PATCH":
                self._patch(parts[3], parts[4:], json.loads(body))
            else:
                self._answer(200, kube.nodes[parts[3]])

    do_GET = do_PATCH = do_POST = _dispatch

    def _list(self, query):
        names = sorted(self.kube.nodes)
        begin, limit = int(query.get("continue", 0)), int(query["limit"])
        page = [self.kube.nodes[name] for name in names[begin:begin + limit]]
        more = {"continue": str(begin + limit)} if begin + limit < len(names) else {}
        self._answer(200, {"kind": "NodeList", "metadata": {"resourceVersion": "9", **more}, "items": page or None})

    def _patch(self, name, subresource, patch):
        kube = self.kube
        if kube.before_patch:
            once, kube.before_patch = kube.before_patch, None
            once()
        kind = self.headers.get("Content-Type")
        if kind != f"application/{'strategic-merge' if subresource else 'merge'}-patch+json":
            return self._refuse(415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {kind}")
        current = kube.nodes[name]
        if patch["metadata"].pop("resourceVersion") != current["metadata"]["resourceVersion"]:
            return self._refuse(409, "Conflict", "the object has been modified; please apply your changes to the latest version")
        changed = copy.deepcopy(current)
        if subresource == ["status"]:
            for condition in patch["status"]["conditions"]:
                others = [c for c in changed["status"]["conditions"] if c["type"] != condition["type"]]
                changed["status"]["conditions"] = others + [condition]
        else:
            merge(changed, patch)
        kube.nodes[name] = changed
        kube.touch(name)
        if kube.lose:
            kube.lose, self.close_connection = False, True
            return None
        return self._answer(200, kube.nodes[name])

    def _event(self, event):
        name = event["metadata"]["name"]
        if name in self.kube.events:
            return self._refuse(409, "AlreadyExists", f'events "{name}" already exists')
        self.kube.events[name] = event
        return self._answer(201, event)
