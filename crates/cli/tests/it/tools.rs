//! Runs `spec/tools.toml` through the real binary: what a tool prints and how it exits.

use crate::test_instance::TestInstance;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

#[test]
fn the_file_tools_answer_as_the_table_says() {
    let table: toml::Table = include_str!("../../../../spec/tools.toml").parse().unwrap();
    let rows = table["row"].as_array().unwrap();
    assert!(rows.len() >= 70);
    let broken =
        rows.iter().filter(|row| std::panic::catch_unwind(|| Row(row.as_table().unwrap()).run()).is_err());
    assert_eq!(broken.count(), 0, "rows do not hold; each says why above");
}

struct Row<'a>(&'a toml::Table);

impl Row<'_> {
    fn run(&self) {
        let why = self.text("why").unwrap();
        if self.text("needs") == Some("ordinary user") && is_root() {
            picoclaw_testing::skip!("as root: {why}");
            return;
        }
        let instance = TestInstance::new();
        fs::create_dir_all(instance.workspace()).unwrap();
        fs::write(instance.home().join("config.json"), "{}").unwrap();
        let fill = |text: &str| {
            text.replace("{ws}", instance.workspace().to_str().unwrap())
                .replace("{home}", instance.home().to_str().unwrap())
                .replace("{dir}", instance.dir().to_str().unwrap())
        };
        if let Some(config) = self.text("config") {
            fs::write(instance.home().join("config.json"), fill(config)).unwrap();
        }
        self.furnish(&instance, &fill);

        let call: Vec<String> = self.list("call").iter().map(|word| fill(word)).collect();
        let mut arguments = vec!["tool"];
        arguments.extend(call.iter().map(String::as_str));
        let ran = instance.run(&arguments);

        let exit = self.0.get("exit").and_then(toml::Value::as_integer).unwrap_or(0);
        assert_eq!(i64::from(ran.code), exit, "{why}: {ran:?}");
        if let Some(want) = self.text("stdout") {
            assert_eq!(ran.stdout, fill(want), "{why}");
        }
        if let Some(want) = self.text("begins") {
            assert_eq!(ran.stdout.lines().next(), Some(want), "{why}: {ran:?}");
        }
        if let Some(want) = self.text("log") {
            let logged = format!("[ERROR] tool: Tool execution failed\n{want}\n");
            assert!(ran.stderr.contains(&logged), "{why}: no {logged:?} in {:?}", ran.stderr);
        }
        if let Some(want) = self.0.get("lines").and_then(toml::Value::as_integer) {
            assert_eq!(i64::try_from(ran.stdout.lines().count()).unwrap(), want, "{why}: {ran:?}");
        }
        self.check_after(&instance, &fill);
    }

    fn furnish(&self, instance: &TestInstance, fill: &dyn Fn(&str) -> String) {
        let inside = |name: &str| instance.workspace().join(name);
        let outside = |name: &str| instance.dir().join(name);
        for (name, content) in self.pairs("files") {
            put(&inside(&name), &name, content.as_bytes());
        }
        for (name, content) in self.pairs("outside") {
            put(&outside(&name), &name, content.as_bytes());
        }
        for (name, hex) in self.pairs("bytes") {
            let bytes: Vec<u8> =
                hex.split(' ').map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect();
            put(&inside(&name), &name, &bytes);
        }
        for (name, target) in self.pairs("links") {
            link(&fill(&target), &inside(&name));
        }
        for (name, target) in self.pairs("outside_links") {
            link(&fill(&target), &outside(&name));
        }
        for (name, target) in self.pairs("hard_links") {
            fs::hard_link(fill(&target), inside(&name)).unwrap();
        }
        for name in self.list("pipes") {
            rustix::fs::mknodat(
                rustix::fs::CWD,
                inside(&name),
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::from_raw_mode(0o600),
                0,
            )
            .unwrap();
        }
        for (name, mode) in self.pairs("modes") {
            let mode = u32::from_str_radix(&mode, 8).unwrap();
            fs::set_permissions(inside(&name), fs::Permissions::from_mode(mode)).unwrap();
        }
    }

    fn check_after(&self, instance: &TestInstance, fill: &dyn Fn(&str) -> String) {
        let why = self.text("why").unwrap();
        for (name, want) in self.pairs("after") {
            assert_eq!(
                fs::read_to_string(instance.workspace().join(&name)).unwrap(),
                want,
                "{why}: `{name}`"
            );
        }
        for (name, want) in self.pairs("modes_after") {
            let mode = fs::metadata(instance.workspace().join(&name)).unwrap().permissions().mode() & 0o7777;
            assert_eq!(format!("{mode:o}"), want, "{why}: `{name}`");
        }
        for name in self.list("links_after") {
            assert!(instance.workspace().join(&name).is_symlink(), "{why}: `{name}` is no link any more");
        }
        for name in self.list("absent") {
            assert!(!PathBuf::from(fill(&name)).exists(), "{why}: `{name}` exists");
        }
        let litter = fs::read_dir(instance.workspace())
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".tmp-"));
        assert_eq!(litter.count(), 0, "{why}: temporary files are left");
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(toml::Value::as_str)
    }

    fn list(&self, key: &str) -> Vec<String> {
        let values = self.0.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
        values.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect()
    }

    fn pairs(&self, key: &str) -> Vec<(String, String)> {
        let table = self.0.get(key).and_then(toml::Value::as_table).cloned().unwrap_or_default();
        table.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
    }
}

fn put(path: &Path, name: &str, content: &[u8]) {
    if name.ends_with('/') {
        return fs::create_dir_all(path).unwrap();
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn link(target: &str, at: &Path) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    symlink(target, at).unwrap();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
