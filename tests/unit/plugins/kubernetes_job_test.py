"""The plugin kubernetes_job against a server that speaks the API: each kind, and each way that a job can end."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from harness import Plugin, Result, plugins_dir
from kube_server import KubeServer, Step, condition, pod

sys.path.insert(0, os.path.join(plugins_dir(), "kubernetes_job"))
import kube_api  # noqa: E402
import kube_config  # noqa: E402
import kube_endings  # noqa: E402
import kube_object  # noqa: E402

RATE = {"name": "rate", "unit": "1/s", "better": "higher", "pattern": r"^rate (\S+)"}
POD = {"template": {"spec": {"containers": [{"name": "main", "image": "x"}]}}}
MANIFESTS = {
    "Job": {"apiVersion": "batch/v1", "spec": POD},
    "PyTorchJob": {"apiVersion": "kubeflow.org/v1", "spec": {"pytorchReplicaSpecs": {"Master": POD, "Worker": POD}}},
    "TFJob": {"apiVersion": "kubeflow.org/v1", "spec": {"tfReplicaSpecs": {"Chief": POD, "PS": POD}}},
    "MPIJob": {"apiVersion": "kubeflow.org/v2beta1", "spec": {"mpiReplicaSpecs": {"Launcher": POD, "Worker": POD}}},
    "TrainJob": {"apiVersion": "trainer.kubeflow.org/v1alpha1", "spec": {"runtimeRef": {"name": "torch"}}},
    "IPUJob": {"apiVersion": "graphcore.ai/v1alpha1", "spec": {"workers": POD}},
    "Bench": {"apiVersion": "example.com/v1", "spec": POD},
}
RUNNING = Step({"conditions": [condition("Created"), condition("Running")]}, [pod("p", log=["start"])])
RAN = pod("p", "Succeeded", log=["start", "rate 7"])


def manifest(kind):
    return json.dumps({"kind": kind, **MANIFESTS[kind]})


class ServerTest(unittest.TestCase):
    def serve(self, stories, **options):
        server = KubeServer(stories, **options)
        self.addCleanup(server.close)
        return server

    def kubeconfig(self, server, cluster=None, user=None):
        file = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.addCleanup(file.close)
        json.dump({"current-context": "c", "contexts": [{"name": "c", "context": {
            "cluster": "k", "user": "u", "namespace": "bench"}}], "clusters": [
                {"name": "k", "cluster": {"server": server.url, **(cluster or {})}}], "users": [
                    {"name": "u", "user": {"token": server.token} if user is None else user}]}, file)
        file.flush()
        return file.name

    def params(self, server, kind, **more):
        return {"manifest": manifest(kind), "metrics": [RATE], "kubeconfig": self.kubeconfig(server), "poll": 0.2,
                "start_patience": 0.3, "api_patience": 1, **more}

    def run_story(self, kind, *steps, server_options=None, **params):
        self.server = self.serve({kind: list(steps)}, **(server_options or {}))
        return Plugin("kubernetes_job").run(self.params(self.server, kind, **params))

    def assert_ends(self, result, status, words):
        self.assertEqual(result.status, status, result)
        self.assertRegex(result.log.splitlines()[-1], words)
        self.assertFalse(result.of("metric") + result.of("sample"), result)
        self.assertEqual(self.server.objects, {}, "nothing is left")


class GoodEnds(ServerTest):
    def test_each_kind(self):
        for kind, status in (
                ("Job", {"conditions": [condition("SuccessCriteriaMet"), condition("Complete")]}),
                ("PyTorchJob", {"conditions": [condition("Succeeded"), condition("Running", "False")]}),
                ("TFJob", {"conditions": [condition("Running", "False"), condition("Succeeded")]}),
                ("MPIJob", {"conditions": [condition("Succeeded")]}),
                ("TrainJob", {"conditions": [condition("Suspended", "False"), condition("Complete")]}),
                ("IPUJob", {})):
            with self.subTest(kind=kind):
                result = self.run_story(kind, Step(), RUNNING, Step(status, [RAN]), queue="team-queue")
                self.assertTrue(result.done, result)
                self.assertEqual(result.of("metric"), [{"type": "metric", "name": "rate", "value": 7.0, "unit": "1/s",
                                                        "better": "higher", "labels": {"host": "node-1"}}])
                self.assertEqual(self.server.objects, {}, "the object is deleted")
                made = self.server.created[0]["metadata"]
                self.assertEqual(made["labels"]["kueue.x-k8s.io/queue-name"], "team-queue")
                self.assertLess(len(made["generateName"]), 32)

    def test_announcements_and_old_conditions_are_no_end(self):
        result = self.run_story(
            "Job", Step({"conditions": [condition("FailureTarget", "False"), condition("SuccessCriteriaMet")]},
                        [pod("p", log=["rate 1"])]),
            Step({"conditions": [condition("Failed", "False"), condition("Complete", "Unknown")]}, [RUNNING.pods[0]]),
            Step({"conditions": [condition("Complete")]}, [RAN]))
        self.assertEqual(result.values("rate"), [7])

    def test_logs_are_kept_though_the_pods_go(self):
        # cleanPodPolicy and TTLs remove pods with the job's end; what they printed was read while they ran.
        running = Step({"conditions": [condition("Running")]}, [pod("p", log=["rate 7", b"caf\xe9\n"])])
        ended = Step({"conditions": [condition("Running")]}, [pod("p", "Succeeded", log=["rate 7", b"caf\xe9\n"])])
        result = self.run_story("MPIJob", running, running, ended, ended,
                                Step({"conditions": [condition("Succeeded")]}, ended.pods))
        self.assertEqual(result.values("rate"), [7])

    def test_custom_kinds_end_by_given_rules(self):
        self.assert_ends(self.run_story("Bench", RUNNING), 78, "doesn't know")
        rules = {"success": ["phase:Done"], "failure": ["phase:Broken", "condition:Bad"]}
        self.assertEqual(self.run_story("Bench", RUNNING, Step({"phase": "Done"}, [RAN]), **rules).values("rate"), [7])
        self.assert_ends(self.run_story("Bench", RUNNING, Step({"phase": "Broken", "message": "no luck"}), **rules), 1,
                         "no luck")

    def test_a_program_that_prints_its_end_and_stays(self):
        result = self.run_story("TFJob", RUNNING, Step({"conditions": [condition("Running")]}, [
            pod("p", log=["start", "rate 7", "all done"])]), end_pattern="^all done$")
        self.assertEqual(result.values("rate"), [7])

    def test_replaced_pods_are_not_read(self):
        result = self.run_story("Job", RUNNING, Step({"conditions": [condition("Complete")]}, [
            pod("old", "Failed", log=["rate 1"], reason="Evicted"), RAN]))
        self.assertEqual(result.values("rate"), [7])

    def test_an_attempt_that_kueue_took_back_is_not_read(self):
        result = self.run_story(
            "Job", Step({}, [pod("a", log=["rate 1"])]), Step({}, [pod("a", log=["rate 1"])]),
            Step(spec={"suspend": True}), Step({}, [pod("b", log=["start"])]),
            Step({"conditions": [condition("Complete")]}, [pod("b", "Succeeded", log=["start", "rate 7"])]))
        self.assertEqual(result.values("rate"), [7])

    def test_outages_of_the_api_server_are_waited_for(self):
        result = self.run_story("Job", RUNNING, Step(broken=500), Step(broken="close"), Step(broken=429), RUNNING,
                                Step({"conditions": [condition("Complete")]}, [RAN]), api_patience=20)
        self.assertEqual(result.values("rate"), [7])

    def test_labels_of_the_node(self):
        result = self.run_story("Job", Step({"conditions": [condition("Complete")]}, [RAN]),
                                node_labels={"product": "nvidia.com/gpu.product"})
        self.assertEqual(result.of("metric")[0]["labels"], {"host": "node-1", "product": "H100"})

    def test_pods_on_several_nodes_have_no_host(self):
        result = self.run_story("PyTorchJob", Step({"conditions": [condition("Succeeded")]}, [
            RAN, pod("q", "Succeeded", node="node-2")]))
        self.assertEqual(result.of("metric")[0].get("labels", {}), {})


class BadEnds(ServerTest):
    FAILED = {"conditions": [condition("Failed", reason="BackoffLimitExceeded", message="too many")]}

    def failed(self, *pods):
        return self.run_story("Job", RUNNING, Step(self.FAILED, pods))

    def test_what_failed_by_itself(self):
        self.assert_ends(self.failed(pod("p", "Failed", log=["rate 7"], state={"terminated": {
            "exitCode": 3, "reason": "Error"}})), 1, "BackoffLimitExceeded: too many; pod p on node-1, .*status 3")
        self.assert_ends(self.failed(pod("p", "Failed", state={"terminated": {
            "exitCode": 137, "reason": "OOMKilled"}})), 1, "out of memory")
        self.assert_ends(self.failed(), 1, "BackoffLimitExceeded")
        self.assert_ends(self.run_story("Job", RUNNING, Step({"conditions": [
            condition("Failed", reason="DeadlineExceeded")]}, [pod("p", "Failed", reason="Evicted")])), 1, "DeadlineExceeded")

    def test_killed_for_memory_and_yet_succeeded(self):
        result = self.run_story("Job", Step({"conditions": [condition("Complete")]}, [pod(
            "p", "Succeeded", log=["rate 7"], state={"terminated": {"exitCode": 0, "reason": "OOMKilled"}})]))
        self.assert_ends(result, 1, "out of memory")

    def test_what_was_lost_is_for_later(self):
        for lost in (pod("p", "Failed", containers=None, reason="Evicted", message="DiskPressure"),
                     pod("p", "Failed", reason="Preempting"), pod("p", "Failed", containers=None),
                     pod("p", "Failed", reason="NodeLost"), pod("p", "Failed", reason="Terminated"),
                     pod("p", "Failed", conditions=[condition("DisruptionTarget", reason="PreemptionByScheduler")]),
                     pod("p", "Failed", state={"terminated": {"reason": "ContainerStatusUnknown", "exitCode": 137}})):
            with self.subTest(pod=lost):
                self.assert_ends(self.failed(lost), 75, "pod p")

    def test_a_failure_beside_a_loss_is_a_failure(self):
        self.assert_ends(self.failed(pod("p", "Failed", reason="Evicted"), pod("q", "Failed")), 1, "pod q")

    def test_pods_that_can_not_start(self):
        for reason in ("ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError"):
            stuck = pod("p", "Pending", state={"waiting": {"reason": reason, "message": "why"}})
            self.assert_ends(self.run_story("Job", Step({}, [stuck])), 1, "can't start: %s: why" % reason)

    def test_waiting_has_an_end(self):
        unschedulable = pod("p", "Pending", node="", containers=None, conditions=[
            condition("PodScheduled", "False", reason="Unschedulable", message="0/3 nodes have a GPU")])
        for step, words in ((Step({}, [unschedulable]), "0/3 nodes"), (Step(), "no pods"),
                            (Step(spec={"suspend": True}), "suspended")):
            self.assert_ends(self.run_story("Job", step, max_pending=0.5), 75, "did not start within 0 s: .*" + words)

    def test_deleted_by_somebody(self):
        self.assert_ends(self.run_story("Job", RUNNING, Step(gone=True)), 75, "deleted by somebody")

    def test_an_api_server_that_stays_away(self):
        result = self.run_story("Job", RUNNING, Step(broken=503))
        self.assertEqual(result.status, 75, result)
        self.assertIn("has not answered for 1 s", result.log)

    def test_metric_missing(self):
        result = self.run_story("Job", Step({"conditions": [condition("Complete")]}, [pod("p", "Succeeded")]))
        self.assertIn("nothing matches", result.of("invalid")[0]["message"])

    def test_refusals(self):
        for refuse, status, words in (
                ((403, "Forbidden", "pods \"x\" is forbidden: exceeded quota: q, requested: 1"), 75, "no slot: "),
                ((403, "Forbidden", "User can't create jobs"), 1, "403 Forbidden"),
                ((422, "Invalid", "spec.template: Required value"), 78, "Required value"),
                ((429, "TooManyRequests", "later"), 75, "later"), ((503, "", "down"), 75, "down")):
            self.assert_ends(self.run_story("Job", RUNNING, server_options={"refuse": refuse}), status, words)

    def test_unknown_kind_token_and_server(self):
        self.server = self.serve({})
        params = self.params(self.server, "Job")
        params["manifest"] = json.dumps({"apiVersion": "nope/v1", "kind": "Job", "spec": POD})
        self.assert_ends(Plugin("kubernetes_job").run(params), 78, "could not find")
        params = self.params(self.server, "Job", kubeconfig=self.kubeconfig(self.server, user={"token": "wrong"}))
        self.assert_ends(Plugin("kubernetes_job").run(params), 1, "401")
        params = self.params(self.server, "Job")
        self.server.close()
        self.assert_ends(Plugin("kubernetes_job").run(params), 75, "can't be asked now")

    def test_wrong_parameters(self):
        for params, words in (({"manifest": "{{kind}}"}, "manifest:1: no parameter 'kind'"),
                              ({"manifest": "a: ["}, "manifest: "), ({"manifest": "[]"}, "one object"),
                              ({"manifest": '{"kind":"Job","spec":{}}'}, "apiVersion"), ({"metrics": []}, "reader"),
                              ({"kubeconfig": "/no/such"}, "/no/such")):
            self.server = self.serve({"Job": [RUNNING]})
            self.assert_ends(Plugin("kubernetes_job").run(self.params(self.server, "Job", **params)), 78, words)


class Leftovers(ServerTest):
    def start(self, server, params):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        child = Plugin("kubernetes_job").start(folder, params)
        limit = time.monotonic() + 20
        while not server.at and time.monotonic() < limit:
            time.sleep(0.02)
        return child

    def finish(self, child):
        stdout, log = child.communicate(timeout=20)
        return Result(child.returncode, stdout.decode(), log.decode(), 0)

    def test_a_stop_deletes(self):
        self.server = server = self.serve({"Job": [RUNNING]})
        child = self.start(server, self.params(server, "Job"))
        child.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(child).status, 143)
        self.assertEqual(server.objects, {})

    def test_what_a_killed_run_left_is_deleted_by_the_next(self):
        self.server = server = self.serve({"Job": [RUNNING, RUNNING, Step({"conditions": [condition("Complete")]}, [RAN])]})
        params = self.params(server, "Job")
        child = self.start(server, {**params, "poll": 60})
        child.kill()
        self.finish(child)
        self.assertEqual(len(server.objects), 1)
        self.assert_ends(Plugin("kubernetes_job").run(params), 75, "objects of an earlier run")
        self.assertEqual(Plugin("kubernetes_job").run(params).values("rate"), [7])

    def test_an_answer_to_the_creation_that_was_lost(self):
        result = self.run_story("Job", RUNNING, server_options={"lose_creation": True})
        self.assertEqual(len(self.server.created), 1)
        self.assert_ends(result, 75, "can't be asked now")

    def test_too_many_outstanding(self):
        self.server = server = self.serve({"Job": [RUNNING]})
        server.objects["other"] = {"kind": "Job", "metadata": {"name": "other", "labels": {
            "app.kubernetes.io/managed-by": "fleetmark"}}, "spec": {}}
        result = Plugin("kubernetes_job").run(self.params(server, "Job", max_outstanding=1))
        self.assertEqual((result.status, server.created), (75, []), result)


class AccessTest(ServerTest):
    def certificate(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        key, cert = os.path.join(folder, "key"), os.path.join(folder, "cert")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=t", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        return cert, key

    def test_tls_is_checked(self):
        cert, key = self.certificate()
        with open(cert, "rb") as file:
            data = base64.b64encode(file.read()).decode()
        self.server = server = self.serve({"Job": [Step({"conditions": [condition("Complete")]}, [RAN])]},
                                          certificate=(cert, key))
        for cluster, status in (({"certificate-authority-data": data}, 0), ({"certificate-authority": cert}, 0),
                                ({"insecure-skip-tls-verify": True}, 0), ({}, 75)):
            params = self.params(server, "Job", kubeconfig=self.kubeconfig(server, cluster))
            self.assertEqual(Plugin("kubernetes_job").run(params).status, status, cluster)

    def test_kubeconfigs_that_need_kubectl_or_are_wrong(self):
        self.server = server = self.serve({})
        for user, words in (({"exec": {"command": "aws"}}, "only kubectl"), ({"client-certificate": "/no"}, "client-cert")):
            path = self.kubeconfig(server, {"server": "https://127.0.0.1:1"}, user)
            with self.assertRaisesRegex(kube_config.ConfigError, words):
                kube_config.find_access(path, "")
        with self.assertRaisesRegex(kube_config.ConfigError, "no context 'x'"):
            kube_config.find_access(self.kubeconfig(server), "x")

    def test_service_account(self):
        cert, _ = self.certificate()
        folder = kube_config.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        with self.assertRaises(kube_config.NoCluster):
            kube_config.find_access("", "", folder)
        shutil.copy(cert, folder / "ca.crt")
        (folder / "namespace").write_text("bench\n")
        (folder / "token").write_text("one\n")
        access = kube_config.find_access("", "", folder)
        self.assertEqual((access.namespace, access.authorization()), ("bench", {"Authorization": "Bearer one"}))
        (folder / "token").write_text("two")
        self.assertEqual(access.authorization(), {"Authorization": "Bearer two"}, "tokens are replaced")


class PureTest(unittest.TestCase):
    def test_labels(self):
        self.assertEqual(kube_object.label_value("abc.d-1"), "abc.d-1")
        for text in ("a" * 64, "a b", "-a", "é" * 80, "", "a@b"):
            self.assertRegex(kube_object.label_value(text), r"^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])$", text)
        self.assertNotEqual(kube_object.label_value("a b"), kube_object.label_value("a-b"))

    def test_a_plain_job_ends_without_us(self):
        made = kube_object.prepare(json.loads(manifest("Job")), "b", "r", "", 600)
        self.assertEqual((made.body["spec"]["activeDeadlineSeconds"], made.body["spec"]["ttlSecondsAfterFinished"]),
                         (600, 3600))
        with self.assertRaisesRegex(kube_object.ObjectError, "pod_selector"):
            kube_object.prepare({"kind": "X", "spec": {}}, "b", "r", "", 0)

    def test_null_lists_and_fields_of_the_wrong_kind_are_borne(self):
        for job in ({}, {"status": None}, {"status": {"conditions": None}}, {"status": {"conditions": [None, 3]}}):
            for pods in ([], [{}], [{"status": None}], [{"status": {"containerStatuses": None, "conditions": None}}]):
                self.assertIsNone(kube_endings.judge(job, pods, kube_endings.KNOWN_KINDS["Job"]))

    def test_errors_of_kubectl(self):
        error = kube_api.kubectl_error('Error from server (NotFound): jobs.batch "x" not found\n')
        self.assertTrue(error.not_found)
        self.assertIsInstance(kube_api.kubectl_error("The connection to the server x was refused"), kube_api.Unreachable)


if __name__ == "__main__":
    unittest.main()
