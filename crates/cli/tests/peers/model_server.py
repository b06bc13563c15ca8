"""A model on the loopback that calls one shell command and then answers with its result: the streaming
messages of Anthropic and the responses of OpenAI, as far as Claude Code and Codex need them.

Its argument is the command. It prints its port, and then who signed in, one line a request."""

import http.server
import json
import sys

COMMAND = sys.argv[1]


def claude_events(ask):
    blocks = [block for message in ask["messages"] if isinstance(message["content"], list) for block in message["content"]]
    results = [block.get("content") for block in blocks if block.get("type") == "tool_result"]
    if not results and any(tool.get("name") == "Bash" for tool in ask.get("tools", [])):
        block = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
        call = {"command": COMMAND, "description": "one command"}
        delta, stop = {"type": "input_json_delta", "partial_json": json.dumps(call)}, "tool_use"
    else:
        block = {"type": "text", "text": ""}
        delta, stop = {"type": "text_delta", "text": "result: %s" % json.dumps(results)}, "end_turn"
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": ask["model"], "content": []}
    message.update(stop_reason=None, stop_sequence=None, usage={"input_tokens": 1, "output_tokens": 1})
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def codex_events(ask):
    results = [item["output"] for item in ask["input"] if item.get("type") == "function_call_output"]
    if results:
        content = [{"type": "output_text", "text": "result: %s" % json.dumps(results)}]
        item = {"type": "message", "id": "m_1", "role": "assistant", "content": content}
    else:
        item = {"type": "function_call", "id": "f_1", "call_id": "c_1", "name": "exec_command"}
        item["arguments"] = json.dumps({"cmd": COMMAND})
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None}
    usage["total_tokens"] = 2
    return [
        {"type": "response.created", "response": {"id": "r_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r_1", "usage": usage}},
    ]


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, kind, text):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def do_GET(self):
        self.answer("application/json", b"{}")

    do_HEAD = do_GET

    def do_POST(self):
        ask = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        events = {"/v1/messages": claude_events, "/v1/responses": codex_events}.get(path)
        if events is None:
            return self.answer("application/json", b"{}")
        print(self.headers.get("Authorization") or self.headers.get("X-Api-Key"), flush=True)
        lines = ("event: %s\ndata: %s\n\n" % (event["type"], json.dumps(event)) for event in events(json.loads(ask)))
        self.answer("text/event-stream", "".join(lines).encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_address[1], flush=True)
server.serve_forever()
