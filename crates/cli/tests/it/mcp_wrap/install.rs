//! `picoclaw mcp install`: prints, and touches nothing.

use crate::test_instance::TestInstance;
use serde_json::Value;

const HOSTS: [(&str, &str, &str, &str); 5] = [
    ("claude-code", "/mcpServers/picoclaw", ".mcp.json", "permissions"),
    ("codex", "/mcp_servers/picoclaw", "~/.codex/config.toml", "shell_tool = false"),
    ("cursor", "/mcpServers/picoclaw", ".cursor/mcp.json", "beforeShellExecution"),
    ("vscode", "/servers/picoclaw", ".vscode/mcp.json", "picoclaw.agent.md"),
    ("zed", "/context_servers/picoclaw", "settings.json", "profiles"),
];

#[test]
fn standard_output_is_a_configuration_and_standard_error_says_where_it_goes() {
    for (host, pointer, place, own_tools) in HOSTS {
        let instance = TestInstance::new();
        let dir = instance.dir().join("my project");
        std::fs::create_dir(&dir).unwrap();
        let plain = instance.run(&["mcp", "install", host]);
        let ran = instance.run(&["mcp", "install", host, "--print", "--workspace", "my project"]);
        assert_eq!((plain.code, ran.code), (0, 0), "{ran:?}");
        let read = |text: &str| -> Value {
            match host {
                "codex" => serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap(),
                _ => serde_json::from_str(text).unwrap(),
            }
        };
        let (server, bare) = (read(&ran.stdout), read(&plain.stdout));
        let (server, bare) = (server.pointer(pointer).unwrap(), bare.pointer(pointer).unwrap());
        assert!(std::path::Path::new(server["command"].as_str().unwrap()).is_absolute(), "{host}");
        let workspace = dir.canonicalize().unwrap();
        assert_eq!(server["args"], serde_json::json!(["mcp", "serve", "--workspace", workspace]), "{host}");
        assert_eq!(bare["args"], serde_json::json!(["mcp", "serve"]), "{host}");
        assert_eq!(
            server["env"]["PICOCLAW_HOME"],
            instance.home().to_str().unwrap(),
            "{host}: the same instance"
        );
        for want in [place, own_tools, "writes no other program's files"] {
            assert!(ran.stderr.contains(want), "{host}: {want:?} is not in {}", ran.stderr);
        }
        let left: Vec<_> =
            std::fs::read_dir(instance.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["my project"], "{host}: nothing is written, not even an instance");
    }
}

#[test]
fn what_cannot_be_installed_is_bad_usage() {
    let instance = TestInstance::new();
    for (why, words) in [
        ("an unknown host", &["mcp", "install", "emacs"][..]),
        ("no host", &["mcp", "install"]),
        ("a workspace that is not there", &["mcp", "install", "zed", "--workspace", "nowhere"]),
        ("a workspace that is no directory", &["mcp", "install", "zed", "--workspace", "/etc/passwd"]),
    ] {
        let ran = instance.run(words);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{why}: {ran:?}");
    }
}
