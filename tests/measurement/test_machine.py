from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dbhone.home import file_system
from dbhone.measurement import machine
from dbhone.measurement.machine import chosen, cpu_model, read_machine

INTEL = """\
processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R)   CPU E5-2650 v4 @ 2.20GHz
microcode\t: 0xb000040
flags\t\t: fpu vme de pse tsc msr{flags}
"""
ARM = """\
processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd evtstrm aes
CPU implementer\t: 0x41
CPU part\t: 0xd0c
"""
MOUNTS = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 27 0:30 / /srv/fast\040disk rw - xfs /dev/vdb rw
31 27 0:31 / /srv rw - btrfs /dev/vdc rw
"""
METAL = {
    "proc/cpuinfo": INTEL.format(flags=""),
    "proc/meminfo": "MemTotal:       65842236 kB\nMemFree:        20627936 kB\n",
    "proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/self/mountinfo": MOUNTS,
    "etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\n',
    "etc/machine-id": "3d1219c7c4c5404aaa1f6d2a48adfda4\n",
    "sys/class/dmi/id/sys_vendor": "Dell Inc.\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
    "sys/devices/system/cpu/smt/control": "on\n",
    "sys/devices/system/node/node0/distance": "10 21\n",
    "sys/devices/system/node/node1/distance": "21 10\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
}
KVM = METAL | {
    "proc/cpuinfo": INTEL.format(flags=" hypervisor"),
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "kvm-clock tsc\n",
    "sys/class/dmi/id/sys_vendor": "QEMU\n",
}
InstanceDir = Callable[[dict[str, str]], Path]


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> InstanceDir:
    """Put files where the kernel has them, and return the root of it all."""

    def write(files: dict[str, str]) -> Path:
        root = tmp_path_factory.mktemp("root")
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return root

    return write


def test_a_server_is_read_whole(place: InstanceDir) -> None:
    found = read_machine(Path("/srv"), root=place(METAL))

    assert found.cpu_model == "Intel(R) Xeon(R) CPU E5-2650 v4 @ 2.20GHz"
    assert found.cores == len(os.sched_getaffinity(0))
    assert found.memory_bytes == 65842236 * 1024
    assert (found.kernel, found.governor) == ("6.1.0-18-amd64", "performance")
    assert found.distribution == "Debian GNU/Linux 12 (bookworm)"
    assert found.virtualisation == "none"
    assert found.details == {
        "turbo": "off",
        "smt": "on",
        "numa_nodes": "2",
        "microcode": "0xb000040",
        "transparent_huge_pages": "madvise",
        "address_randomisation": "2",
        "clock_source": "tsc",
        "swappiness": "60",
        "home_file_system": "btrfs",
    }


def test_which_cpus_are_the_fastest_is_told_where_they_differ(
    place: InstanceDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    kinds = {"sys/devices/cpu_core/cpus": "0-3\n", "sys/devices/cpu_atom/cpus": "4-7\n"}
    hybrid, usual = (read_machine(root=place(files)) for files in (METAL | kinds, METAL))
    assert hybrid.details["fastest_cpus"] == "0-3"
    assert hybrid.fingerprint == usual.fingerprint


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "kvm"),
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2"}, "amazon"),
        ({"sys/class/dmi/id/product_name": "VMware Virtual Platform"}, "vmware"),
        ({"sys/hypervisor/type": "xen\n"}, "xen"),
        ({"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc"}, "qemu"),
        ({".dockerenv": ""}, "docker in kvm"),
        ({"run/systemd/container": "lxc"}, "lxc in kvm"),
        ({"proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}, "kubepods in kvm"),
    ],
)
def test_what_is_between_us_and_the_hardware_is_told(
    place: InstanceDir, more: dict[str, str], told: str
) -> None:
    assert read_machine(root=place(KVM | more)).virtualisation == told


def test_a_real_machine_of_a_vendor_of_virtual_ones_is_real(place: InstanceDir) -> None:
    files = METAL | {"sys/class/dmi/id/sys_vendor": "Amazon EC2"}
    assert read_machine(root=place(files)).virtualisation == "none"


def test_limits_of_the_control_group_count(place: InstanceDir) -> None:
    limits = {
        "proc/self/cgroup": "0::/box/inner\n",
        "sys/fs/cgroup/box/inner/cpu.max": "max 100000\n",
        "sys/fs/cgroup/box/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/box/inner/memory.max": "2147483648\n",
        "sys/fs/cgroup/box/memory.max": "max\n",
    }
    found = read_machine(root=place(METAL | limits))
    assert (found.cores, found.memory_bytes) == (1, 2**31)


def test_limits_of_the_older_control_groups_count(place: InstanceDir) -> None:
    limits = {
        "proc/self/cgroup": "8:memory:/box\n2:cpu,cpuacct:/docker/outside\n0::/\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/memory/box/memory.limit_in_bytes": "1073741824\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    }
    found = read_machine(root=place(METAL | limits))
    assert (found.cores, found.memory_bytes) == (1, 2**30)


def test_a_group_without_a_limit_has_none(place: InstanceDir) -> None:
    limits = {
        "proc/self/cgroup": "2:cpu:/\n",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    }
    assert read_machine(root=place(METAL | limits)).cores == len(os.sched_getaffinity(0))


def test_a_machine_that_tells_nothing_is_still_a_machine(tmp_path: Path) -> None:
    found = read_machine(Path("/srv"), root=tmp_path)
    assert found.memory_bytes == 0
    assert (found.governor, found.distribution) == ("unknown", "unknown")
    assert set(found.details.values()) == {"unknown", "1"}


def test_arm_cores_have_names() -> None:
    assert cpu_model(ARM) == "Arm Neoverse-N1"
    assert cpu_model(ARM.replace("0xd0c", "0xfff")) == "CPU of implementer 0x41, part 0xfff"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("proc/cpuinfo", INTEL.format(flags="").replace("2650", "2690")),
        ("proc/meminfo", "MemTotal:       32842236 kB\n"),
        ("proc/sys/kernel/osrelease", "6.1.0-19-amd64\n"),
        ("etc/machine-id", "00000000000000000000000000000001\n"),
    ],
)
def test_the_fingerprint_changes_with_what_makes_hosts_differ(
    place: InstanceDir, name: str, text: str
) -> None:
    before, after = (read_machine(root=place(files)) for files in (METAL, METAL | {name: text}))
    assert before.fingerprint != after.fingerprint


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("proc/meminfo", "MemTotal:       65842112 kB\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
    ],
)
def test_the_fingerprint_stays_when_settings_change(
    place: InstanceDir, name: str, text: str
) -> None:
    before, after = (read_machine(root=place(files)) for files in (METAL, METAL | {name: text}))
    assert before.fingerprint == after.fingerprint
    assert before != after


def test_the_fingerprint_does_not_show_the_machine_id(place: InstanceDir) -> None:
    found = read_machine(root=place(METAL))
    assert METAL["etc/machine-id"].strip() not in repr(found)
    assert len(found.fingerprint) == 16


def test_without_a_machine_id_the_board_tells_hosts_apart(place: InstanceDir) -> None:
    files = METAL | {"etc/machine-id": "", "sys/class/dmi/id/board_name": "0H21J3"}
    other = files | {"sys/class/dmi/id/board_name": "0H21J4"}
    first, second = (read_machine(root=place(each)) for each in (files, other))
    assert first.fingerprint != second.fingerprint


def test_governors_that_differ_are_all_told(place: InstanceDir) -> None:
    mixed = {"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n"}
    assert read_machine(root=place(METAL | mixed)).governor == "performance, powersave"


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"),
        ("/srvx", "ext4"),
        ("/srv/home", "btrfs"),
        ("/srv/fast disk/home", "xfs"),
    ],
)
def test_a_folder_is_on_the_file_system_mounted_nearest(folder: str, kind: str) -> None:
    assert file_system(MOUNTS, Path(folder)) == kind


def test_the_word_in_brackets_is_the_setting() -> None:
    assert chosen("always [madvise] never") == "madvise"
    assert chosen("") == ""


def test_this_machine_is_the_same_each_time() -> None:
    found = read_machine(Path.home())
    assert found == machine.read_machine(Path.home())
    assert found.memory_bytes > 0
    assert found.cores > 0
