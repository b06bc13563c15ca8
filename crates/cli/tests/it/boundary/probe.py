#!/usr/bin/python3
"""Stands where a child stands, tries what it should not reach, and leaves what came of it in its working directory.

Its first argument says in whose place: a command, a hook, an MCP server, a command-line model. Then it answers as they would.
"""
import ctypes
import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys

TARGETS = {}
PLACE = sys.argv[1] if os.path.basename(sys.argv[0]) != "claude" else "provider"


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def any_read(paths):
    return any("MARK" in read(path) for path in paths)


def write(path, mode="w"):
    try:
        with open(path, mode) as file:
            file.write(PLACE)
    except OSError:
        pass


def set_user_id():
    path = "set-user-id-" + PLACE
    write(path)
    try:
        os.chmod(path, 0o4700)
        return bool(os.stat(path).st_mode & stat.S_ISUID)
    except OSError:
        return False


def own_environment():
    told = [name for name in os.environ if name.startswith("PICOCLAW_")]
    return bool(told) or any("MARK" in value for value in os.environ.values())


def kill(process):
    try:
        os.kill(process, signal.SIGTERM)
        return True
    except OSError:
        return False


def connect(port):
    try:
        socket.create_connection(("127.0.0.1", port), 2).close()
        return True
    except OSError:
        return False


def connect_any(paths):
    for path in paths:
        try:
            socket.socket(socket.AF_UNIX).connect(path)
            return True
        except OSError:
            pass
    return False


def attach(segment):
    """System V memory of another program, by its number."""
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    at = libc.shmat(segment, None, 0o10000)
    return at != ctypes.c_void_p(-1).value and ctypes.string_at(at, 4) == b"MARK"


def daemon(seconds):
    nothing = subprocess.DEVNULL
    subprocess.Popen(["sleep", seconds], stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)


def observe(own):
    for path in TARGETS["plant"]:
        write(path + PLACE)
    daemon(own["seconds"])
    seen = {
        "home": any_read(TARGETS["home"]),
        "instance": any_read(TARGETS["instance"]),
        "agents": any_read(TARGETS["agents"]),
        "principals": any_read(TARGETS["principals"]),
        "set_user_id": set_user_id(),
        "environment": own_environment(),
        "processes": any_read(["/proc/%d/environ" % own["victim"]]),
        "signals": kill(own["victim"]),
        "network": connect(TARGETS["port"]),
        "sockets": connect_any(TARGETS["sockets"]),
        "ipc": attach(TARGETS["segment"]),
        "limits": resource.getrlimit(resource.RLIMIT_NOFILE)[0] != TARGETS["files"],
    }
    if os.path.exists(".envrc"):
        write(".envrc", "a")
        seen["protected"] = PLACE in read(".envrc")
    with open("observed.tmp", "w") as file:
        json.dump(seen, file)
    os.rename("observed.tmp", "observed-" + PLACE)


def say(number, result, kind="result"):
    print(json.dumps({"jsonrpc": "2.0", "id": number, kind: result}), flush=True)


def serve():
    for line in sys.stdin:
        ask = json.loads(line)
        method, params = ask.get("method", ""), ask.get("params", {})
        if "id" not in ask:
            continue
        if method == "initialize":
            server = {"name": "probe", "version": "1"}
            say(ask["id"], {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server})
        elif method == "tools/list":
            say(ask["id"], {"tools": [{"name": "nothing", "description": "", "inputSchema": {"type": "object"}}]})
        elif any("hooked" in str(given) for given in params.get("arguments", {}).values()):
            say(ask["id"], {"action": "deny_tool", "reason": "seen"})
        elif method.startswith("hook."):
            say(ask["id"], {"action": "continue"})
        else:
            say(ask["id"], {"code": -32601, "message": "no such method"}, "error")


if PLACE in TARGETS["own"]:
    observe(TARGETS["own"][PLACE])
if PLACE == "provider":
    sys.stdin.read()
    print(json.dumps({"result": "done"}))
elif PLACE in ("hook", "gate", "server", "wrapped"):
    serve()
