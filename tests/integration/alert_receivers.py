"""Receivers for tests of alerts: a webhook server that does as it is told, and a real Alertmanager."""

import hashlib
import hmac
import http.server
import json
import pathlib
import socket
import threading
import time

import prometheus_server

SECRET = b"not for the log"


class Webhook:
    """Takes posts. `mode` is what it does with the next ones:

    ok        200
    fail      500
    refuse    400
    hang      takes the request and never answers
    half_open takes the connection and reads nothing
    """

    def __init__(self):
        self.mode = "ok"
        self.taken = []     # bodies that were answered with 200, in their order
        self.headers = []   # theirs
        self.attempts = 0
        self.lock = threading.Lock()
        self.released = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                with outer.lock:
                    outer.attempts += 1
                    mode = outer.mode
                if mode == "half_open":
                    outer.released.wait(60)
                    return
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if mode == "hang":
                    outer.released.wait(60)
                    return
                if mode == "ok":
                    with outer.lock:
                        outer.taken.append(body)
                        outer.headers.append(dict(self.headers))
                self.send_response({"ok": 200, "fail": 500, "refuse": 400}[mode])
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"

    def events(self):
        with self.lock:
            return [json.loads(body) for body in self.taken]

    def signed(self, secret=SECRET):
        """Whether every event that was taken bears a right signature."""
        with self.lock:
            pairs = list(zip(self.taken, self.headers))
        for body, headers in pairs:
            stamp, _, mac = headers["Fleetmark-Signature"].partition(",v1=")
            stamp = stamp.removeprefix("t=")
            wanted = hmac.new(secret, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
            if not hmac.compare_digest(mac, wanted) or abs(int(stamp) - time.time()) > 600:
                return False
        return True

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


class Alertmanager:
    """The real one, on the same port each time it is started."""

    def __init__(self, folder, hook_url):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = prometheus_server.free_port()
        self.config = self.folder / "am.yml"
        self.config.write_text(
            "route: {receiver: hook, group_by: ['...'], group_wait: 1s, group_interval: 1s, repeat_interval: 1h}\n"
            f"receivers: [{{name: hook, webhook_configs: [{{url: '{hook_url}', send_resolved: true}}]}}]\n")
        self.server = None

    def start(self):
        self.server = prometheus_server.Server(
            ["prometheus-alertmanager", f"--config.file={self.config}", f"--storage.path={self.folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}", "--cluster.listen-address="],
            self.port, "/-/ready", self.folder / "log")
        return self

    def kill(self):
        self.server.process.kill()
        self.server.process.wait()

    def stop(self):
        if self.server is not None:
            self.server.stop()

    def alerts(self):
        return prometheus_server.request(self.port, "/api/v2/alerts")[1]


class HangingPort:
    """Accepts connections and never says a word."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                self.connections.append(self.listener.accept()[0])
            except OSError:
                return

    def close(self):
        self.listener.close()
        for connection in self.connections:
            connection.close()
