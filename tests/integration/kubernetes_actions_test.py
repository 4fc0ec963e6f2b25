"""Actions on nodes in Kubernetes against a server that speaks the API as they use it: refusals by RBAC, conflicts, lost
answers, a server that hangs, and what a person did meanwhile."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import kube_node_server

PROBE = pathlib.Path(os.environ["FM_BIN_DIR"]) / "kube_action_probe"
ID, OTHER = "01M8V7S4YPFA55PFTTEFA7MGXG", "01M8V7RNZX9ZV9GMC8BJC7P5H0"
CORDON, TAINT, CONDITION, EVENT = ("KUBERNETES_CORDON", "KUBERNETES_TAINT", "KUBERNETES_CONDITION", "KUBERNETES_EVENT")
HOLDING = (CORDON, TAINT, CONDITION)


class KubernetesActionsTest(unittest.TestCase):
    def setUp(self):
        self.kube = kube_node_server.KubeNodes(["n1", "n2"])
        self.addCleanup(self.kube.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.ca = pathlib.Path(folder.name), ""
        self.token = pathlib.Path(folder.name) / "token"
        self.token.write_text(kube_node_server.TOKEN + "\n")

    def run_probe(self, kind, verb, *more):
        return subprocess.run([str(PROBE), self.kube.url, str(self.token), str(self.ca), kind, verb, *(more or (ID, "n1"))],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30).stdout

    def step(self, kind, verb, action=ID, mark=("uid-n1", "boot-1"), node="n1"):
        """(result, text)"""
        marked = () if verb == "do" else mark
        self.last = self.run_probe(kind, verb, action, node, *marked).rstrip("\n").split("\t")
        return self.last[0], self.last[1]

    def expect(self, kind, verb, result, text="", **more):
        got = self.step(kind, verb, **more)
        self.assertEqual(got[0], result, got)
        self.assertIn(text, got[1])
        self.assertNotIn(kube_node_server.TOKEN, got[1])

    def is_held(self, kind):
        n1 = self.kube.nodes["n1"]
        if kind == CORDON:
            return n1["spec"].get("unschedulable", False)
        if kind == TAINT:
            return any(t["key"] == "fleetmark.io/slow" for t in n1["spec"].get("taints", []))
        return any(c["type"] == "FleetmarkSlow" and c["status"] == "True" for c in n1["status"]["conditions"])

    def test_done_known_again_and_taken_back(self):
        for kind in HOLDING:
            with self.subTest(kind):
                before = self.kube.nodes["n1"]
                self.expect(kind, "do", "done")
                self.assertEqual(self.last[2:], ["uid-n1", "boot-1"])
                self.assertTrue(self.is_held(kind))
                self.expect(kind, "do", "done")  # again, as after a crash
                self.expect(kind, "check", "done")
                self.expect(kind, "undo", "done", "taken back")
                self.assertFalse(self.is_held(kind))
                self.expect(kind, "undo", "done", "nothing is to be taken back")
                after = self.kube.nodes["n1"]
                self.assertEqual(after["metadata"]["labels"], before["metadata"]["labels"])
                self.assertEqual(after["status"]["nodeInfo"], before["status"]["nodeInfo"])

    def test_others_taints_stay(self):
        gpu = {"key": "gpu", "value": "yes", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
        self.kube.person("n1", {"spec": {"taints": [gpu]}})
        self.expect(TAINT, "do", "done")
        self.assertEqual(self.kube.nodes["n1"]["spec"]["taints"],
                         [gpu, {"key": "fleetmark.io/slow", "value": ID, "effect": "NoSchedule"}])
        self.expect(TAINT, "undo", "done")
        self.assertEqual(self.kube.nodes["n1"]["spec"]["taints"], [gpu])

    def test_a_persons_cordon_is_left(self):
        self.kube.person("n1", {"spec": {"unschedulable": True}})
        for kind in HOLDING:
            self.expect(kind, "do", "left")
        self.expect(CORDON, "undo", "left")
        self.assertTrue(self.is_held(CORDON))
        self.assertNotIn("PATCH", [method for method, _ in self.kube.requests])

    def test_what_people_did_meanwhile_is_left(self):
        changes = {
            "taken back": {CORDON: {"spec": {"unschedulable": None}}, TAINT: {"spec": {"taints": []}},
                           CONDITION: {"status": {"conditions": []}}},
            "rebooted": {kind: {"status": {"nodeInfo": {"bootID": "boot-2"}}} for kind in HOLDING},
            "added again": {kind: {"metadata": {"uid": "uid-new"}} for kind in HOLDING}}
        for what, by_kind in changes.items():
            for kind, change in by_kind.items():
                with self.subTest(what=what, kind=kind):
                    self.kube.nodes["n1"] = kube_node_server.node("n1")
                    self.expect(kind, "do", "done")
                    self.kube.person("n1", change)
                    self.expect(kind, "check", "left")
                    held = self.is_held(kind)
                    self.assertIn(self.step(kind, "undo")[0], ("left", "done"))
                    self.assertEqual(self.is_held(kind), held)

    def test_another_actions_hold_is_not_ours(self):
        for kind in HOLDING:
            self.kube.nodes["n1"] = kube_node_server.node("n1")
            self.expect(kind, "do", "done")
            self.expect(kind, "do", "left", action=OTHER)
            self.expect(kind, "undo", "left", action=OTHER)
            self.assertTrue(self.is_held(kind))

    def test_a_conflict_changes_nothing_and_is_looked_at_anew(self):
        for kind in HOLDING:
            with self.subTest(kind):
                self.kube.nodes["n1"] = kube_node_server.node("n1")
                self.kube.before_patch = lambda: self.kube.person("n1", {"spec": {"unschedulable": True}})
                self.expect(kind, "do", "again", "the object has been modified")
                self.expect(kind, "do", "left")
                self.assertNotIn("annotations", self.kube.nodes["n1"]["metadata"])

    def test_without_the_right_it_is_refused(self):
        self.kube.forbidden = {"PATCH", "POST"}
        for kind in HOLDING + (EVENT,):
            self.expect(kind, "do", "refused", 'User "fleetmark" cannot')
        self.kube.forbidden = {"GET"}
        self.expect(CORDON, "check", "again", "cannot get")
        self.assertIn("PERMISSION_DENIED", self.run_probe(CORDON, "away"))
        self.kube.forbidden = set()
        self.token.write_text("another")
        self.expect(CORDON, "do", "refused", "Unauthorized")
        self.expect(CORDON, "do", "refused", node="n9")

    def test_lost_answers_and_silence(self):
        self.kube.lose = True
        self.expect(CORDON, "do", "again")
        self.assertTrue(self.is_held(CORDON))
        self.expect(CORDON, "do", "done")
        self.kube.hang.set()
        for verb in ("do", "check", "undo"):
            self.expect(CORDON, verb, "again", "imed out")
        self.assertIn("DEADLINE_EXCEEDED", self.run_probe(CORDON, "away"))

    def test_only_a_server_of_the_authority_gets_the_token(self):
        certificates = []
        for name in ("ours", "others"):
            certificate, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-keyout", key, "-out", certificate, "-subj", f"/CN={name}", "-days", "2", "-addext",
                            "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
            certificates.append((certificate, key))
        self.kube.close()
        self.kube = kube_node_server.KubeNodes(["n1"], certificates[0])
        self.addCleanup(self.kube.close)
        self.ca = certificates[1][0]
        self.expect(CORDON, "do", "refused", "certificate")
        self.assertEqual(self.kube.requests, [])
        self.ca = certificates[0][0]
        self.expect(CORDON, "do", "done")

    def test_an_event_is_made_once(self):
        self.expect(EVENT, "do", "done")
        self.expect(EVENT, "do", "done")
        (event,) = self.kube.events.values()
        self.assertEqual(event["involvedObject"]["name"], "n1")
        self.assertIn('"slow" by 25 %', event["message"])
        self.expect(EVENT, "undo", "done", "stays")

    def test_who_is_away_over_pages(self):
        self.kube.nodes = {f"m{i:03}": kube_node_server.node(f"m{i:03}") for i in range(600)}
        self.kube.person("m599", {"spec": {"unschedulable": True}})
        self.kube.nodes["m001"] = kube_node_server.node("m001", ready=False)
        self.assertEqual(self.run_probe(CORDON, "away"),
                         "m001\tdown\tnot ready in Kubernetes\nm599\tperson\tcordoned in Kubernetes\n")
        self.assertEqual(len(self.kube.requests), 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
