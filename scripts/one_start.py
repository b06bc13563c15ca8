"""A start of `picoclaw run` in an instance that is there already, for whoever traces it."""

import ctypes
import os
import subprocess
import tempfile

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def traced_by(trace, program):
    """What `trace` says of the program, given its arguments and its environment."""
    with tempfile.TemporaryDirectory() as house:
        project = os.path.join(house, "project")
        os.mkdir(project)
        os.chdir(project)
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": "/nonexistent",
            "PICOCLAW_HOME": os.path.join(house, "home"),
        }
        arguments = ["run", "--net", "host", "--", "/bin/true"]
        # The first runs make the instance, which is not what a start usually does.
        for _ in range(2):
            subprocess.run([program, *arguments], env=environment, check=True)
        return trace(program, arguments, environment)
