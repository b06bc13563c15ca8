"""A registry on the loopback with one package, an MCP server that tells what it and its install script see, and
with a newer npm than the installed one.

It prints its port, and then the path of each request."""

import base64
import hashlib
import http.server
import io
import json
import tarfile

SCRIPT = r"""
const fs = require("fs"), net = require("net"), os = require("os"), path = require("path");
const look = (file) => { try { return fs.readFileSync(file, "utf8").trim(); } catch (why) { return why.code; } };
if (process.argv[2] === "install") {
  const seen = { folder: look(process.env.npm_config_looked_for), key: process.env.SERVER_KEY || "none" };
  fs.writeFileSync(path.join(__dirname, "seen.json"), JSON.stringify(seen));
  process.exit(0);
}
const facts = (port, done) => {
  const seen = look(path.join(__dirname, "seen.json"));
  let written = "written";
  try { fs.writeFileSync(path.join(__dirname, "server.js"), ""); } catch (why) { written = why.code; }
  const socket = net.connect(port, "127.0.0.1");
  const tell = (network) => { socket.destroy(); done(JSON.stringify({
    install: seen, folder: look(process.argv[2]), key: process.env.SERVER_KEY || "none", written, network })); };
  socket.on("connect", () => tell("open")).on("error", (why) => tell(why.code));
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const ask = JSON.parse(line);
  if (ask.id === undefined) return;
  const answer = (result) => console.log(JSON.stringify({ jsonrpc: "2.0", id: ask.id, result }));
  if (ask.method === "initialize") return answer({ protocolVersion: ask.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } });
  if (ask.method === "tools/list") return answer({ tools: [{ name: "facts", description: "d", inputSchema: { type: "object", properties: { port: { type: "number" } } } }] });
  if (ask.method === "tools/call") return facts(ask.params.arguments.port, (text) => answer({ content: [{ type: "text", text }] }));
  console.log(JSON.stringify({ jsonrpc: "2.0", id: ask.id, error: { code: -32601, message: "no such method" } }));
});
"""

MANIFEST = {"name": "@everyday/server", "version": "1.0.0", "bin": {"everyday": "server.js"}}
MANIFEST["scripts"] = {"postinstall": "node server.js install"}

packed = io.BytesIO()
with tarfile.open(fileobj=packed, mode="w:gz") as archive:
    for name, text in (("package.json", json.dumps(MANIFEST)), ("server.js", "#!/usr/bin/env node\n" + SCRIPT)):
        entry = tarfile.TarInfo("package/" + name)
        entry.size, entry.mode = len(text.encode()), 0o755
        archive.addfile(entry, io.BytesIO(text.encode()))
TARBALL = packed.getvalue()
INTEGRITY = "sha512-" + base64.b64encode(hashlib.sha512(TARBALL).digest()).decode()


class Registry(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        print(self.path, flush=True)
        if self.path.endswith(".tgz"):
            kind, text = "application/octet-stream", TARBALL
        elif self.path.lower() == "/@everyday%2fserver":
            dist = {"tarball": "http://127.0.0.1:%d/server.tgz" % PORT, "integrity": INTEGRITY}
            versions = {"1.0.0": dict(MANIFEST, dist=dist, hasInstallScript=True)}
            packument = {"name": MANIFEST["name"], "dist-tags": {"latest": "1.0.0"}, "versions": versions}
            kind, text = "application/json", json.dumps(packument).encode()
        elif self.path == "/npm":
            newest = {"name": "npm", "version": "1000.0.0", "dist": {"tarball": "http://127.0.0.1:%d/npm" % PORT}}
            packument = {"name": "npm", "dist-tags": {"latest": "1000.0.0"}, "versions": {"1000.0.0": newest}}
            kind, text = "application/json", json.dumps(packument).encode()
        else:
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
PORT = server.server_address[1]
print(PORT, flush=True)
server.serve_forever()
