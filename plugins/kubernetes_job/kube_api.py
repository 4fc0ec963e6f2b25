"""Just enough of the Kubernetes API: JSON over HTTPS, or the same paths through `kubectl --raw`.

Two transports with one shape: `request` for an object, `stream` for a log that is followed. A transport may
be used by several threads.
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import threading
import urllib.parse
from dataclasses import dataclass
from typing import Iterator, Mapping, Optional, Protocol, Sequence

from kube_config import Access

JsonObject = Mapping[str, object]
MAX_ANSWER_BYTES = 64 << 20
CHUNK = 64 << 10


class Unreachable(Exception):
    """The API server did not answer, or said that it can't now. Nothing is known."""


class ApiError(Exception):
    """The API server said no; `code` and `reason` as in its Status object."""

    def __init__(self, code: int, reason: str, message: str):
        super().__init__(message)
        self.code = code
        self.reason = reason

    @property
    def not_found(self) -> bool:
        return self.code == 404

    @property
    def quota(self) -> bool:
        return self.code == 403 and "exceeded quota" in str(self)


class Transport(Protocol):
    def request(self, method: str, path: str, body: Optional[JsonObject] = None,
                timeout: Optional[float] = None) -> JsonObject: ...

    def stream(self, path: str, stop: threading.Event) -> Iterator[bytes]: ...


# The server's own word for "later": too many requests, overloaded, shutting down, no leader.
_PASSING = (429, 500, 502, 503, 504)


def _check(code: int, data: bytes) -> JsonObject:
    try:
        answer = json.loads(data) if data else {}
    except ValueError:
        answer = {}
    if not isinstance(answer, dict):
        answer = {}
    if 200 <= code < 300:
        return answer
    message = str(answer.get("message") or data[:200].decode("utf-8", "replace") or "status %d" % code)
    if code in _PASSING:
        raise Unreachable("%d: %s" % (code, message))
    raise ApiError(code, str(answer.get("reason", "")), message)


@dataclass(frozen=True)
class HttpTransport:
    access: Access
    timeout: float = 20.0

    def _open(self, method: str, path: str, body: Optional[bytes],
              timeout: float) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        url = urllib.parse.urlsplit(self.access.server)
        host, port = url.hostname or "", url.port
        connection: http.client.HTTPConnection
        if self.access.tls is not None:
            connection = http.client.HTTPSConnection(host, port or 443, timeout=timeout, context=self.access.tls)
        else:
            connection = http.client.HTTPConnection(host, port or 80, timeout=timeout)
        headers = {"Accept": "application/json", **self.access.authorization()}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, url.path.rstrip("/") + path, body, headers)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unreachable("%s: %s" % (self.access.server, error or type(error).__name__)) from None

    def request(self, method: str, path: str, body: Optional[JsonObject] = None,
                timeout: Optional[float] = None) -> JsonObject:
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        connection, response = self._open(method, path, data, timeout or self.timeout)
        try:
            answer = response.read(MAX_ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable("%s: %s" % (self.access.server, error or type(error).__name__)) from None
        finally:
            connection.close()
        if len(answer) > MAX_ANSWER_BYTES:
            raise ApiError(0, "TooLarge", "the answer to %s is larger than %d bytes" % (path, MAX_ANSWER_BYTES))
        return _check(response.status, answer)

    def stream(self, path: str, stop: threading.Event) -> Iterator[bytes]:
        connection, response = self._open("GET", path, None, self.timeout)
        try:
            if response.status != 200:
                _check(response.status, response.read(CHUNK))
            while not stop.is_set():
                try:
                    data = response.read1(CHUNK)
                except TimeoutError:  # nothing was printed for a while; the next request goes on from there
                    return
                except (OSError, http.client.HTTPException) as error:
                    raise Unreachable(str(error)) from None
                if not data:
                    return
                yield data
        finally:
            connection.close()


@dataclass(frozen=True)
class KubectlTransport:
    """kubectl's own way to sign in, with its plugins. `arguments` name the kubeconfig and context."""

    arguments: Sequence[str] = ()
    program: str = "kubectl"
    timeout: float = 20.0

    def request(self, method: str, path: str, body: Optional[JsonObject] = None,
                timeout: Optional[float] = None) -> JsonObject:
        verb = {"GET": "get", "POST": "create", "DELETE": "delete"}[method]
        command = [self.program, *self.arguments, verb, "--raw", path] + ([] if method == "GET" else ["-f", "-"])
        try:
            done = subprocess.run(command, input=json.dumps(body or {}).encode(), capture_output=True,
                                  timeout=timeout or self.timeout, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unreachable("%s: %s" % (self.program, error)) from None
        if done.returncode == 0:
            return _check(200, done.stdout)
        raise kubectl_error(done.stderr.decode("utf-8", "replace"))

    def stream(self, path: str, stop: threading.Event) -> Iterator[bytes]:
        command = [self.program, *self.arguments, "get", "--raw", path]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            try:
                while not stop.is_set():
                    data = process.stdout.read1(CHUNK)  # type: ignore[attr-defined]
                    if not data:
                        return
                    yield data
            finally:
                process.kill()


_CODES = {"NotFound": 404, "Forbidden": 403, "Invalid": 422, "AlreadyExists": 409, "Conflict": 409,
          "Unauthorized": 401, "BadRequest": 400}


def kubectl_error(text: str) -> Exception:
    """What `kubectl --raw` says when it fails, as the error that the API server gave."""
    match = re.search(r"Error from server \((\w+)\): (.*)", text, re.S)
    if match and match[1] in _CODES:
        return ApiError(_CODES[match[1]], match[1], " ".join(match[2].split()))
    if re.search(r"^(error: )?The (request|\w+ \S+) is invalid: ", text):
        return ApiError(422, "Invalid", " ".join(text.split()))
    if re.search(r"must be logged in|Unauthorized", text):
        return ApiError(401, "Unauthorized", " ".join(text.split()))
    return Unreachable(" ".join(text.split())[-300:] or "kubectl said nothing")


@dataclass(frozen=True)
class Resource:
    """A kind as the server knows it."""

    api_version: str
    plural: str

    def path(self, namespace: str, name: str = "") -> str:
        base = ("/api/" if "/" not in self.api_version else "/apis/") + self.api_version
        return "%s/namespaces/%s/%s%s" % (base, urllib.parse.quote(namespace), self.plural,
                                          "/" + urllib.parse.quote(name) if name else "")


def items(answer: JsonObject, key: str = "items") -> list[JsonObject]:
    """The list under `key`; the API writes an empty one as null or not at all."""
    found = answer.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def find_resource(transport: Transport, api_version: str, kind: str) -> Resource:
    """ApiError 404 when the server has no such kind in namespaces."""
    path = ("/api/" if "/" not in api_version else "/apis/") + api_version
    for each in items(transport.request("GET", path), "resources"):
        if each.get("kind") == kind and each.get("namespaced") is True and "/" not in str(each.get("name")):
            return Resource(api_version, str(each["name"]))
    raise ApiError(404, "NotFound", "the cluster has no %s in %s" % (kind, api_version))
