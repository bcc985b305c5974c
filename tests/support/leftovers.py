"""What a broker may have left on the machine."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from support.waiting import wait_until


def processes_with(text: str) -> list[int]:
    """The ids of running processes that have a text in their arguments or their environment."""
    return [pid for pid in _process_ids() if text.encode() in _arguments_and_environment(pid)]


def mounts_with(text: str) -> list[str]:
    """The mounts, as this process sees them, that have a text in them."""
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if text in line]


def listening_addresses(port: int) -> set[str]:
    """The local addresses that listen on a port, as the kernel writes them (0100007F is 127.0.0.1)."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            address, _, number = local.partition(":")
            if state == "0A" and int(number, 16) == port:
                found.add(address)
    return found


def directory_of_child(parent: int) -> Path | None:
    """The directory of the private broker that a process has started, from the arguments of its keeper."""
    for pid in processes_with("raquo-keeper"):
        with suppress(OSError):  # it has ended
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if int(stat[1]) == parent:
                return Path(Path(f"/proc/{pid}/cmdline").read_text().split("\0")[-2])
    return None


def assert_nothing_left(directory: Path) -> None:
    """No process, no folder and no mount of a private broker is there any more, or soon will be."""
    wait_until(lambda: not processes_with(str(directory)), 30, "its processes have ended")
    wait_until(lambda: not directory.exists(), 30, f"{directory} is gone")
    assert not mounts_with(directory.name)


def _process_ids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _arguments_and_environment(pid: int) -> bytes:
    with suppress(OSError):  # it has ended, or is somebody else's
        return Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
    return b""
