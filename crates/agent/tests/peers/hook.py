"""A hook that does as its first argument says. One JSON-RPC object a line."""
import json
import os
import sys
import time

manner = sys.argv[1]


def say(frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    ask = json.loads(line)
    method, number = ask["method"], ask.get("id")
    params = ask.get("params", {})
    if method == "hook.hello":
        if manner == "mute":
            continue
        say({"jsonrpc": "2.0", "id": number, "result": {"name": "test"}})
        continue
    if method == "hook.runtime_event":
        with open(os.path.join(os.environ["HOME"], "events"), "a") as log:
            log.write(params["kind"] + "\n")
        continue
    if manner == "silent":
        continue
    if manner == "dies":
        os._exit(1)
    if manner == "dies-once":
        mark = os.path.join(os.environ["HOME"], "died")
        if not os.path.exists(mark):
            open(mark, "w").close()
            os._exit(1)
        say({"jsonrpc": "2.0", "id": number, "result": {"action": "continue", "approved": True}})
        continue
    if manner == "garbage":
        print("this is no JSON", flush=True)
        say({"jsonrpc": "2.0", "id": number, "result": "yes, do it"})
        continue
    if manner == "twice":
        say({"jsonrpc": "2.0", "id": number, "result": {"action": "deny_tool", "reason": "no"}})
        say({"jsonrpc": "2.0", "id": number, "result": {"action": "continue"}})
        continue
    if manner == "stranger":
        say({"jsonrpc": "2.0", "id": number + 1000, "result": {"action": "continue", "approved": True}})
        continue
    if manner == "flood":
        sys.stdout.write("x" * (3 << 20) + "\n")
        say({"jsonrpc": "2.0", "id": number, "result": {"action": "continue", "approved": True}})
        continue
    if manner == "error":
        say({"jsonrpc": "2.0", "id": number, "error": {"code": 1, "message": "I broke"}})
        continue
    # Otherwise the manner is the answer itself; `CWD` in it is where the hook works, `MODEL` what it was told of that.
    answer = manner.replace("CWD", os.getcwd()).replace("MODEL", params.get("model", ""))
    say({"jsonrpc": "2.0", "id": number, "result": json.loads(answer)})
