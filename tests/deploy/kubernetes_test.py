"""The Helm chart and the Kustomize overlays: both say the same, the Kubernetes API's schemas accept them, the
configuration in them is one that the programs take, and pods keep to the security that the documents promise."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import yaml

SOURCE = pathlib.Path(os.environ["FM_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["FM_BIN_DIR"])
TOOLS = pathlib.Path(os.environ["FM_KUBERNETES_TOOLS"])
CHART = SOURCE / "deploy/helm/fleetmark"
OVERLAYS = ("cluster", "gpu", "namespaced", "monitoring")
VARIANTS = {
    "defaults": [],
    "everything": ["--set", "jobs.enabled=true,jobs.queue=bench,monitoring.enabled=true,agent.hostPID=true,"
                   "agent.runtimeClassName=nvidia,collector.storage.className=fast"],
    "agents alone": ["--set", "collector.enabled=false,agent.collectors={collector.example.org:9410}"],
    "no TLS": ["--set", "tls.enabled=false,networkPolicy.enabled=false,podDisruptionBudget.enabled=false"],
    "own configuration": ["--set-json", 'agent.config={"budget":{"share":0.01},"plugins":{"max_processes":99}}',
                          "--set-json", 'collector.config={"store":{"keep":{"samples":"30d"}}}'],
}
# The Prometheus operator's, of which the package has no schemas.
FOREIGN = {"ServiceMonitor", "PrometheusRule"}


def output_of(*argv, stdin=None):
    done = subprocess.run([str(a) for a in argv], input=stdin, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{argv} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def objects_in(text):
    return [o for o in yaml.safe_load_all(text) if o]


def rendered(*options):
    return objects_in(output_of(TOOLS / "helm", "template", "fleetmark", CHART, "-n", "fleetmark", *options))


def kustomized(overlay):
    return objects_in(output_of(TOOLS / "kubectl", "kustomize", SOURCE / "deploy/kubernetes/overlays" / overlay))


def pod_of(o):
    spec = o.get("spec", {})
    if o["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    return spec.get("template", {}).get("spec") if o["kind"] in ("DaemonSet", "StatefulSet", "CronJob") else None


def schema_faults(objects):
    checked = [o for o in objects if o["kind"] not in FOREIGN]
    return json.loads(output_of("node", SOURCE / "tests/deploy/kubernetes/check_schema.mjs", TOOLS / "node_modules",
                                stdin=json.dumps(checked)))


def restricted_faults(pod):
    """What the Pod Security Standard "restricted" (with "baseline" in it) has against the pod."""
    faults = [f"{field}" for field in ("hostPID", "hostIPC", "hostNetwork") if pod.get(field)]
    allowed = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
    for volume in pod.get("volumes", []):
        faults += [f"volume {volume['name']}: {kind}" for kind in volume if kind not in allowed | {"name"}]
    shared = pod.get("securityContext", {})
    for c in pod.get("initContainers", []) + pod["containers"]:
        own = c.get("securityContext", {})
        either = {**shared, **own}
        if own.get("privileged"):
            faults.append(f"{c['name']}: privileged")
        if own.get("allowPrivilegeEscalation") is not False:
            faults.append(f"{c['name']}: allowPrivilegeEscalation")
        if either.get("runAsNonRoot") is not True or either.get("runAsUser") == 0:
            faults.append(f"{c['name']}: runs as root")
        if either.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
            faults.append(f"{c['name']}: seccompProfile")
        capabilities = own.get("capabilities", {})
        if "ALL" not in capabilities.get("drop", []) or set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
            faults.append(f"{c['name']}: capabilities")
        faults += [f"{c['name']}: hostPort" for p in c.get("ports", []) if p.get("hostPort")]
    return sorted(faults)


@unittest.skipUnless((TOOLS / "fetched.json").exists(), "run tests/deploy/kubernetes/fetch_tools.sh first")
class KubernetesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sets = {f"helm, {name}": rendered(*options) for name, options in VARIANTS.items()}
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.certificates = pathlib.Path(folder.name)
        output_of("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                  "/CN=test", "-keyout", cls.certificates / "tls.key", "-out", cls.certificates / "tls.crt")
        shutil.copy(cls.certificates / "tls.crt", cls.certificates / "ca.crt")
        cls.sets.update({f"kustomize, {name}": kustomized(name) for name in OVERLAYS})

    def pods(self, component):
        for where, objects in self.sets.items():
            for o in objects:
                pod = pod_of(o)
                if pod and o["metadata"]["labels"]["app.kubernetes.io/component"] == component:
                    yield f"{where}: {o['kind']}", o, pod

    def test_schemas(self):
        self.assertEqual(schema_faults([o for objects in self.sets.values() for o in objects]), [])

    def test_the_schema_check_sees_faults(self):
        daemon_set = next(o for o in self.sets["helm, defaults"] if o["kind"] == "DaemonSet")
        for change, fault in (
                (lambda p: p.__setitem__("tolerationz", []), "tolerationz"),
                (lambda p: p["containers"][0].__setitem__("livenessProb", {}), "containers[0].livenessProb"),
                (lambda p: p["volumes"][0]["hostPath"].__setitem__("readOnly", True), "hostPath.readOnly"),
                (lambda p: p["containers"][0]["securityContext"].__setitem__("readOnlyRootFilesystem", "yes"), "boolean"),
                (lambda p: p.pop("containers"), "containers")):
            copy = json.loads(json.dumps(daemon_set))
            change(copy["spec"]["template"]["spec"])
            faults = schema_faults([copy])
            self.assertTrue(any(fault in f for f in faults), f"{fault}: {faults}")

    def test_chart_and_manifests_are_equal(self):
        with tempfile.TemporaryDirectory() as folder:
            output_of(SOURCE / "deploy/kubernetes/render.sh", "--helm", TOOLS / "helm", "--output", folder)
            for part in ("collector", "agent", "jobs", "monitoring"):
                made = (pathlib.Path(folder) / part / f"{part}.yaml").read_text()
                kept = (SOURCE / f"deploy/kubernetes/base/{part}/{part}.yaml").read_text()
                self.assertEqual(objects_in(made), objects_in(kept), f"{part}: run deploy/kubernetes/render.sh")

        # What the namespace transformer and the namespace itself add is all that differs.
        def plain(objects):
            out = {}
            for o in objects:
                if o["kind"] != "Namespace":
                    o["metadata"].pop("namespace", None)
                    out[o["kind"], o["metadata"]["name"]] = o
            return out

        self.assertEqual(plain(rendered()), plain(kustomized("cluster")))

    def test_chart(self):
        output_of(TOOLS / "helm", "lint", "--strict", CHART)
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.assertIn(f"project(fleetmark VERSION {chart['appVersion']} ", (SOURCE / "CMakeLists.txt").read_text())
        self.assertEqual(chart["version"], chart["appVersion"])
        refused = subprocess.run([str(TOOLS / "helm"), "template", "x", str(CHART), "--set", "agent.resorces=1"],
                                 capture_output=True, text=True)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("resorces", refused.stderr)

    def test_the_programs_take_the_configuration(self):
        checked = 0
        for where, objects in self.sets.items():
            for o in (o for o in objects if o["kind"] == "ConfigMap"):
                with tempfile.TemporaryDirectory() as folder, self.subTest(f"{where}: {o['metadata']['name']}"):
                    for file, text in o["data"].items():
                        text = text.replace("@NODE_NAME@", "n1")
                        text = text.replace("/usr/lib/fleetmark/plugins", str(BIN.parent / "plugins"))
                        text = text.replace("/etc/fleetmark/tls", str(self.certificates))
                        pathlib.Path(folder, file).write_text(text)
                    program = "collector" if "collector.yaml" in o["data"] else "agent"
                    output_of(BIN / f"fleetmark-{program}", "--config", f"{folder}/{program}.yaml", "--check_config")
                    checked += 1
        self.assertGreater(checked, 8)

    def test_collector_and_jobs_are_restricted(self):
        found = 0
        for component in ("collector", "job"):
            for where, _, pod in self.pods(component):
                self.assertEqual(restricted_faults(pod), [], where)
                found += 1
        self.assertGreater(found, 5)

    def test_agents_deviate_as_documented(self):
        documented = {"agent: runs as root", "volume cgroup: hostPath", "volume data: hostPath",
                      "volume pod-resources: hostPath"}
        for where, _, pod in self.pods("agent"):
            faults = set(restricted_faults(pod))
            self.assertEqual(faults - {"hostPID"}, documented, where)
            self.assertEqual("hostPID" in faults, "gpu" in where or "everything" in where, where)
            mounts = {m["name"]: m for m in pod["containers"][0]["volumeMounts"]}
            self.assertTrue(mounts["cgroup"]["readOnly"] and mounts["pod-resources"]["readOnly"], where)
        page = (SOURCE / "deploy/kubernetes/README.md").read_text()
        for fault in documented | {"hostPID"}:
            self.assertIn(f"`{fault}`", page)

    def test_the_policy_check_sees_faults(self):
        pod = {"hostNetwork": True, "volumes": [{"name": "x", "hostPath": {}}],
               "containers": [{"name": "c", "ports": [{"hostPort": 1}], "securityContext": {"privileged": True}}]}
        self.assertEqual(len(restricted_faults(pod)), 8)

    def test_nothing_asks_kubernetes(self):
        for where, objects in self.sets.items():
            self.assertEqual([o["kind"] for o in objects if "Role" in o["kind"]], [], where)
            for o in objects:
                pod = pod_of(o)
                if pod:
                    self.assertIs(pod["automountServiceAccountToken"], False, where)
                    for c in pod["containers"]:
                        self.assertTrue(c["securityContext"]["readOnlyRootFilesystem"])
                        asked = json.dumps(c.get("resources", {}))
                        self.assertNotIn("gpu", asked, where)
                        if o["kind"] == "DaemonSet":
                            self.assertNotIn("cpu", c["resources"].get("limits", {}), where)

    def test_selectors_meet_pods(self):
        for where, objects in self.sets.items():
            pods = [o["spec"]["template"]["metadata"]["labels"] for o in objects if o["kind"] in ("DaemonSet", "StatefulSet")]
            pods += [o["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"] for o in objects
                     if o["kind"] == "CronJob"]
            services = {}
            for o in objects:
                spec = o.get("spec", {})
                wanted = {"Service": lambda: spec["selector"], "PodDisruptionBudget": lambda: spec["selector"]["matchLabels"],
                          "NetworkPolicy": lambda: spec["podSelector"]["matchLabels"],
                          "DaemonSet": lambda: spec["selector"]["matchLabels"],
                          "StatefulSet": lambda: spec["selector"]["matchLabels"]}.get(o["kind"])
                if wanted:
                    self.assertTrue(any(wanted().items() <= labels.items() for labels in pods), f"{where}: {o['kind']}")
                if o["kind"] == "ServiceMonitor":
                    self.assertTrue(any(spec["selector"]["matchLabels"].items() <= s.items() for s in services.values()))
                if o["kind"] == "Service":
                    services[o["metadata"]["name"]] = o["metadata"]["labels"]
                if o["kind"] == "StatefulSet":
                    self.assertIn(spec["serviceName"], [s["metadata"]["name"] for s in objects if s["kind"] == "Service"])

    def test_the_containers_entry_point(self):
        """The node's name gets into the file; an agent that is not there is told from one that is unhealthy."""
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            (here / "agent.yaml.in").write_text(f"node: {{name: '@NODE_NAME@'}}\ndata_dir: {here}/data\n"
                                              "collectors: ['127.0.0.1:1']\nplugin_paths: []\n")
            (here / "run").mkdir()
            env = {**os.environ, "NODE_NAME": "n-7.example", "FLEETMARK_CONFIG": str(here / "agent.yaml.in"),
                   "FLEETMARK_RUN_DIR": str(here / "run"), "PATH": f"{BIN}:{os.environ['PATH']}"}

            def run(script, *arguments):
                return subprocess.run(["sh", str(SOURCE / "deploy/container" / script), *arguments], env=env,
                                      capture_output=True, text=True, timeout=60)

            checked = run("agent-entry.sh", "--check_config")
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))
            self.assertIn("name: 'n-7.example'", (here / "run/agent.yaml").read_text())
            self.assertNotEqual(run("agent-alive.sh").returncode, 0)
            env["NODE_NAME"] = "n/../7"
            self.assertEqual(run("agent-entry.sh", "--check_config").returncode, 3)
        for deb, script in (("agent", "agent-entry"), ("agent", "agent-alive")):
            self.assertIn(f"deploy/container/{script}.sh", (SOURCE / f"deploy/container/Containerfile.{deb}").read_text())

    @unittest.skipUnless(shutil.which("promtool"), "needs Debian's package prometheus")
    def test_rules(self):
        rule = next(o for o in self.sets["helm, everything"] if o["kind"] == "PrometheusRule")
        self.assertEqual(rule["spec"], yaml.safe_load((SOURCE / "configs/prometheus/fleetmark.rules.yml").read_text()))


if __name__ == "__main__":
    unittest.main()
