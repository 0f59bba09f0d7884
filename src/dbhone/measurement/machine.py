"""The machine that measures: what it is, how it is set, and what distinguishes it from others.

Everything is read from /proc, /sys and /etc; nothing is started and nothing needs privilege.
What a machine does not tell is the word ``unknown``, never an error.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
from pathlib import Path

from dbhone import cgroup
from dbhone.cpus import cpu_list, fastest_cpus
from dbhone.files import digest_of, text_if_there
from dbhone.home import file_system
from dbhone.measurement.record import Machine

_ROOT = Path("/")
_UNKNOWN = "unknown"
_CPUS = Path("sys/devices/system/cpu")
_GIB = 2**30
_FINGERPRINT_LENGTH = 16
_DMI = Path("sys/class/dmi/id")
_CLOCK = Path("sys/devices/system/clocksource/clocksource0")
_HYPERVISORS = (
    # What the firmware calls the machine, as systemd-detect-virt(1) knows it, the first that fits.
    ("amazon ec2", "amazon"),
    ("google compute engine", "google"),
    ("microsoft corporation virtual", "microsoft"),
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("parallels", "parallels"),
    ("xen", "xen"),
    ("kvm", "kvm"),
)
_GUEST_CLOCKS = {"kvm-clock": "kvm", "hyperv_clocksource_tsc_page": "microsoft", "xen": "xen"}
"""Clocks that only a guest of this hypervisor is offered."""
_CONTAINERS = ("kubepods", "docker", "lxc", "libpod", "podman")
_ARM_PARTS = {
    # MIDR implementer and part, from the manuals of the cores that servers have.
    ("0x41", "0xd0c"): "Arm Neoverse-N1",
    ("0x41", "0xd40"): "Arm Neoverse-V1",
    ("0x41", "0xd49"): "Arm Neoverse-N2",
    ("0x41", "0xd4f"): "Arm Neoverse-V2",
    ("0x41", "0xd08"): "Arm Cortex-A72",
    ("0x41", "0xd0b"): "Arm Cortex-A76",
    ("0xc0", "0xac3"): "Ampere-1",
    ("0xc0", "0xac4"): "Ampere-1A",
}


def read_machine(home: Path | None = None, *, root: Path = _ROOT) -> Machine:
    """Return what this machine is. ``home`` is the folder whose file system is reported."""
    cpuinfo = _text(root / "proc/cpuinfo")
    model = cpu_model(cpuinfo)
    cores = cgroup.usable_cores(root)
    memory = int(min(total_memory(_text(root / "proc/meminfo")), cgroup.memory_limit(root)))
    kernel = _text(root / "proc/sys/kernel/osrelease") or platform.release()
    return Machine(
        fingerprint=fingerprint(model, cores, memory, kernel, _identity(root)),
        cpu_model=model,
        cores=cores,
        memory_bytes=memory,
        kernel=kernel,
        distribution=distribution(_text(root / "etc/os-release")),
        virtualisation=virtualisation(root),
        governor=_governor(root),
        details=_details(root, cpuinfo, home),
    )


def fingerprint(model: str, cores: int, memory_bytes: int, kernel: str, identity: str) -> str:
    """Return the digest of what makes two hosts' measurements comparable.

    ``identity`` tells this host from its twins. Memory counts in whole GiB, since the kernel's own
    share differs a little from start to start. Settings that change by themselves or by a command
    (governor, turbo) do not count; ``details`` has them.
    """
    memory = round(memory_bytes / _GIB)
    digest = digest_of([model, cores, memory, kernel, identity])
    return digest[:_FINGERPRINT_LENGTH]


def cpu_model(cpuinfo: str) -> str:
    """Return the name of the CPU, from /proc/cpuinfo."""
    name = _field(cpuinfo, "model name") or _field(cpuinfo, "cpu model")
    if name:
        return " ".join(name.split())
    implementer, part = _field(cpuinfo, "CPU implementer"), _field(cpuinfo, "CPU part")
    if implementer and part:
        other = f"CPU of implementer {implementer}, part {part}"
        return _ARM_PARTS.get((implementer, part), other)
    return platform.machine() or _UNKNOWN


def total_memory(meminfo: str) -> int:
    """Return the bytes of memory that the kernel manages, from /proc/meminfo; 0 if not told."""
    match = re.search(r"^MemTotal:\s+(\d+) kB$", meminfo, re.MULTILINE)
    return int(match.group(1)) * 1024 if match else 0


def distribution(os_release: str) -> str:
    """Return the distribution's name for people, from /etc/os-release."""
    match = re.search(r"""^PRETTY_NAME=["']?(.*?)["']?$""", os_release, re.MULTILINE)
    return match.group(1) if match else _UNKNOWN


def virtualisation(root: Path) -> str:
    """Return ``none``, or what is between us and the hardware: ``docker in kvm``."""
    layers = [layer for layer in (_container(root), _hypervisor(root)) if layer]
    return " in ".join(layers) or "none"


def _container(root: Path) -> str | None:
    named = _text(root / "run/systemd/container")
    if named:
        return named
    if (root / "run/.containerenv").exists():
        return "podman"
    if (root / ".dockerenv").exists():
        return "docker"
    groups = _text(root / "proc/1/cgroup")
    return next((container for container in _CONTAINERS if container in groups), None)


def _hypervisor(root: Path) -> str | None:
    kind = _text(root / "sys/hypervisor/type")
    if kind:
        return kind
    # Vendors of virtual machines have real ones too: an x86 CPU says which it is. Arm's do not.
    flags = _field(_text(root / "proc/cpuinfo"), "flags").split()
    if flags and "hypervisor" not in flags:
        return None
    names = ("sys_vendor", "product_name", "bios_vendor")
    firmware = " ".join(_text(root / _DMI / name) for name in names).lower()
    clocks = _text(root / _CLOCK / "available_clocksource").split()
    known = [name for mark, name in _HYPERVISORS if mark in firmware]
    known += [name for clock, name in _GUEST_CLOCKS.items() if clock in clocks]
    known += ["qemu"] if "qemu" in firmware else []
    known += ["virtual machine"] if flags else []
    return known[0] if known else None


def numa_nodes(root: Path) -> int:
    """Return the number of NUMA nodes; a kernel without NUMA has one."""
    return max(1, len(list((root / "sys/devices/system/node").glob("node[0-9]*"))))


def _governor(root: Path) -> str:
    paths = sorted((root / _CPUS).glob("cpu[0-9]*/cpufreq/scaling_governor"))
    return ", ".join(sorted({_text(path) for path in paths} - {""})) or _UNKNOWN


def _identity(root: Path) -> str:
    """Return something of this host alone, digested: machine-id(5) asks not to show it."""
    own = _text(root / "etc/machine-id") or _text(root / "var/lib/dbus/machine-id")
    board = [_text(root / _DMI / name) for name in ("board_vendor", "board_name", "product_name")]
    return hashlib.sha256(f"dbhone {own or board}".encode()).hexdigest()


def _details(root: Path, cpuinfo: str, home: Path | None) -> dict[str, str]:
    """Return the settings that one would look at first when two runs disagree."""
    kernel, vm = root / "proc/sys/kernel", root / "proc/sys/vm"
    details = {
        "turbo": _turbo(root),
        "smt": _text(root / _CPUS / "smt/control"),
        "numa_nodes": str(numa_nodes(root)),
        "microcode": _field(cpuinfo, "microcode"),
        "transparent_huge_pages": chosen(
            _text(root / "sys/kernel/mm/transparent_hugepage/enabled")
        ),
        "address_randomisation": _text(kernel / "randomize_va_space"),
        "clock_source": _text(root / _CLOCK / "current_clocksource"),
        "swappiness": _text(vm / "swappiness"),
    }
    fastest = fastest_cpus(root)
    if fastest != os.sched_getaffinity(0):
        details["fastest_cpus"] = cpu_list(fastest)
    if home is not None:
        details["home_file_system"] = file_system(
            _text(root / "proc/self/mountinfo"), home.resolve()
        )
    return {name: value or _UNKNOWN for name, value in details.items()}


def _turbo(root: Path) -> str:
    intel = _text(root / _CPUS / "intel_pstate/no_turbo")
    if intel:
        return "off" if intel == "1" else "on"
    boost = _text(root / _CPUS / "cpufreq/boost")
    return {"1": "on", "0": "off"}.get(boost, _UNKNOWN)


def chosen(text: str) -> str:
    """Return the word that a kernel setting marks as chosen: ``always [madvise] never``."""
    match = re.search(r"\[([^]]+)\]", text)
    return match.group(1) if match else ""


def _field(text: str, name: str) -> str:
    """Return the value of the first line ``name : value``, empty if there is none."""
    match = re.search(rf"^{re.escape(name)}[ \t]*:[ \t]*(.*)$", text, re.MULTILINE)
    return match.group(1).strip() if match else ""


def _text(path: Path) -> str:
    """Return a small file's text without its end of line, empty if it cannot be read."""
    return text_if_there(path).rstrip("\n\0").strip()
