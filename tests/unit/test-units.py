#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The worker's unit gives the worker no mount namespace of its own, in which its mounts would never reach
the host, and takes away nothing that the worker needs. Both units react to an error in the configuration. No other unit runs as root.

The list is that of exec_needs_mount_namespace() in systemd 252, with the additions of later versions."""

import pathlib
import re
import sys

from tap import finish, report

OFF = {"", "no", "false", "off", "0", "n", "f"}

# The directives of ALWAYS make a mount namespace with any value; an empty value resets a directive.
# ReadWriteDirectories= and the like are old names. The directives of UNLESS_OFF make none if they are off;
# PrivateNetwork= does so since 254, and PrivateUsers= makes a user namespace, which can't mount anything of
# the host.
ALWAYS = """
    RootImage RootDirectory RootDirectoryFileDescriptor RootHash ReadWritePaths ReadOnlyPaths InaccessiblePaths
    ReadWriteDirectories ReadOnlyDirectories InaccessibleDirectories ExecPaths NoExecPaths BindPaths
    BindReadOnlyPaths TemporaryFileSystem MountImages ExtensionImages ExtensionDirectories IPCNamespacePath
    NetworkNamespacePath UserNamespacePath MountNamespacePath LogNamespace
"""
UNLESS_OFF = """
    RootEphemeral BindLogSockets MountAPIVFS PrivateTmp PrivateDevices PrivateMounts PrivateIPC PrivatePIDs
    PrivateBPF PrivateNetwork PrivateUsers ProtectSystem ProtectHome ProtectKernelTunables ProtectKernelModules
    ProtectKernelLogs ProtectControlGroups DynamicUser
"""
NAMESPACE = {**dict.fromkeys(ALWAYS.split(), set()), **dict.fromkeys(UNLESS_OFF.split(), OFF),
             "MountFlags": {"shared"}, "ProtectProc": {"default"}, "ProcSubset": {"all"}}

# The worker stages mounts in a mount namespace, and an idmapped mount has the ids of a user namespace.
NAMESPACES_NEEDED = {"mnt", "user"}
CAPABILITIES_NEEDED = {
    "CAP_SYS_ADMIN", "CAP_SYS_CHROOT", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER",
    "CAP_CHOWN", "CAP_FSETID",  # a volume's group
    "CAP_SETUID", "CAP_SETGID", "CAP_SETFCAP",  # the maps of a user namespace
}

DIRECTORIES = re.compile(r"(Runtime|State|Cache|Logs|Configuration)Directory")


def settings(text):
    """Yields the key and value of each line of [Service], with continuation lines joined."""
    section = None
    for line in re.sub(r"\\\n", " ", text).splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line
        elif section == "[Service]" and "=" in line and line[0] not in "#;":
            key, value = line.split("=", 1)
            yield key.strip(), value.strip()


def allows_namespace(value, kind):
    if value.lower() in {"yes", "true", "on", "1"}:
        return False
    if value.lower() in OFF:
        return True
    return (kind in value.lstrip("~").split()) != value.startswith("~")


def allows_capability(value, name):
    return (name in value.lstrip("~").split()) != value.startswith("~")


def judge(text):
    wrong = []
    for key, value in settings(text):
        if key in NAMESPACE and value and value.lower() not in NAMESPACE[key]:
            wrong.append(f"{key}={value} creates a mount namespace")
        if DIRECTORIES.fullmatch(key) and any(word.endswith(":ro") for word in value.split()):
            wrong.append(f"{key}={value} creates a mount namespace")
        if key == "LimitNOFILE":
            soft, _, hard = value.partition(":")
            # Mount helpers may use select(2), and a hostile tree must not make the kernel keep too much.
            if soft != "1024" or not hard.isdecimal() or not 8192 <= int(hard) <= 65536:
                wrong.append(f"{key}={value} is not 1024 and, for deep trees, at most 65536")
        if key == "RestrictNamespaces":
            wrong += [f"{key}={value} forbids the worker a namespace of kind {kind}"
                      for kind in sorted(NAMESPACES_NEEDED) if not allows_namespace(value, kind)]
        if key == "CapabilityBoundingSet":
            wrong += [f"{key}={value} takes {name} from the worker"
                      for name in sorted(CAPABILITIES_NEEDED) if not allows_capability(value, name)]
    return wrong


def limits_its_load(text):
    """Returns whether walks give way to others, by weights below the default of 100."""
    weights = {key: value for key, value in settings(text) if key in {"CPUWeight", "IOWeight"}}
    return len(weights) == 2 and all(value.isdecimal() and 1 <= int(value) < 100 for value in weights.values())


# The units must have these lines. 78 is the exit status for an error in the configuration.
CONFIG = ["ExecReload=kill -HUP $MAINPID", "ExecReload=@libexecdir@/selvold --check-config",
          "RestartPreventExitStatus=78"]
# All but the worker's, which may have no mount namespace.
SANDBOX = ["CapabilityBoundingSet=", "IPAddressDeny=any", "LimitCORE=0", "NoExecPaths=/", "PrivateIPC=yes", "PrivateMounts=yes",
           "PrivateNetwork=yes", "PrivateUsers=yes", "ProtectSystem=strict", "SocketBindDeny=any",
           "InaccessiblePaths=-/run/systemd/private -/run/podman -/run/docker -/run/docker.sock -/run/containerd -/run/crio"]
NEEDED = {
    "selvol-worker.service.in": CONFIG + ["LimitCORE=0", "MemoryMax=25%", "OOMPolicy=continue", "SocketBindDeny=any",
                                          "SystemCallFilter=~@aio @keyring @memlock @pkey @ipc"],
    "selvold.service.in": CONFIG + SANDBOX + ["LimitNOFILE=4096", "MemoryMax=256M", "RestrictAddressFamilies=AF_UNIX"],
    "selvol-metrics.service.in": SANDBOX + ["DynamicUser=yes", "LimitNOFILE=128", "MemoryMax=192M", "RestrictAddressFamilies=none"],
    "selvol-metrics.socket": ["ListenStream=127.0.0.1:24810", "IPAddressDeny=any", "IPAddressAllow=localhost"],
    "selvol-volume-plugin.service.in": SANDBOX + ["LimitNOFILE=1024", "MemoryMax=128M", "ReadWritePaths=/var/lib/selvol-volumes/podman",
                                                  "RestrictAddressFamilies=AF_UNIX"],
    "selvol-volume-plugin.socket": ["ListenStream=/run/selvol/volume-plugin.sock", "SocketUser=root", "SocketMode=0600"],
    "selvol-csi.service.in": SANDBOX + ["LimitNOFILE=256", "MemoryMax=256M", "MemorySwapMax=0", "ReadWritePaths=-/var/lib/kubelet/pods",
                                        "RestrictAddressFamilies=AF_UNIX", "StartLimitIntervalSec=0", "TimeoutStopSec=130", "UMask=0027"],
    "selvol-csi.socket": ["ListenStream=/var/lib/kubelet/plugins_registry/org.selvol.csi-reg.sock", "SocketUser=root", "SocketMode=0600"],
    "selvol-csi@.service.in": SANDBOX + ["LimitNOFILE=512", "MemoryMax=256M", "MemorySwapMax=0", "RestrictAddressFamilies=AF_UNIX",
                                         "ReloadPropagatedFrom=selvold.service", "StartLimitIntervalSec=0", "TimeoutStopSec=130"],
    "selvol-csi@.socket": ["ListenStream=/run/selvol/csi/%i.sock", "SocketUser=root", "SocketMode=0600", "DirectoryMode=0700"],
    "selvol.target": ["Wants=selvold.service", "After=selvold.service", "StopWhenUnneeded=yes", "IgnoreOnIsolate=yes"],
    "selvol-worker.socket": ["SocketUser=selvol", "SocketMode=0600"],
}




def judge_programs(text):
    """Where nothing may be executed but some paths, these have all that systemd starts, and the libraries."""
    values = list(settings(text))
    if ("NoExecPaths", "/") not in values:
        return []
    allowed = {path.lstrip("-") for key, value in values if key == "ExecPaths" for path in value.split()}
    programs = {value.split()[0] for key, value in values if key.startswith("Exec") and key != "ExecPaths"}
    needed = {name if "/" in name else f"/usr/bin/{name}" for name in programs} | {"/usr/lib", "/usr/lib64", "/lib", "/lib64"}
    return [f"{path} can't be executed" for path in sorted(needed - allowed)]


def judge_capabilities(unit, drop_in, policy):
    """The policy allows the worker the capabilities that its unit leaves it, and no others."""
    left = {name.removeprefix("CAP_").lower() for text in (unit, drop_in) for key, value in settings(text)
            if key == "CapabilityBoundingSet" for name in value.split()}
    allowed = {name for names in re.findall(r"allow selvol_worker_t self:capability (?:{([^}]*)}|(\w+));", policy)
               for name in " ".join(names).split()}
    return sorted(left ^ allowed)


# Services that run as root, and why.
ROOT = {
    "selvol-csi.service.in": "makes directories in those of kubelet, which are root's, without any capability",
    "selvol-csi@.service.in": "connects to the sockets of drivers, which are root's, without any capability",
    "selvol-worker.service.in": "mounts for the host, with capabilities in the host's user namespace",
}


def runs_as_root(text):
    values = dict(settings(text))
    return values.get("User", "") in {"", "root", "0"} and values.get("DynamicUser", "") in OFF


def judge_user(name, text, sysusers):
    """A service has a user of its own, which sysusers makes, unless the table has a reason."""
    if runs_as_root(text):
        return [] if name in ROOT else ["it runs as root"]
    if name in ROOT:
        return ["it is not root any more: take it out of the table"]
    user = dict(settings(text)).get("User")
    return [] if not user or re.search(rf"^u {user} ", sysusers, re.M) else [f"nobody makes the user {user}"]


def self_test():
    """Returns (name, passed) for tests that the judge notices every entry of the list, and nothing else."""
    tests = []
    closed = "NoExecPaths=/\nExecReload=kill 1\nExecPaths="
    for key, harmless in NAMESPACE.items():
        tests.append((f"{key}=yes is noticed", bool(judge(f"[Service]\n{key}=yes\n"))))
        for value in sorted(harmless):
            tests.append((f"{key}={value or '(empty)'} is harmless", not judge(f"[Service]\n{key}={value}\n")))
    noticed = ["ProtectSystem=strict", "ProtectProc=invisible", "PrivateTmp=disconnected", "MountFlags=slave",
               "StateDirectory=a:b:ro", "RestrictNamespaces=yes", "RestrictNamespaces=mnt",
               "RestrictNamespaces=~net user", "CapabilityBoundingSet=CAP_SYS_ADMIN",
               "CapabilityBoundingSet=~CAP_CHOWN", "LimitNOFILE=524288", "LimitNOFILE=1024:524288"]
    harmless = ["StateDirectory=a", "RestrictNamespaces=~net", "RestrictNamespaces=no", "RestrictNamespaces=mnt user",
                "CapabilityBoundingSet=" + " ".join(sorted(CAPABILITIES_NEEDED)), "LimitNOFILE=1024:65536",
                "NoNewPrivileges=yes\nSystemCallFilter=@mount\nProtectClock=yes\nDevicePolicy=closed\nMemoryDenyWriteExecute=yes"]
    tests += [(f"{line} is noticed", bool(judge(f"[Service]\n{line}\n"))) for line in noticed]
    tests += [(f"{line} is harmless".replace("\n", " "), not judge(f"[Service]\n{line}\n")) for line in harmless]
    tests += [
        ("blanks are ignored", bool(judge("[Service]\n ProtectProc = invisible\n"))),
        ("a continued line is read", bool(judge("[Service]\nBindPaths= \\\n  /a:/b\n"))),
        ("a comment is harmless", not judge("[Service]\n# PrivateTmp=yes\n;PrivateTmp=yes\n")),
        ("another section is harmless", not judge("[Unit]\nPrivateTmp=yes\n")),
        ("weights are noticed", limits_its_load("[Service]\nCPUWeight=50\nIOWeight=50\n")),
        ("missing weights are noticed", not limits_its_load("[Service]\nCPUWeight=50\n")),
        ("a program is noticed", judge_programs(f"[Service]\n{closed} /usr/lib /usr/lib64 /lib /lib64\n") == ["/usr/bin/kill can't be executed"]),
        ("libraries are noticed", len(judge_programs(f"[Service]\n{closed} /usr/bin/kill\n")) == 4),
        ("no such limit is harmless", not judge_programs("[Service]\nExecReload=kill 1\n")),
        ("a capability is noticed", bool(judge_capabilities("[Service]\nCapabilityBoundingSet=CAP_KILL\n", "", ""))),
        ("so is one of the policy", bool(judge_capabilities("", "", "allow selvol_worker_t self:capability { kill };"))),
        ("no user is noticed", bool(judge_user("a", "[Service]\nUser=\nDynamicUser=no\n", ""))),
        ("root is noticed", bool(judge_user("a", "[Service]\nUser=root\n", "u root "))),
        ("a user that nobody makes is noticed", bool(judge_user("a", "[Service]\nUser=b\n", "u bb - \n"))),
        ("an exception without need is noticed", bool(judge_user(next(iter(ROOT)), "[Service]\nUser=b\n", "u b - \n"))),
        ("a user is harmless", not judge_user("a", "[Service]\nUser=b\n", "u b - \n")),
        ("a dynamic user is harmless", not judge_user("a", "[Service]\nDynamicUser=yes\n", "")),
        ("high weights are noticed", not limits_its_load("[Service]\nCPUWeight=50\nIOWeight=100\n")),
    ]
    return tests


def main():
    units = pathlib.Path(sys.argv[1]) / "units"
    for name, ok in self_test():
        report(name, [] if ok else ["it was judged otherwise"])
    found = [p for p in sorted(units.glob("selvol-worker.service*"))
             + sorted(units.glob("selvol-worker.service.d/*.conf")) if p.is_file()]
    report("there are units", [] if found else ["selvol-worker.service was not found"])
    for path in found:
        wrong = judge(path.read_text(encoding="utf-8"))
        if path.parent == units and not limits_its_load(path.read_text(encoding="utf-8")):
            wrong.append("CPUWeight= and IOWeight= are not below 100")
        report(path.relative_to(units.parent).as_posix(), wrong)
    sysusers = "".join(path.read_text(encoding="utf-8") for path in sorted(units.glob("*sysusers.conf")))
    for path in sorted(units.glob("*.service*")):
        report(f"units/{path.name}: what it executes", judge_programs(path.read_text(encoding="utf-8")))
        report(f"units/{path.name}: its user", judge_user(path.name, path.read_text(encoding="utf-8"), sysusers))
    report("the worker's capabilities", judge_capabilities(*((units.parent / name).read_text(encoding="utf-8") for name in
           ("units/selvol-worker.service.in", "units/selvol-worker-network.conf", "selinux/selvol.te"))))
    for name, lines in NEEDED.items():
        report(f"units/{name} has what it needs",
               sorted(set(lines) - set((units / name).read_text(encoding="utf-8").splitlines())))
    finish()


if __name__ == "__main__":
    main()
