//! Other people's MCP servers from the outside: `picoclaw mcp add|list|show|test|remove`, and their tools by name.

mod edits;
mod http;
mod own_isolation;
mod peers;
mod tools;

use crate::test_instance::TestInstance;
use std::path::Path;

/// A server on standard streams that does as it is told.
const SERVER: &str = include_str!("../../../agent/tests/peers/mcp_server.py");

/// An instance with the server's script beside it.
struct Yard {
    instance: TestInstance,
    script: String,
}

impl Yard {
    /// Nothing where there is no Python, said loudly.
    fn new(config: &str) -> Option<Self> {
        if !Path::new("/usr/bin/python3").exists() {
            picoclaw_testing::skip!("there is no python3");
            return None;
        }
        let instance = TestInstance::with_config(config);
        let script = instance.dir().join("server.py");
        std::fs::write(&script, SERVER).unwrap();
        Some(Self { script: script.to_str().unwrap().to_owned(), instance })
    }

    /// Adds the server under this name, with these options, behaving in this manner.
    fn add(&self, options: &[&str], name: &str, manner: &str) {
        let command = ["--", "/usr/bin/python3", &self.script, manner];
        let ran = self.instance.run(&[&["mcp", "add"], options, &[name], &command].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    }

    fn config(&self) -> String {
        config_of(&self.instance)
    }
}

fn config_of(instance: &TestInstance) -> String {
    std::fs::read_to_string(instance.home().join("config.json")).unwrap()
}
