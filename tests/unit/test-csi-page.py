#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The objects that docs/csi.md prints fit together, and name what selvol has. Prints TAP."""

import pathlib
import re
import sys

try:
    import yaml
except ImportError as error:
    print(f"1..0 # SKIP {error} (Debian: python3-yaml)")
    sys.exit(0)

from tap import finish, report

ROOT = pathlib.Path(sys.argv[1])
DRIVER = re.search(r'#define CSI_DRIVER_NAME "(.*)"', (ROOT / "integration/csi/driver-volume.h").read_text(encoding="utf-8"))[1]
OPTIONS = set(re.findall(r', "([a-z-]+)", (?:"[A-Z,.]+"|NULL),', (ROOT / "src/wire/option-table.c").read_text(encoding="utf-8")))
REGISTRATION = "--kubelet-registration-path=/run/selvol/csi/"

objects = [o for block in re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs/csi.md").read_text(encoding="utf-8"), re.M | re.S)
           for o in yaml.safe_load_all(block)]


def of_kind(kind):
    return [o for o in objects if o.get("kind") == kind]


def compare(name, found, expected):
    report(name, [] if found == expected else [f"{found!r} is not {expected!r}"])


def test_driver():
    driver, = of_kind("CSIDriver")
    compare("driver: name", driver["metadata"]["name"], DRIVER)
    compare("driver: without it a pod could name a disk, or get no label", driver["spec"],
            {"attachRequired": False, "podInfoOnMount": True, "seLinuxMount": True, "volumeLifecycleModes": ["Persistent"]})


def test_volumes():
    volumes = of_kind("PersistentVolume")
    for volume in volumes:
        csi = volume["spec"]["csi"]
        name = f"volume {volume['metadata']['name']}"
        compare(f"{name}: driver", csi["driver"], DRIVER)
        compare(f"{name}: it has a device", bool(csi["volumeAttributes"].get("device")), True)
        compare(f"{name}: attributes are options", set(csi["volumeAttributes"]) - OPTIONS - {"device", "source"}, set())
        compare(f"{name}: no class makes it", volume["spec"]["storageClassName"], "")
    volume, (claim,), (pod,) = volumes[0], of_kind("PersistentVolumeClaim"), of_kind("Pod")
    compare("claim: of the volume", claim["spec"]["volumeName"], volume["metadata"]["name"])
    compare("claim: the volume is for it", volume["spec"]["claimRef"], {key: claim["metadata"][key] for key in ("namespace", "name")})
    compare("claim: access", (claim["spec"]["accessModes"], claim["spec"]["storageClassName"]), (volume["spec"]["accessModes"], ""))
    compare("claim: size", claim["spec"]["resources"]["requests"], volume["spec"]["capacity"])
    compare("pod: of the claim", [v["persistentVolumeClaim"]["claimName"] for v in pod["spec"]["volumes"]], [claim["metadata"]["name"]])
    compare("pod: mounts", [m["name"] for m in pod["spec"]["containers"][0]["volumeMounts"]], [v["name"] for v in pod["spec"]["volumes"]])
    compare("pod: namespace", pod["metadata"]["namespace"], claim["metadata"]["namespace"])
    compare("pod: level and group", (bool(pod["spec"]["securityContext"]["seLinuxOptions"]["level"]), pod["spec"]["securityContext"]["fsGroup"]),
            (True, 1000))


def test_registrars():
    values, = [o for o in objects if "kind" not in o]
    patch, = of_kind("DaemonSet")
    policy, = of_kind("MutatingAdmissionPolicy")
    binding, = of_kind("MutatingAdmissionPolicyBinding")
    registrar = values["sidecars"]["nodeDriverRegistrar"]
    compare("values of a chart", (registrar["additionalArgs"], registrar["livenessProbe"]), ([f"{REGISTRATION}ebs.csi.aws.com.sock"], None))
    compare("a patch", patch["spec"]["template"]["spec"]["containers"], [{"name": "csi-registrar", "args": [f"{REGISTRATION}topolvm.io.sock"]}])
    compare("a policy is bound", binding["spec"]["policyName"], policy["metadata"]["name"])
    expression = policy["spec"]["mutations"][0]["jsonPatch"]["expression"]
    compare("the policy's expression", (f'"{REGISTRATION}driver.longhorn.io.sock"' in expression,
                                        [expression.count(a) - expression.count(b) for a, b in ("()", "[]", "{}")]), (True, [0, 0, 0]))


for test in (test_driver, test_volumes, test_registrars):
    test()
finish()
