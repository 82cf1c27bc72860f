#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each alert of monitoring/selvol.rules.yml fires when it is to, and not when all is well: promtool plays
the series.

Prints TAP."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from tap import finish, report

RULES = pathlib.Path(sys.argv[1]) / "monitoring/selvol.rules.yml"

# A case has a name, an alert, a minute, whether the alert fires then, and series, with a value for each
# minute in promtool's notation. All series have the labels of a target. A dict instead of True has further
# labels of the alert.
TARGET = {"job": "selvol", "instance": "a:1"}
CASES = [
    ("the service goes", "SelvolDown", 20, True, {"selvol_build_info{version='1'}": "1x10 stale"}),
    ("it is there", "SelvolDown", 20, False, {"selvol_build_info{version='1'}": "1x30"}),
    ("it was upgraded", "SelvolDown", 20, False,
     {"selvol_build_info{version='1'}": "1x10 stale",
      "selvol_build_info{version='2'}": "_x11 1x30"}),
    ("it hangs", "SelvolMetricsOld", 20, True, {"selvol_textfile_last_success_timestamp_seconds": "60x30"}),
    ("it writes", "SelvolMetricsOld", 20, False, {"selvol_textfile_last_success_timestamp_seconds": "0+60x30"}),
    ("a mistake", "SelvolConfigRejected", 10, True, {"selvol_config_rejected": "1x30"}),
    ("no mistake", "SelvolConfigRejected", 10, False, {"selvol_config_rejected": "0x30"}),
    ("the first error", "SelvolStoreFails", 8, True, {"selvol_store_errors_total": "0x5 1x10"}),
    ("an old error", "SelvolStoreFails", 20, False, {"selvol_store_errors_total": "1x30"}),
    ("a slow disk", "SelvolStoreSlow", 30, True,
     {"selvol_commit_duration_seconds_bucket{le='1'}": "0x40",
      "selvol_commit_duration_seconds_bucket{le='2.5'}": "0+5x40",
      "selvol_commit_duration_seconds_bucket{le='+Inf'}": "0+5x40"}),
    ("a fast disk", "SelvolStoreSlow", 30, False,
     {"selvol_commit_duration_seconds_bucket{le='1'}": "0+5x40",
      "selvol_commit_duration_seconds_bucket{le='2.5'}": "0+5x40",
      "selvol_commit_duration_seconds_bucket{le='+Inf'}": "0+5x40"}),
    ("it crashes", "SelvolWorkerFails", 15, {"connection": "job"}, {"selvol_worker_failures_total{connection='job'}": "0+1x30"}),
    ("one crash", "SelvolWorkerFails", 15, False, {"selvol_worker_failures_total{connection='job'}": "0x5 1x30"}),
    ("no watch", "SelvolNotWatching", 10, True, {"selvol_mount_table_watched": "0x30"}),
    ("a watch", "SelvolNotWatching", 10, False, {"selvol_mount_table_watched": "1x30"}),
    ("a process can not be ended", "SelvolJobStuck", 25, {"state": "settling"}, {"selvol_oldest_job_age_seconds{state='settling'}": "0+60x60"}),
    ("an unmount hangs", "SelvolJobStuck", 25, {"state": "acting"}, {"selvol_oldest_job_age_seconds{state='acting'}": "0+60x60"}),
    ("a long walk", "SelvolJobStuck", 55, False, {"selvol_oldest_job_age_seconds{state='walking'}": "0+60x60"}),
    ("a long wait", "SelvolJobWaits", 25, {"state": "waiting"}, {"selvol_oldest_job_age_seconds{state='waiting'}": "0+60x60"}),
    ("short waits", "SelvolJobWaits", 25, False, {"selvol_oldest_job_age_seconds{state='waiting'}": "20x60"}),
    ("labels", "SelvolVolumePartial", 80, True,
     {"selvol_volumes_left_partial": "2x90",
      "selvol_jobs_walking": "1x90"}),
    ("readers, and a walk", "SelvolVolumePartial", 80, False,
     {"selvol_volumes_left_partial": "0x90",
      "selvol_volumes_label_state{state='partial'}": "1x90",
      "selvol_volumes_ownership_state{state='partial'}": "1x90"}),
    ("labels that fail", "SelvolFilesFail", 8, {"result": "failed"}, {"selvol_relabel_entries_total{result='failed'}": "0x5 3x10"}),
    ("groups that fail", "SelvolFilesFail", 8, {"result": "failed"}, {"selvol_ownership_entries_total{result='failed'}": "0x5 3x10"}),
    ("files that change", "SelvolFilesFail", 8, False, {"selvol_relabel_entries_total{result='changed'}": "0+9x15"}),
    ("a wrong label", "SelvolMismatch", 30, {"depth": "full", "result": "mismatch"}, {"selvol_verifications_total{depth='full', result='mismatch'}": "0x5 1x30"}),
    ("right labels", "SelvolMismatch", 30, False, {"selvol_verifications_total{depth='full', result='match'}": "0+1x30"}),
    ("two pods", "SelvolConflicts", 50, True,
     {"selvol_refusals_total{error='ContextConflict'}": "0+1x60",
      "selvol_refusals_total{error='GroupConflict'}": "0+1x60"}),
    ("a short overlap", "SelvolConflicts", 50, False, {"selvol_refusals_total{error='ContextConflict'}": "0x20 5x40"}),
    ("a broken disk", "SelvolMountsFail", 30, {"error": "MountFailed"}, {"selvol_refusals_total{error='MountFailed'}": "0+1x60"}),
    ("usual refusals", "SelvolMountsFail", 30, False, {"selvol_refusals_total{error='Canceled'}": "0+1x60"}),
    ("umount(8)", "SelvolHoldersLost", 30, True, {"selvol_holders_lost_total": "0x5 1x30"}),
    ("none lost", "SelvolHoldersLost", 30, False, {"selvol_holders_lost_total": "4x30"}),
    ("pods without end", "SelvolVolumesNearLimit", 30, True,
     {"selvol_volume_manager_total_volumes{plugin_name='a', state='held'}": "3000x60",
      "selvol_volume_manager_total_volumes{plugin_name='b', state='held'}": "300x60", "selvol_volumes_limit": "4096x60"}),
    ("old records", "SelvolVolumesNearLimit", 30, False,
     {"selvol_volume_manager_total_volumes{plugin_name='a', state='held'}": "300x60",
      "selvol_volume_manager_total_volumes{plugin_name='a', state='free'}": "3796x60", "selvol_volumes_limit": "4096x60"}),
    ("a lost state", "SelvolUnrecordedMounts", 30, True, {"selvol_unrecorded_mounts": "3x60"}),
    ("a whole state", "SelvolUnrecordedMounts", 30, False, {"selvol_unrecorded_mounts": "0x60"}),
    ("permissive", "SelvolNotEnforcing", 30, True, {"selvol_selinux_enforcing": "0x60"}),
    ("off", "SelvolNotEnforcing", 30, True, {"selvol_selinux_enforcing": "-1x60"}),
    ("enforcing", "SelvolNotEnforcing", 30, False, {"selvol_selinux_enforcing": "1x60"}),
]


def with_target(series):
    """Returns a series with the labels of the target; promtool needs double quotes."""
    name, _, labels = series.replace("'", '"').rstrip("}").partition("{")
    target = ", ".join(f'{key}="{value}"' for key, value in TARGET.items())
    return f"{name}{{{target}{', ' + labels if labels else ''}}}"


def labels_of(alert, severity, fires):
    labels = {"alertname": alert, "alertstate": "firing", "severity": severity, **TARGET, **(fires if isinstance(fires, dict) else {})}
    return "ALERTS{" + ", ".join(f'{key}="{value}"' for key, value in labels.items()) + "}"


def make_test(severities, alert, minute, fires, series):
    expected = [{"labels": labels_of(alert, severities[alert], fires), "value": 1}] if fires else []
    return {"rule_files": [str(RULES.resolve())], "evaluation_interval": "1m", "tests": [{
        "interval": "1m",
        "input_series": [{"series": with_target(name), "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": f'ALERTS{{alertname="{alert}", alertstate="firing"}}', "eval_time": f"{minute}m",
                              "exp_samples": expected}]}]}


def main():
    if not shutil.which("promtool"):
        print("1..0 # SKIP promtool is not installed (Debian: prometheus)")
        return
    severities = dict(re.findall(r"- alert: (\w+)$.*?severity: (\w+)", RULES.read_text(), flags=re.M | re.S))
    for alert in severities:
        # An alert that never fires, or always, is of no use.
        outcomes = {bool(fires) for _, name, _, fires, _ in CASES if name == alert}
        report(f"{alert} has a case of each kind", [] if len(outcomes) == 2 else [f"{len(outcomes)} kinds"])
    with tempfile.TemporaryDirectory() as directory:
        for name, *case in CASES:
            # JSON is YAML.
            path = pathlib.Path(directory) / "test.json"
            path.write_text(json.dumps(make_test(severities, *case)))
            done = subprocess.run(["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False)
            report(f"{case[0]}: {name}", (done.stdout + done.stderr).splitlines() if done.returncode else [])
    finish()


if __name__ == "__main__":
    main()
