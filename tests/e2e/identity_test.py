"""Who may speak with a collector, with real TLS and the real programs: joining by token, renewal, revocation, and each
kind of certificate that must not be let in."""

import datetime
import os
import pathlib
import re
import socket
import ssl
import stat
import subprocess
import unittest

from harness import BIN, Collector, EndToEndTest, free_port, wait_for

TICK = {"name": "tick", "plugin": "tick", "schedule": "every 1s"}
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


def openssl(*args, cwd):
    done = subprocess.run(["openssl", *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"openssl {args}:\n{done.stderr}")
    return done.stdout


class Authority:
    """One of a site's own, by openssl; or with `key`, the key of a collector's."""

    CONFIG = """[ca]
default_ca = own
[own]
database = index.txt
new_certs_dir = .
certificate = ca.pem
private_key = ca.key
default_md = sha256
policy = any
rand_serial = yes
unique_subject = no
copy_extensions = none
[any]
commonName = supplied
"""

    def __init__(self, folder, copy_of=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        (self.folder / "index.txt").touch()
        (self.folder / "ca.cnf").write_text(self.CONFIG)
        if copy_of is not None:
            for name in ("ca.pem", "ca.key"):
                (self.folder / name).write_bytes((copy_of / name).read_bytes())
        else:
            openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=site authority", "-keyout", "ca.key", "-out", "ca.pem", cwd=self.folder)

    def sign(self, name, cn, san="", usage="clientAuth", begin=-1, end=1):
        """A file with key and certificate, valid from `begin` to `end` in days from now."""
        now = datetime.datetime.now(datetime.timezone.utc)
        when = [(now + datetime.timedelta(days=d)).strftime("%Y%m%d%H%M%SZ") for d in (begin, end)]
        (self.folder / "ext.cnf").write_text(f"extendedKeyUsage = {usage}\n" + (f"subjectAltName = {san}\n" if san else ""))
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={cn}", "-keyout",
                f"{name}.key", "-out", f"{name}.csr", cwd=self.folder)
        openssl("ca", "-batch", "-notext", "-config", "ca.cnf", "-extfile", "ext.cnf", "-in", f"{name}.csr", "-startdate",
                when[0], "-enddate", when[1], "-out", f"{name}.crt", cwd=self.folder)
        pem = self.folder / f"{name}.pem"
        pem.write_text((self.folder / f"{name}.crt").read_text() + (self.folder / f"{name}.key").read_text())
        return pem


def tls_of(folder, certificate, ca):
    return f"tls: {{ca: {ca}, certificate: {certificate}, key: {certificate}}}\n"


def answers(port, ca, certificate=None, newest=ssl.TLSVersion.TLSv1_3):
    """Does the server go beyond the handshake? Of TLS 1.3 the client learns only then that it was refused."""
    context = ssl.create_default_context(cafile=str(ca))
    context.maximum_version = newest
    context.set_alpn_protocols(["h2"])
    if certificate is not None:
        context.load_cert_chain(str(certificate))
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
                connection.sendall(PREFACE)
                return len(connection.recv(9)) == 9
    except (ssl.SSLError, ConnectionError):
        return False


class IdentityTest(EndToEndTest):
    def own_authority(self, lifetime="1h"):
        self.join_port = free_port()
        collector = Collector(self.folder / "collector", extra=(
            f"authority: {{listen: '127.0.0.1:{self.join_port}', node_lifetime: {lifetime}}}\n"))
        self.started.append(collector)
        self.ca(collector, "init", "127.0.0.1", "localhost")
        self.store = collector.folder / "data/authority"
        return collector.start()

    def ca(self, collector, *args, status=0):
        done = subprocess.run([str(BIN / "fleetmark-collector"), "--config", str(collector.config), "ca", *args],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout.strip()

    def token(self, collector, node, valid="1h"):
        return self.ca(collector, f"--valid={valid}", "token", node)

    def node(self, name, collector, benchmarks=()):
        agent = self.agent(name, [f"127.0.0.1:{collector.grpc_port}"], list(benchmarks))
        self.files = agent.folder / "tls"
        agent.config.write_text(agent.config.read_text() +
                                tls_of(agent.folder, agent.folder / "tls/node.pem", agent.folder / "tls/ca.pem"))
        return agent

    def join(self, agent, token):
        file = agent.folder / "token"
        file.write_text(token + "\n")
        return agent.command("join", f"127.0.0.1:{self.join_port}", file)

    def cli(self, collector, ca, certificate, *args):
        return subprocess.run(
            [str(BIN / "fleetmark"), "--collector", f"127.0.0.1:{collector.grpc_port}", "--tls-ca", str(ca), "--tls-cert",
             str(certificate), "--tls-key", str(certificate), *args], capture_output=True, text=True, timeout=60)

    def serial(self, pem):
        return openssl("x509", "-in", pem, "-noout", "-serial", cwd=self.folder).strip()

    def test_a_node_joins_renews_and_is_revoked(self):
        collector = self.own_authority(lifetime="40s")
        agent = self.node("n1", collector, [TICK])
        status, output = self.join(agent, self.token(collector, "n1"))
        self.assertEqual(status, 0, output)
        pem = agent.folder / "tls/node.pem"
        self.assertEqual(stat.S_IMODE(pem.stat().st_mode), 0o600)
        # The key is nowhere on the collector's side.
        key = re.search(r"-----BEGIN PRIVATE KEY-----\n(.{64})", pem.read_text()).group(1)
        for file in (p for p in collector.folder.rglob("*") if p.is_file()):
            self.assertNotIn(key.encode(), file.read_bytes(), file)
        # Good for a client, and not to pose as a collector.
        openssl("verify", "-purpose", "sslclient", "-CAfile", self.store / "ca.pem", pem, cwd=self.folder)
        with self.assertRaises(AssertionError):
            openssl("verify", "-purpose", "sslserver", "-CAfile", self.store / "ca.pem", pem, cwd=self.folder)

        first = self.serial(pem)
        agent.start()
        wait_for("the certificate is renewed twice", lambda: agent.process.text().count("certificate was renewed") >= 2, 180)
        self.assertNotEqual(self.serial(pem), first)
        wait_for("a stream ended with its certificate", lambda: "has expired" in collector.process.text(), 120)
        done = len(agent.completed_runs())
        wait_for("runs go on", lambda: len(agent.completed_runs()) > done + 2)

        self.assert_exactly_once(collector, [agent])

        self.assertIn("n1 ", self.ca(collector, "list"))
        self.ca(collector, "revoke", "n1")
        self.assertEqual(self.ca(collector, "list"), "")
        wait_for("the stream is ended", lambda: "is revoked" in collector.process.text())
        wait_for("no new one is let in", lambda: not answers(collector.grpc_port, self.store / "ca.pem", pem))
        wait_for("the store is at rest", lambda: "fleetmark_ingest_streams 0" in collector.http("/metrics", parse=False))
        self.ca(collector, "revoke", "n1", status=1)
        self.assertNotIn(key, collector.process.text() + agent.process.text())

    def test_tokens(self):
        collector = self.own_authority()
        one, two = self.node("n1", collector), self.node("n2", collector)

        def refused(agent, token, why):
            before = len(collector.process.text())
            status, output = self.join(agent, token)
            self.assertEqual(status, 1, output)
            self.assertIn("refused; the collector's log says why", output)
            self.assertIn(why, collector.process.text()[before:])
            self.assertFalse((agent.folder / "tls/node.pem").exists())

        refused(one, self.token(collector, "n1", valid="1ms"), "has expired")
        # Stolen: shown by another node it does not serve, and is spent for its own node too.
        stolen = self.token(collector, "n1")
        refused(two, stolen, "was shown by")
        refused(one, stolen, "is used, removed, or never was")
        # Guessed: the right one is still good, once.
        token = self.token(collector, "n1")
        version, name, secret, authority = token.split(".")
        wrong = ("1" if secret[0] == "0" else "0") + secret[1:]
        refused(one, ".".join((version, name, wrong, authority)), "wrong secret")
        # A server that is not the token's authority gets no token.
        before = len(collector.process.text())
        status, output = self.join(one, ".".join((version, name, secret, "0" * 64)))
        self.assertEqual(status, 1, output)
        self.assertNotIn("joined", collector.process.text()[before:])
        self.assertEqual(self.join(one, token)[0], 0)
        (one.folder / "tls/node.pem").unlink()
        refused(one, token, "is used, removed, or never was")
        # A revoked node's tokens go with it.
        waiting = self.token(collector, "n1")
        self.ca(collector, "revoke", "n1")
        refused(one, waiting, "is used, removed, or never was")
        # Secrets are in no log and in no file.
        for file in [p for p in collector.folder.rglob("*") if p.is_file()]:
            self.assertNotIn(secret.encode(), file.read_bytes(), file)
        self.ca(collector, "init", "127.0.0.1", status=1)
        self.ca(collector, "token", "../n1", status=1)

    def test_certificates_that_are_not_let_in(self):
        collector = self.own_authority()
        port, ca = collector.grpc_port, self.store / "ca.pem"
        ours = Authority(self.folder / "ours", copy_of=self.store)
        other = Authority(self.folder / "other")
        san = "URI:fleetmark:node:n1"
        good = ours.sign("good", "n1", san)
        self.assertTrue(answers(port, ca, good))
        for why, certificate in {
                "another authority's": other.sign("foreign", "n1", san),
                "expired": ours.sign("expired", "n1", san, begin=-2, end=-1),
                "not yet valid": ours.sign("early", "n1", san, begin=1, end=2),
                "a server's": ours.sign("server", "n1", san, usage="serverAuth"),
                "none": None}.items():
            self.assertFalse(answers(port, ca, certificate), why)
        self.assertFalse(answers(port, ca, good, newest=ssl.TLSVersion.TLSv1_2), "TLS 1.2")
        # Where nodes join, none is asked for, and TLS is as new.
        self.assertTrue(answers(self.join_port, ca))
        self.assertFalse(answers(self.join_port, ca, newest=ssl.TLSVersion.TLSv1_2))

        # Another node's: refused before anything is stored.
        agent = self.node("n2", collector, [TICK])
        self.files.mkdir()
        (self.files / "node.pem").write_bytes(good.read_bytes())
        (self.files / "ca.pem").write_bytes(ca.read_bytes())
        agent.start()
        wait_for("the other node's certificate is refused",
                 lambda: "is not one of node 'n2'" in collector.process.text())
        self.assertEqual(collector.all("nodes", "nodes"), [])

        # A person's certificate asks; a node's does not, though it is good for the node's results.
        person = ours.sign("alice", "alice")
        self.assertEqual(self.cli(collector, ca, person, "nodes").returncode, 0)
        refused = self.cli(collector, ca, good, "nodes")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("a node's certificate is good for the node's results alone", refused.stderr)

    def test_a_sites_own_authority_changes_under_load(self):
        """Certificates by DNS name; authorities, revocation list and the collector's own certificate change while an
        agent's stream goes on; half-written files change nothing."""
        old, new = Authority(self.folder / "old"), Authority(self.folder / "new")
        server = self.folder / "server"
        server.mkdir()

        def install(authority, name):
            pem = authority.sign(name, "collector", "IP:127.0.0.1", usage="serverAuth")
            (server / "next").write_bytes(pem.read_bytes())
            os.replace(server / "next", server / "own.pem")

        install(old, "server")
        (server / "ca.pem").write_bytes((old.folder / "ca.pem").read_bytes())
        openssl("ca", "-config", "ca.cnf", "-gencrl", "-crldays", "1", "-out", server / "crl.pem", cwd=old.folder)
        collector = self.collector(extra=(
            f"tls: {{ca: {server}/ca.pem, certificate: {server}/own.pem, key: {server}/own.pem, crl: {server}/crl.pem}}\n"
            "node_certificates: ['dns:{node}.example.org']\n"))

        def start(name, authority):
            agent = self.node(name, collector, [TICK])
            self.files.mkdir()
            pem = authority.sign(name, "any", f"DNS:{name}.example.org")
            (self.files / "node.pem").write_bytes(pem.read_bytes())
            (self.files / "ca.pem").write_bytes(
                (old.folder / "ca.pem").read_bytes() + (new.folder / "ca.pem").read_bytes())
            return agent.start()

        def runs(node):
            return len(collector.all("runs", "runs", f"&node={node}"))

        first = start("n1", old)
        wait_for("n1 runs", lambda: runs("n1") > 0)
        late = start("n2", new)
        # Files that do not fit one another: told, and what was there stays in use.
        good = (server / "own.pem").read_text()
        (server / "own.pem").write_text(good[:len(good) // 2])
        wait_for("the fault is told", lambda: "the last good ones stay in use" in collector.process.text())
        self.assertTrue(answers(collector.grpc_port, server / "ca.pem", first.folder / "tls/node.pem"))
        self.assertEqual(runs("n2"), 0)

        (server / "ca.pem").write_bytes((old.folder / "ca.pem").read_bytes() + (new.folder / "ca.pem").read_bytes())
        install(new, "server")
        wait_for("a node of the new authority is in", lambda: runs("n2") > 0, 90)
        before = runs("n1")
        wait_for("the old stream goes on", lambda: runs("n1") > before)
        self.assertEqual(first.process.text().count("Connected to the collector"), 1, first.process.text()[-2000:])

        # Revoked by the site.
        openssl("ca", "-config", "ca.cnf", "-revoke", "n1.crt", cwd=old.folder)
        openssl("ca", "-config", "ca.cnf", "-gencrl", "-crldays", "1", "-out", server / "crl.pem", cwd=old.folder)
        wait_for("its stream is ended", lambda: "is revoked" in collector.process.text())
        wait_for("and no new one begins",
                 lambda: not answers(collector.grpc_port, new.folder / "ca.pem", first.folder / "tls/node.pem"))
        at = runs("n2")
        wait_for("the other goes on", lambda: runs("n2") > at)
        late.process.stop()


if __name__ == "__main__":
    unittest.main()
