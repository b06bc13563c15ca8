"""A package index on the loopback with one wheel: an MCP server that tells what it sees.

It prints its port, and then the path of each request."""

import http.server
import io
import zipfile

SCRIPT = '''
import json, os, socket, sys

def look(path):
    try: return open(path).read().strip()
    except OSError as why: return why.strerror

def connect(port):
    try: socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError as why: return why.strerror
    return "open"

def facts(port):
    try: open(__file__, "w").close(); written = "written"
    except OSError as why: written = why.strerror
    return {"folder": look(sys.argv[1]), "key": os.environ.get("SERVER_KEY"), "written": written, "network": connect(port)}

def main():
    for line in sys.stdin:
        ask = json.loads(line)
        if "id" not in ask: continue
        if ask["method"] == "initialize":
            result = {"protocolVersion": ask["params"]["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": "s", "version": "1"}}
        elif ask["method"] == "tools/list":
            result = {"tools": [{"name": "facts", "description": "d", "inputSchema": {"type": "object"}}]}
        else:
            text = json.dumps(facts(ask["params"]["arguments"]["port"]))
            result = {"content": [{"type": "text", "text": text}]}
        print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": result}), flush=True)
'''

INFO = "everyday_server-1.0.dist-info/"
FILES = {
    "everyday_server.py": SCRIPT,
    INFO + "METADATA": "Metadata-Version: 2.1\nName: everyday-server\nVersion: 1.0\n",
    INFO + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    INFO + "entry_points.txt": "[console_scripts]\neveryday-server = everyday_server:main\n",
}
FILES[INFO + "RECORD"] = "".join(name + ",,\n" for name in [*FILES, INFO + "RECORD"])
packed = io.BytesIO()
with zipfile.ZipFile(packed, "w") as archive:
    for name, text in FILES.items():
        archive.writestr(name, text)
WHEEL = "everyday_server-1.0-py3-none-any.whl"


class Index(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        print(self.path, flush=True)
        if self.path == "/everyday-server/":
            kind, body = "text/html", f'<a href="/{WHEEL}">{WHEEL}</a>'.encode()
        elif self.path == "/" + WHEEL:
            kind, body = "application/octet-stream", packed.getvalue()
        else:
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
print(server.server_address[1], flush=True)
server.serve_forever()
