# SPDX-License-Identifier: BSD-2-Clause
"""Processes on nodes of a network: namespaces of their own, joined by a bridge, whose links can be cut. The processes are
the only ones that hold the namespaces, so that all is gone when they are. Needs root."""

import contextlib
import ctypes
import os
import shutil
import subprocess

_NEW_NET = 0x40000000  # CLONE_NEWNET
_HOST = "10.83.0.{}"
_libc = ctypes.CDLL(None, use_errno=True)

# A node waits until its link is there.
_NODE = """read _ && ip address add "$1/24" dev eth0 && ip link set eth0 up && ip link set lo up && shift && exec "$@" """


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def why_not():
    """What is missing for networks here; None if nothing is."""
    for tool, package in (("ip", "iproute2"), ("unshare", "util-linux")):
        if shutil.which(tool) is None:
            return f"{tool} is not installed ({package})"
    trial = subprocess.run(
        ["unshare", "--net", "sh", "-ec", "ip link add switch type bridge; ip link add node2 type veth peer name eth0"],
        capture_output=True, text=True, check=False)
    return f"there are no namespaces here: {trial.stderr.strip()}" if trial.returncode else None


def _check(result):
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextlib.contextmanager
def here():
    """A Network, in which the thread that calls is itself, with an address, until the end."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc.unshare(_NEW_NET))
        _ip("link", "set", "lo", "up")
        _ip("link", "add", "switch", "type", "bridge")
        _ip("address", "add", _HOST.format(1) + "/24", "dev", "switch")
        _ip("link", "set", "switch", "up")
        yield Network()
    finally:
        _check(_libc.setns(before, _NEW_NET))
        os.close(before)


class Network:
    def __init__(self):
        self._last = 1

    def new_host(self):
        """An address for a node."""
        self._last += 1
        return _HOST.format(self._last)

    @staticmethod
    def command(host, *command):
        """The command that runs `command` on a node; its process needs `connect`, and a pipe as its input."""
        return ["unshare", "--net", "sh", "-c", _NODE, "node", host, *command]

    @staticmethod
    def connect(host, process, until):
        """Gives a process its link, by which it begins."""
        own = os.readlink("/proc/thread-self/ns/net")
        until(lambda: os.readlink(f"/proc/{process.pid}/ns/net") != own, process)
        _ip("link", "add", _link(host), "type", "veth", "peer", "name", "eth0", "netns", str(process.pid))
        _ip("link", "set", _link(host), "master", "switch", "up")
        process.stdin.write(b"\n")
        process.stdin.close()

    @staticmethod
    def cut(host):
        _ip("link", "set", _link(host), "down")

    @staticmethod
    def mend(host):
        _ip("link", "set", _link(host), "up")


def _link(host):
    return "node" + host.rsplit(".", 1)[1]
