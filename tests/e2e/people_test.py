"""Who of the people may what, with the real programs: each role on each method of the real server, tokens that are wrong,
ended or taken back, and no secret where it does not belong."""

import json
import os
import pathlib
import re
import socket
import stat
import subprocess
import time
import unittest
import urllib.error
import urllib.request

from harness import BIN, SOURCE, Collector, EndToEndTest, free_port, wait_for

PEOPLE = "people: {requests_per_second: 10000}\n"
API = "/api/fleetmark/v1/"
ROLES = ["viewer", "operator", "admin"]
# gRPC's numbers.
UNAUTHENTICATED, PERMISSION_DENIED = 16, 7


def methods():
    """{"/package.Service/Method"} of the service definitions."""
    found = set()
    for path in sorted((SOURCE / "proto").rglob("*.proto")):
        text = re.sub(r"//[^\n]*", "", path.read_text())
        package = re.search(r"^package ([\w.]+);", text, re.M).group(1)
        for service, body in re.findall(r"^service (\w+) \{(.*?)^\}", text, re.M | re.S):
            found.update(f"/{package}.{service}/{m}" for m in re.findall(r"\brpc (\w+)\(", body))
    return sorted(found)


def needed(method):
    """The least role that may, by the method's name alone; None: not people's."""
    service, name = re.match(r"/[\w.]+\.(\w+)/(\w+)", method).groups()
    if service in ("AgentService", "JoinService", "CertificateService", "Health"):
        return None
    if name in ("Backup",) or service == "AuditService":
        return "admin"
    return "viewer" if re.match("Get|List|Read|Compare", name) else "operator"


def grpc(port, method, token="", tls=None):
    """gRPC's status of a call with an empty message."""
    command = ["curl", "-sS", "-o", "/dev/null", "-D", "-", "--max-time", "20", "-H", "content-type: application/grpc",
               "-H", "te: trailers", "--data-binary", "@-"]
    command += ["--cacert", str(tls), "--http2"] if tls else ["--http2-prior-knowledge"]
    if token:
        # Not as an argument, which everybody may read.
        command += ["-H", "@/dev/fd/3"]
    read, write = os.pipe()
    os.write(write, f"authorization: Bearer {token}\n".encode())
    os.close(write)
    script = "exec 3<&%d; exec \"$@\"" % read
    done = subprocess.run(["sh", "-c", script, "sh", *command, f"{'https' if tls else 'http'}://127.0.0.1:{port}{method}"],
                          input=b"\0\0\0\0\0", capture_output=True, timeout=60, pass_fds=(read,))
    os.close(read)
    status = re.search(rb"grpc-status: (\d+)", done.stdout)
    return int(status.group(1)) if status else None


class PeopleTest(EndToEndTest):
    def with_people(self, extra="", people=PEOPLE):
        return self.collector(extra=people + extra)

    def token(self, collector, name, role, *flags):
        done = subprocess.run([str(BIN / "fleetmark-collector"), "--config", str(collector.config), "token", "create", name,
                               f"--role={role}", *flags], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.secrets = getattr(self, "secrets", []) + [done.stdout.strip().split(".")[-1]]
        return done.stdout.strip()

    def ask(self, collector, path, token="", body=None, headers=()):
        """(HTTP status, headers, text)"""
        request = urllib.request.Request(f"http://127.0.0.1:{collector.http_port}{path}", data=body, headers=dict(headers))
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def cli(self, collector, *args, token="", file=None, address=None, **env):
        environment = {**os.environ, **env}
        environment.pop("FLEETMARK_TOKEN", None)
        if token:
            environment["FLEETMARK_TOKEN"] = token
        more = ["--token-file", str(file)] if file else []
        return subprocess.run([str(BIN / "fleetmark"), "--collector", address or f"127.0.0.1:{collector.grpc_port}", *more, *args],
                              capture_output=True, text=True, timeout=60, env=environment)

    def test_each_role_on_each_method(self):
        collector = self.with_people()
        tokens = {role: self.token(collector, f"a {role}", role) for role in ROLES}
        tokens[None] = ""
        narrow = self.token(collector, "prometheus", "admin", "--scope=prometheus,metrics")
        tried = 0
        for method in methods():
            least = needed(method)
            if least is None:
                continue
            for role, token in tokens.items():
                may = role is not None and ROLES.index(role) >= ROLES.index(least)
                status = grpc(collector.grpc_port, method, token)
                tried += 1
                if may:
                    self.assertNotIn(status, (UNAUTHENTICATED, PERMISSION_DENIED, None), f"{method} as {role}")
                else:
                    self.assertEqual(status, PERMISSION_DENIED if role else UNAUTHENTICATED, f"{method} as {role}")
            self.assertEqual(grpc(collector.grpc_port, method, narrow), PERMISSION_DENIED, method)
        self.assertGreater(tried, 100)

    def test_tokens_over_http_and_the_command_line(self):
        collector = self.with_people()
        viewer = self.token(collector, "grafana", "viewer", "--scope=prometheus")
        operator = self.token(collector, "alice", "operator")
        self.assertEqual(self.ask(collector, API + "status")[0], 401)
        self.assertEqual(self.ask(collector, "/metrics")[0], 401)
        self.assertEqual(self.ask(collector, "/healthz")[0], 200)
        self.assertEqual(self.ask(collector, API + "status", operator)[0], 200)
        self.assertEqual(self.ask(collector, "/api/v1/query?query=1", viewer)[0], 200)
        self.assertEqual(self.ask(collector, API + "status", viewer)[0], 403)

        # Who is known stands for who they say they are.
        event = json.dumps({"event": {"kind": "KIND_NOTE", "message": "m", "author": "somebody else"}}).encode()
        json_type = [("Content-Type", "application/json")]
        self.assertEqual(self.ask(collector, API + "events", operator, event, json_type)[0], 200)
        self.assertEqual(self.cli(collector, "note", "-", "by gRPC", token=operator).returncode, 0)
        events = json.loads(self.ask(collector, API + "events", operator)[2])["events"]
        self.assertEqual({e["author"] for e in events}, {"alice"})

        file = self.folder / "token"
        file.write_text(operator + "\n")
        for how in ({"token": operator}, {"file": file}):
            done = self.cli(collector, "status", **how)
            self.assertEqual(done.returncode, 0, done.stderr)
        done = self.cli(collector, "status")
        self.assertEqual((done.returncode, done.stdout), (5, ""), done.stderr)
        self.assertIn("token", done.stderr)
        done = self.cli(collector, "backup", token=operator)
        self.assertEqual(done.returncode, 5)
        self.assertIn("admin", done.stderr)
        # Not in plain text to other machines.
        done = self.cli(collector, "status", token=operator, address="192.0.2.1:9410")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("plain text", done.stderr)

    def test_tokens_end_and_are_taken_back_at_once(self):
        collector = self.with_people()
        short = self.token(collector, "short", "viewer", "--expires=2s")
        alice = self.token(collector, "alice", "viewer")
        self.assertEqual(self.ask(collector, API + "status", short)[0], 200)
        wait_for("it ends", lambda: self.ask(collector, API + "status", short)[0] == 401, 30)
        status, output = collector.command("token", "list")
        self.assertEqual(status, 0)
        self.assertRegex(output, r"viewer +all +\S+ \(expired\) short\n")
        # A page that follows changes.
        page = socket.create_connection(("127.0.0.1", collector.http_port), timeout=30)
        page.sendall(f"GET {API}changes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {alice}\r\n\r\n".encode())
        self.assertIn(b"200 OK", page.recv(4096))
        status, output = collector.command("token", "revoke", "alice")
        self.assertEqual((status, output), (0, "revoked: 1\n"))
        self.assertEqual(self.ask(collector, API + "status", alice)[0], 401)
        self.assertEqual(grpc(collector.grpc_port, "/fleetmark.v1.FleetService/GetStatus", alice), UNAUTHENTICATED)
        while page.recv(4096):  # until it is ended; the socket's time limit fails the test
            pass
        page.close()
        status, output = collector.command("token", "revoke", "alice")
        self.assertEqual(status, 1)
        for wrong in (["create", "x", "--role=root"], ["create", "x", "--expires=9000d"], ["create", "x", "--scope=y"],
                      ["create"], ["steal"]):
            status, output = collector.command("token", *wrong)
            self.assertEqual(status, 2, output)

    def test_a_page_logs_in_by_a_cookie_that_no_other_site_can_use(self):
        collector = self.with_people()
        token = self.token(collector, "alice", "operator")
        own = ("Origin", f"http://127.0.0.1:{collector.http_port}")
        self.assertIn('"role":"nobody"', self.ask(collector, API + "whoami")[2])
        self.assertEqual(self.ask(collector, API + "login", "fmt1.x.y", b"", [own])[0], 401)
        self.assertEqual(self.ask(collector, API + "login", token, b"", [("Origin", "http://evil.example")])[0], 403)
        status, headers, body = self.ask(collector, API + "login", token, b"", [own])
        self.assertEqual(status, 200, body)
        self.assertNotIn(token, body)
        cookie = headers["Set-Cookie"]
        for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(part, cookie)
        shown = [("Cookie", "other=1; " + cookie.split(";")[0])]
        self.assertEqual(self.ask(collector, API + "status", headers=shown)[0], 200)
        self.assertIn('"name":"alice","role":"operator"', self.ask(collector, API + "whoami", headers=shown)[2])
        event = json.dumps({"event": {"kind": "KIND_NOTE", "message": "m"}}).encode()
        json_type = ("Content-Type", "application/json")
        for origin, wanted in ((own[1], 200), ("http://evil.example", 403), ("null", 403)):
            headers = [*shown, json_type, ("Origin", origin)]
            self.assertEqual(self.ask(collector, API + "events", body=event, headers=headers)[0], wanted, origin)
        headers = [*shown, ("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", "cross-site")]
        self.assertEqual(self.ask(collector, "/api/v1/query", body=b"query=1", headers=headers)[0], 403)
        status, headers, _ = self.ask(collector, API + "logout", body=b"", headers=[own])
        self.assertIn("Max-Age=0", headers["Set-Cookie"])

    def test_every_answer_tells_browsers_what_they_may(self):
        collector = self.with_people()
        for path in ("/healthz", "/nothing", API + "status", "/metrics"):
            headers = self.ask(collector, path)[1]
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff", path)
            self.assertEqual(headers["Referrer-Policy"], "no-referrer", path)
            self.assertEqual(headers["X-Frame-Options"], "DENY", path)
            self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"], path)
            self.assertEqual(len(headers.get_all("Content-Security-Policy")), 1, path)

    def test_too_much_of_one_does_not_hinder_others(self):
        collector = self.with_people(people="people: {requests_per_second: 5}\n")
        alice, bob = self.token(collector, "alice", "viewer"), self.token(collector, "bob", "viewer")
        answers = [self.ask(collector, API + "status", alice) for _ in range(80)]
        refused = [headers for status, headers, _ in answers if status == 429]
        self.assertGreater(len(refused), 10)
        self.assertEqual(refused[0]["Retry-After"], "5")
        self.assertEqual(self.ask(collector, API + "status", bob)[0], 200)
        statuses = {self.ask(collector, API + "status", "fmt1.x.y")[0] for _ in range(80)}
        self.assertEqual(statuses, {401, 429})
        self.assertEqual(self.ask(collector, "/healthz")[0], 200)

    def test_a_proxy_is_trusted_by_its_address(self):
        proxy = "people: {proxy: {from: [127.0.0.0/8], roles: {ops: operator}, otherwise: viewer}}\n"
        collector = self.with_people(people=proxy)
        user = [("X-Forwarded-User", "alice"), ("X-Forwarded-Groups", "staff,ops")]
        self.assertEqual(self.ask(collector, API + "status")[0], 401)
        self.assertIn('"name":"alice","role":"operator"', self.ask(collector, API + "whoami", headers=user)[2])
        other = self.collector("other", extra=proxy.replace("127.0.0.0/8", "192.0.2.7"))
        self.assertEqual(self.ask(other, API + "status", headers=user)[0], 401)

    def test_without_the_section_the_log_says_that_nobody_is_asked(self):
        collector = self.collector()
        self.assertEqual(self.ask(collector, API + "status")[0], 200)
        self.assertIn("every user of this machine may do everything", collector.process.text())
        status, output = collector.command("token", "create", "early")
        self.assertEqual(status, 0)
        self.assertIn("nobody is asked for it yet", output)

    def test_a_token_needs_no_certificate_but_tls(self):
        join = free_port()
        collector = Collector(self.folder / "collector", extra=(
            PEOPLE + f"authority: {{listen: '127.0.0.1:{join}'}}\n"))
        self.started.append(collector)
        status, output = collector.command("ca", "init", "127.0.0.1", "localhost")
        self.assertEqual(status, 0, output)
        collector.start()
        ca = collector.folder / "data/authority/ca.pem"
        token = self.token(collector, "alice", "viewer")
        done = self.cli(collector, "--tls-ca", str(ca), "status", token=token)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.cli(collector, "--tls-ca", str(ca), "status").returncode, 5)
        status = "/fleetmark.v1.FleetService/GetStatus"
        self.assertEqual(grpc(collector.grpc_port, status, token, tls=ca), 0)
        # Nothing of a node's without a node's certificate, whatever token is shown.
        for service in ("/fleetmark.v1.AgentService/Connect", "/fleetmark.v1.CertificateService/Renew"):
            admin = self.token(collector, "root", "admin")
            self.assertNotEqual(grpc(collector.grpc_port, service, admin, tls=ca), 0, service)

    def test_no_secret_is_where_it_does_not_belong(self):
        collector = self.with_people()
        token = self.token(collector, "alice", "admin")
        wrong = "fmt1.0123456789abcdef." + "5ec2e7" * 10 + "5ec2"
        self.secrets.append(wrong.split(".")[-1])
        self.ask(collector, API + "status", token)
        self.ask(collector, API + "status", wrong)
        self.ask(collector, API + f"status?token={wrong}", wrong)
        self.cli(collector, "note", "-", "x", token=token)
        self.cli(collector, "status", token=wrong)
        collector.command("token", "list")
        data = pathlib.Path(collector.data_dir)
        self.assertEqual(stat.S_IMODE((data / "people").stat().st_mode), 0o700)
        places = {"log": collector.process.text(),
                  "arguments": pathlib.Path(f"/proc/{collector.process.pid}/cmdline").read_text(),
                  "status": self.ask(collector, API + "status", token)[2],
                  "metrics": self.ask(collector, "/metrics", token)[2],
                  "whoami": self.ask(collector, API + "whoami", token)[2]}
        for path in data.rglob("*"):
            if path.is_file():
                places[str(path)] = path.read_bytes().decode("latin-1")
        for place, text in places.items():
            for secret in self.secrets:
                self.assertNotIn(secret, text, place)
        self.assertIn("a request was refused", places["log"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
