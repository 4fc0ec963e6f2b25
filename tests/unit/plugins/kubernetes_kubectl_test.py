"""The plugin kubernetes_job through kubectl. Status 77 says that there is no kubectl here, and nothing was tested."""

import shutil
import sys
import unittest

from kube_server import Step, condition
from kubernetes_job_test import RAN, RUNNING, ServerTest


class KubectlTest(ServerTest):
    # kubectl sends no tokens over plain HTTP.
    def test_a_run(self):
        result = self.run_story("Job", RUNNING, Step({"conditions": [condition("Complete")]}, [RAN]), client="kubectl",
                                namespace="bench", server_options={"token": ""}, api_patience=30)
        self.assertTrue(result.done, result)
        self.assertEqual(result.values("rate"), [7])
        self.assertEqual(self.server.objects, {})

    def test_refusals(self):
        for refuse, status, words in (((422, "Invalid", "spec.template: Required value"), 78, "Required value"),
                                      ((403, "Forbidden", "exceeded quota: q"), 75, "no slot")):
            result = self.run_story("Job", RUNNING, client="kubectl", namespace="bench",
                                    server_options={"token": "", "refuse": refuse})
            self.assert_ends(result, status, words)


if __name__ == "__main__":
    if shutil.which("kubectl") is None:
        print("kubectl is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + ["KubectlTest"])
