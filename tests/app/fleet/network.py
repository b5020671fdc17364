"""Machines of a fleet as network namespaces, each with a cable to the one that has the database.

They need root and `ip`; where those are not allowed, workers are processes with separate stores
only.
"""

import os
import subprocess
from itertools import count

HARDWARE = "02:00:00:00:00:01"  # of the bridge; 02 means locally administered
_made = count()
HOSTS = range(2, 250)  # numbers of the machines in the last part of the address; 1 is the database


class Network:
    """A bridge with an address here, and namespaces that are connected to it when first used.

    Raises:
        OSError: networks cannot be made here.
    """

    def __init__(self) -> None:
        self._key = f"{os.getpid() % 10**6}x{next(_made)}"
        self._bridge = f"theo{self._key}"
        self._machines: dict[int, str] = {}
        # Without one of its own, a bridge takes the lowest hardware address of its cables: with
        # another cable it may change, and no machine reaches it until its ARP entry has expired.
        _ip("link", "add", self._bridge, "address", HARDWARE, "type", "bridge")
        try:
            self._prefix = _free_prefix()
            _ip("addr", "add", f"{self.address}/24", "dev", self._bridge)
            _ip("link", "set", self._bridge, "up")
            self.inside(0)  # whether namespaces can be made as well
        except OSError:
            self.close()
            raise

    @property
    def address(self) -> str:
        """Where the database listens."""
        return f"{self._prefix}.1"

    @property
    def machines(self) -> str:
        """The addresses of all machines."""
        return f"{self._prefix}.0/24"

    def address_of(self, number: int) -> str:
        """The address of a machine."""
        return f"{self._prefix}.{HOSTS[number]}"

    def inside(self, number: int) -> list[str]:
        """What to put before a command for it to run on this machine."""
        if number not in self._machines:
            name = f"{self._bridge}-{number}"
            cable = f"th{number}x{self._key}"  # 15 characters at most
            self._machines[number] = name
            _ip("netns", "add", name)
            _ip("link", "add", cable, "type", "veth", "peer", "eth0", "netns", name)
            _ip("link", "set", cable, "master", self._bridge, "up")
            _ip("-n", name, "addr", "add", f"{self.address_of(number)}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "link", "set", "lo", "up")
        return ["ip", "netns", "exec", self._machines[number]]

    def close(self) -> None:
        """Remove it; a namespace takes its end of the cable with it, and that the other."""
        for name in self._machines.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", self._bridge], capture_output=True)


def _free_prefix() -> str:
    """The beginning of the first private network that nothing else here uses."""
    used = subprocess.run(["ip", "-4", "addr"], capture_output=True, text=True, check=True).stdout
    for third in range(256):
        prefix = f"10.77.{(os.getpid() + third) % 256}"
        if f" {prefix}." not in used:
            return prefix
    raise OSError("no private network is free")


def _ip(*words: str) -> None:
    """Run `ip`."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")
