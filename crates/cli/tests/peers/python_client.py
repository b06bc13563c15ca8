"""The official Python SDK as a client: every tool, every refusal, progress, cancellation, approvals, roots.

Usage: python_client.py (legacy|auto) WORKSPACE stdio COMMAND...
       python_client.py (legacy|auto) WORKSPACE http URL TOKEN
"""

import asyncio
import os
import sys
import time

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
import mcp_types as types

MODE, WORKSPACE, KIND, *REST = sys.argv[1:]
TOOLS = ["append_file", "check", "edit_file", "exec", "list_dir", "policy", "read_file", "web_fetch", "write_file"]
asked = []
answer = {"action": "decline"}


async def elicited(context, params):
    asked.append(params.message)
    return types.ElicitResult(**answer)


async def roots(context):
    uri = "file://" + os.path.join(WORKSPACE, "inner")
    return types.ListRootsResult(roots=[types.Root(uri=uri)])


def connect(**more):
    if KIND == "stdio":
        environment = {name: os.environ[name] for name in ("PICOCLAW_HOME", "HOME", "PATH")}
        server = StdioServerParameters(command=REST[0], args=REST[1:], env=environment)
    else:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {REST[1]}"}, timeout=30)
        server = streamable_http_client(REST[0], http_client=http)
    return Client(server, mode=MODE, read_timeout_seconds=30, **more)


def text(result):
    return result.content[0].text


async def every_tool(client):
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == TOOLS, [tool.name for tool in listed.tools]
    assert listed.next_cursor is None
    for tool in listed.tools:
        marks = tool.annotations
        hints = [marks.read_only_hint, marks.destructive_hint, marks.idempotent_hint, marks.open_world_hint]
        assert all(hint is not None for hint in hints), tool
        assert tool.input_schema["type"] == "object" and tool.output_schema["type"] == "object", tool
    for tool, arguments, wanted, structured in [
        ("write_file", {"path": "a.txt", "content": "one\n"}, "File written: a.txt", None),
        ("append_file", {"path": "a.txt", "content": "two\n"}, "Appended to a.txt", None),
        ("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "uno"}, "File edited: a.txt", None),
        ("read_file", {"path": "a.txt"}, "uno\ntwo\n", {"text": "uno\ntwo\n"}),
        ("list_dir", {}, "FILE: a.txt", {"directories": [], "files": ["a.txt"]}),
        ("exec", {"command": "cat a.txt"}, "uno\ntwo\n", {"text": "uno\ntwo\n", "exitCode": 0}),
    ]:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error and text(result) == wanted, (tool, result)
        assert structured is None or result.structured_content == structured, (tool, result)
    policy = await client.call_tool("policy", {})
    assert policy.structured_content["workspace"] == WORKSPACE, policy
    check = await client.call_tool("check", {"action": "write", "subject": "/etc/passwd"})
    assert not check.is_error and check.structured_content["verdict"] == "deny", check


async def every_refusal(client):
    for tool, arguments, code in [
        ("read_file", {"path": "/etc/passwd"}, "outside_workspace"),
        ("read_file", {"path": "../config.json"}, "protected"),
        ("write_file", {"path": "/tmp/x", "content": ""}, "outside_workspace"),
        ("exec", {"command": "cat /etc/shadow", "cwd": "/etc"}, "command_path_outside"),
        ("read_file", {"pth": "a"}, "invalid_arguments"),
        ("check", {"action": "eat", "subject": "a"}, "invalid_arguments"),
        ("policy", {"more": 1}, "invalid_arguments"),
        ("no_such_tool", {}, "unknown_tool"),
    ]:
        result = await client.call_tool(tool, arguments)
        found = result.structured_content
        assert result.is_error and found["code"] == code, (tool, arguments, result)
        assert sorted(found) == ["code", "hint", "layer", "rule"], found
    failed = await client.call_tool("exec", {"command": "echo out; exit 3"})
    assert failed.is_error and failed.structured_content["exitCode"] == 3, failed


async def progress(client):
    heard = []

    async def hear(amount, total, message):
        heard.append((amount, message))

    command = "echo first; sleep 0.4; echo second; sleep 0.4; echo third"
    result = await client.call_tool("exec", {"command": command}, progress_callback=hear)
    assert text(result) == "first\nsecond\nthird\n", result
    await asyncio.sleep(0.2)
    assert [message for _, message in heard] == ["first", "second", "third"], heard
    assert [amount for amount, _ in heard] == sorted({amount for amount, _ in heard}), heard


def is_running(mark):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                words = line.read().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", mark.encode()]:
            return True
    return False


async def until(condition, why):
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < 10, why
        await asyncio.sleep(0.02)
    return time.monotonic() - begin


async def cancellation(client):
    mark = f"30{os.getpid()}.5"
    call = asyncio.create_task(client.call_tool("exec", {"command": f"sleep {mark} & sleep {mark}; wait"}))
    await until(lambda: is_running(mark), "the command never began")
    call.cancel()
    try:
        await call
    except asyncio.CancelledError:
        pass
    took = await until(lambda: not is_running(mark), "the command outlived its cancellation")
    assert took < 2, took
    result = await client.call_tool("read_file", {"path": "a.txt"})
    assert not result.is_error, result


async def cancelled_on_the_quick_way(client):
    """Over before it can be stopped, or not: either way the next call is answered as if nothing had been."""
    with open(os.path.join(WORKSPACE, "long.txt"), "w") as long:
        long.write("x" * (1 << 20))
    stopped = 0
    for round in range(40):
        call = asyncio.create_task(client.call_tool("read_file", {"path": "long.txt"}))
        await asyncio.sleep((round % 4) / 1000)
        call.cancel()
        try:
            await call
        except asyncio.CancelledError:
            stopped += 1
        result = await client.call_tool("read_file", {"path": "a.txt"})
        assert text(result) == "uno\ntwo\n", (round, result)
    assert stopped > 0, "every call was over before it could be stopped"


async def background(client):
    begun = await client.call_tool("exec", {"command": "cat", "background": True})
    handle = begun.structured_content["sessionId"]
    polled = await client.call_tool("exec", {"action": "poll", "sessionId": handle})
    assert polled.structured_content["status"] == "running", polled
    await client.call_tool("exec", {"action": "kill", "sessionId": handle})
    gone = await client.call_tool("exec", {"action": "poll", "sessionId": handle})
    assert gone.is_error and "session not found" in text(gone), gone


async def approvals(client):
    global answer
    blocked = {"command": "rm -rf gone"}
    answer = {"action": "decline"}
    result = await client.call_tool("exec", blocked)
    assert result.is_error and result.structured_content["code"] == "not_approved", result
    answer = {"action": "accept", "content": {"answer": "once"}}
    result = await client.call_tool("exec", blocked)
    assert not result.is_error, result
    assert len(asked) == 2 and "rm -rf gone" in asked[-1], asked
    answer = {"action": "accept", "content": {"answer": "session"}}
    result = await client.call_tool("exec", blocked)
    assert not result.is_error and len(asked) == 3, (result, asked)
    answer = {"action": "decline"}
    result = await client.call_tool("exec", blocked)
    # Without a session there is no yes for a session: a stateless client is asked again.
    again = 1 if MODE == "auto" and KIND == "http" else 0
    assert result.is_error == bool(again) and len(asked) == 3 + again, (result, asked)
    result = await client.call_tool("exec", {"command": "rm -rf other"})
    assert result.is_error and len(asked) == 4 + again, (result, asked)


async def nobody_to_ask():
    async with connect() as client:
        result = await client.call_tool("exec", {"command": "rm -rf nobody"})
        assert result.is_error and result.structured_content["code"] == "dangerous_command", result


async def narrowed():
    os.makedirs(os.path.join(WORKSPACE, "inner"), exist_ok=True)
    async with connect(list_roots_callback=roots) as client:
        inside = await client.call_tool("write_file", {"path": "inner/b.txt", "content": "x"})
        assert not inside.is_error, inside
        outside = await client.call_tool("read_file", {"path": "a.txt"})
        assert outside.is_error and outside.structured_content["rule"] == "roots", outside
        stands = await client.call_tool("exec", {"command": "pwd"})
        assert text(stands).strip().endswith("/inner"), stands
        elsewhere = await client.call_tool("exec", {"command": "pwd", "cwd": "."})
        assert elsewhere.is_error and elsewhere.structured_content["rule"] == "roots", elsewhere


async def main():
    async with connect(elicitation_callback=elicited) as client:
        version = client.session.protocol_version
        await every_tool(client)
        await every_refusal(client)
        await progress(client)
        await cancellation(client)
        await cancelled_on_the_quick_way(client)
        await background(client)
        await approvals(client)
    await nobody_to_ask()
    if MODE == "legacy":
        await narrowed()
    print(version)


asyncio.run(main())
