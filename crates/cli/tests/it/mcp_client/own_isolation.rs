//! `isolation` of one server: what it shows and opens to that server, and to no other child.

use super::Yard;
use crate::test_instance::has_native_cage;
use serde_json::json;

/// A server with one tool, which runs a shell line.
const SERVER: &str = r#"
import json, subprocess, sys
TOOL = {"name": "sh", "description": "a line", "inputSchema": {"type": "object", "properties": {"line": {"type": "string"}}}}
for line in sys.stdin:
    ask = json.loads(line)
    if "id" not in ask: continue
    answer = {"jsonrpc": "2.0", "id": ask["id"]}
    if ask["method"] == "initialize":
        version = ask["params"]["protocolVersion"]
        answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif ask["method"] == "tools/list":
        answer["result"] = {"tools": [TOOL]}
    elif ask["method"] == "tools/call":
        ran = subprocess.run(["sh", "-c", ask["params"]["arguments"]["line"]], capture_output=True, text=True)
        answer["result"] = {"content": [{"type": "text", "text": ran.stdout.strip() or "nothing"}]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"#;

#[test]
fn one_server_sees_more_and_no_other_child_does() {
    let Some(yard) = Yard::new(r#"{"isolation": {"enabled": true, "network": "none"}}"#) else { return };
    if !has_native_cage("servers with more of their own") {
        return;
    }
    let script = yard.instance.dir().join("sh.py");
    std::fs::write(&script, SERVER).unwrap();
    let file = |name: &str| {
        let path = yard.instance.dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("a"), name).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (read, written) = (file("read"), file("written"));
    let add = |options: &[&str], name: &str| {
        let command = ["--", "/usr/bin/python3", script.to_str().unwrap()];
        let ran = yard.instance.run(&[&["mcp", "add"], options, &[name], &command].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout
    };
    let said = add(&["--ro", &read, "--rw", &written, "--net", "host"], "more");
    for line in [format!("ro: {read}\n"), format!("rw: {written}\n"), "network: open".to_owned()] {
        assert!(said.contains(&line), "{said}");
    }
    add(&[], "less");
    let host = std::fs::read_link("/proc/self/ns/net").unwrap();
    let lines = [
        (format!("cat {read}/a"), "read".to_owned()),
        (format!("(echo x > {read}/a) 2>/dev/null || echo kept"), "kept".to_owned()),
        (format!("echo new > {written}/a; cat {written}/a"), "new".to_owned()),
        ("readlink /proc/self/ns/net".to_owned(), host.to_str().unwrap().to_owned()),
    ];
    for (line, want) in &lines {
        let call = |tool: &str| yard.instance.tool(tool, &json!({ "line": line }).to_string()).stdout;
        assert_eq!(call("mcp_more_sh").trim(), want, "{line}");
        assert_ne!(call("mcp_less_sh").trim(), if want == "kept" { "read" } else { want }, "{line}");
        let exec = yard.instance.tool("exec", &json!({ "command": line }).to_string());
        assert!(want == "kept" || exec.stdout.trim() != want, "{line}: {exec:?}");
    }
    assert_eq!(std::fs::read_to_string(yard.instance.dir().join("read/a")).unwrap(), "read");
    // What belongs to picoclaw is shown to no server.
    let home = yard.instance.home();
    add(&["--ro", home.to_str().unwrap()], "curious");
    let ran = yard.instance.run(&["mcp", "test", "curious"]);
    assert!(ran.code == 1 && ran.stderr.contains("is protected"), "{ran:?}");
}
