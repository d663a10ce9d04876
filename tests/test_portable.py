"""The package needs nothing that Windows lacks: neither to be imported nor to fit a graph."""

import os
import subprocess
import sys

#: Runs where modules and functions that only POSIX has are hidden from the package. Libraries
#: keep the modules, since they look at the name of the system before they import them.
SCRIPT = """
import builtins, os, pkgutil, signal
from importlib import import_module

ABSENT = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
REMOVED = {
    os: "fork geteuid getgid getloadavg getpgid killpg mkfifo posix_spawn pread pwrite "
        "sched_getaffinity setsid statvfs sysconf uname wait",
    signal: "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 alarm setitimer",
}
genuine = builtins.__import__

def as_on_windows(name, globals=None, *rest, **named):
    importer = (globals or {}).get("__name__") or ""
    if importer.split(".")[0] == "maskgae" and name.split(".")[0] in ABSENT:
        raise ModuleNotFoundError(f"{importer} imports {name}, which Windows has not")
    return genuine(name, globals, *rest, **named)

builtins.__import__ = as_on_windows
import maskgae
for module in pkgutil.walk_packages(maskgae.__path__, "maskgae."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
for owner, names in REMOVED.items():
    for name in names.split():
        delattr(owner, name)

import networkx
from maskgae.evaluation.outcome import forget_peak
from maskgae.training.memory import available_memory

graph = networkx.karate_club_graph()
model = maskgae.MaskGAE(dim=4, settings={"training.epochs": 2}).fit(graph)
forget_peak()
print(model.embedding_.shape, available_memory() > 0)
"""


def test_imports_and_fits_without_what_only_posix_has() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=os.environ, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "(34, 4) True\n"
