"""Where the API server is and how to prove who asks: a kubeconfig, or the service account of the pod that
this runs in. Exec plugins and auth providers of a kubeconfig are left to kubectl (client: kubectl)."""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Optional

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ConfigError(Exception):
    """What is wrong with the access, beginning with the file where there is one."""


class NoCluster(Exception):
    """Neither a kubeconfig nor a service account is here."""


@dataclass(frozen=True)
class Access:
    """`token_file` is read again for each request: projected tokens are replaced while we run."""

    server: str
    namespace: str
    tls: Optional[ssl.SSLContext]
    token: str = ""
    token_file: Optional[Path] = None

    def authorization(self) -> Mapping[str, str]:
        token = self.token
        if self.token_file is not None:
            try:
                token = self.token_file.read_text("utf-8").strip()
            except OSError as error:
                raise ConfigError("%s: %s" % (self.token_file, error.strerror)) from None
        return {"Authorization": "Bearer " + token} if token else {}


def find_access(kubeconfig: str, context: str, folder: Path = SERVICE_ACCOUNT) -> Access:
    """From `kubeconfig` if it is set, else the pod's service account. ConfigError, NoCluster."""
    if kubeconfig:
        return from_kubeconfig(Path(kubeconfig), context)
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc"), os.environ.get(
        "KUBERNETES_SERVICE_PORT", "443")
    if not (folder / "token").exists():
        raise NoCluster("no kubeconfig is set, and no service account is in %s" % folder)
    try:
        tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        namespace = (folder / "namespace").read_text("utf-8").strip()
    except (OSError, ssl.SSLError) as error:
        raise ConfigError("%s: %s" % (folder, error)) from None
    return Access("https://%s:%s" % ("[%s]" % host if ":" in host else host, port), namespace, tls,
                  token_file=folder / "token")


def _named(config: Mapping[str, object], kind: str, name: object, path: Path) -> Mapping[str, object]:
    listed = config.get(kind + "s")
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, dict) and each.get("name") == name and isinstance(each.get(kind), dict):
            return each[kind]
    raise ConfigError("%s: no %s '%s'" % (path, kind, name))


def from_kubeconfig(path: Path, context: str = "") -> Access:
    try:
        import yaml
        config = yaml.safe_load(path.read_text("utf-8"))
    except ImportError:
        raise ConfigError("%s: reading it needs python3-yaml" % path) from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError("%s: %s" % (path, " ".join(str(error).split()))) from None
    if not isinstance(config, dict):
        raise ConfigError("%s: is no kubeconfig" % path)
    chosen = _named(config, "context", context or config.get("current-context"), path)
    cluster = _named(config, "cluster", chosen.get("cluster"), path)
    user = _named(config, "user", chosen.get("user"), path) if chosen.get("user") else {}
    for key in ("exec", "auth-provider", "username"):
        if key in user:
            raise ConfigError("%s: user '%s' signs in by '%s', which only kubectl can: set client to kubectl" % (
                path, chosen.get("user"), key))
    server = str(cluster.get("server", ""))
    token_file = user.get("tokenFile")
    return Access(server, str(chosen.get("namespace") or "default"),
                  _tls(cluster, user, path) if server.startswith("https:") else None, str(user.get("token") or ""),
                  path.parent / str(token_file) if token_file else None)


def _pem(where: Mapping[str, object], key: str, path: Path) -> Optional[str]:
    """The PEM text under `key`-data or in the file under `key`."""
    try:
        if where.get(key + "-data"):
            return base64.b64decode(str(where[key + "-data"]), validate=True).decode("ascii")
        if where.get(key):
            return (path.parent / str(where[key])).read_text("ascii")
    except (ValueError, OSError) as error:
        raise ConfigError("%s: %s: %s" % (path, key, error)) from None
    return None


def _tls(cluster: Mapping[str, object], user: Mapping[str, object], path: Path) -> ssl.SSLContext:
    try:
        tls = ssl.create_default_context(cadata=_pem(cluster, "certificate-authority", path))
        if cluster.get("insecure-skip-tls-verify") is True:
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        certificate, key = _pem(user, "client-certificate", path), _pem(user, "client-key", path)
        if certificate and key:
            # Only a file will do; it is readable by this user alone and is gone at once.
            with tempfile.NamedTemporaryFile("w", encoding="ascii") as file:
                file.write(certificate + "\n" + key)
                file.flush()
                tls.load_cert_chain(file.name)
        return tls
    except ssl.SSLError as error:
        raise ConfigError("%s: a certificate or key can't be used: %s" % (path, error)) from None
