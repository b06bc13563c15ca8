//! The two commands of the README on machines with other toolchains: the real Makefile and scripts, with stubs of `rustup`,
//! `rustc` and `cargo` in front, in a directory whose name has a space in it.

use crate::run::pty::{Terminal, can_give_a_terminal};
use crate::test_instance::{Ran, TestInstance, ran};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const FILES: &[(&str, &str)] = &[
    ("Makefile", include_str!("../../../../Makefile")),
    ("scripts/build.sh", include_str!("../../../../scripts/build.sh")),
    ("scripts/install.sh", include_str!("../../../../scripts/install.sh")),
    ("scripts/tour.sh", include_str!("../../../../scripts/tour.sh")),
];

const RUSTC: &str = r#"
case "$*" in
  -vV) echo "host: x86_64-unknown-linux-gnu" ;;
  "--print target-libdir --target "*) echo "$STUB/lib/$4" ;;
  *) exit 9 ;;
esac"#;
const RUSTUP_ADDS: &str = r#"[ "$1 $2" = "target add" ] && mkdir -p "$STUB/lib/$3""#;
const RUSTUP_REFUSES: &str = r#"echo "error: could not download" >&2; exit 1"#;
const CARGO: &str = r#"
while [ $# -gt 0 ]; do
  case $1 in --target) target=$2 ;; --target-dir) dir=$2 ;; esac
  shift
done
echo "$target" >> "$STUB/built"
mkdir -p "$dir/$target/release"
cp "$STUB/binary" "$dir/$target/release/picoclaw""#;

/// A checkout on a machine with a toolchain of stubs.
struct Machine {
    instance: TestInstance,
}

impl Machine {
    fn new(rustup: Option<&str>) -> Self {
        let machine = Self { instance: TestInstance::new() };
        for (name, text) in FILES {
            let path = machine.checkout().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir_all(machine.stubs().join("bin")).unwrap();
        for (name, text) in [("rustc", Some(RUSTC)), ("cargo", Some(CARGO)), ("rustup", rustup)] {
            if let Some(text) = text {
                machine.program(&format!("bin/{name}"), text);
            }
        }
        copy(&TestInstance::binary(), &machine.stubs().join("binary"));
        machine
    }

    fn checkout(&self) -> PathBuf {
        self.instance.dir().join("a check out")
    }

    fn stubs(&self) -> PathBuf {
        self.instance.dir().join("stubs")
    }

    fn program(&self, name: &str, text: &str) {
        let (draft, path) = (self.instance.dir().join("draft"), self.stubs().join(name));
        std::fs::write(&draft, format!("#!/bin/bash\n{text}\n")).unwrap();
        std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o755)).unwrap();
        copy(&draft, &path);
    }

    fn make(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("make");
        command
            .args(arguments)
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.stubs().join("bin").display()))
            .env("HOME", self.instance.dir())
            .env("STUB", self.stubs())
            // What must not lead astray.
            .env("CARGO_TARGET_DIR", "/nonexistent")
            .current_dir(self.checkout())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.make(arguments).output().unwrap())
    }

    fn built(&self) -> String {
        std::fs::read_to_string(self.stubs().join("built")).unwrap_or_default()
    }
}

#[test]
fn the_first_command_works_whether_or_not_the_static_target_can_be_had() {
    for (why, rustup, target) in [
        ("added", Some(RUSTUP_ADDS), "x86_64-unknown-linux-musl\n"),
        ("refused", Some(RUSTUP_REFUSES), "x86_64-unknown-linux-gnu\n"),
        ("no rustup", None, "x86_64-unknown-linux-gnu\n"),
    ] {
        let machine = Machine::new(rustup);
        let ran = machine.run(&["run", r#"ARGS=-m "echo hi; echo $((40 + 2))""#]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "hi\n42\n"), "{why}: {}", ran.stderr);
        assert_eq!(machine.built(), target, "{why}");
        assert_eq!(ran.stderr.contains("cannot be added"), target.contains("gnu"), "{why}: {}", ran.stderr);
    }
}

#[test]
fn without_a_terminal_it_is_the_tour_and_the_tour_ends_well() {
    let machine = Machine::new(Some(RUSTUP_REFUSES));
    let ran = machine.run(&["run"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("\nNext: `picoclaw agent`"), "{ran:?}");
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.contains("No such file") && !text.contains("command not found"), "{ran:?}");
    }
}

#[test]
fn the_tour_stops_at_the_first_step_that_does_not_do_what_it_says() {
    for (why, text) in [("fails", "exit 1"), ("says nothing", "exit 0"), ("is none", "exit 127")] {
        let machine = Machine::new(None);
        machine.program("binary", text);
        let ran = machine.run(&["tour"]);
        assert_ne!(ran.code, 0, "{why}: {ran:?}");
        assert!(ran.stderr.contains("that step should have exited with 0"), "{why}: {ran:?}");
        assert!(!ran.stdout.contains("Next:"), "{why}: {ran:?}");
    }
}

#[test]
fn at_a_terminal_it_is_a_session() {
    if !can_give_a_terminal() {
        return;
    }
    let machine = Machine::new(Some(RUSTUP_ADDS));
    let mut command = machine.make(&["run"]);
    command.env("TERM", "xterm").env("LANG", "C.UTF-8");
    let mut terminal = Terminal::start(&command);
    terminal.until("main› ");
    terminal.type_in("expr 40 + 2\r");
    terminal.until("\n42");
    terminal.until("main› ");
    terminal.type_in("\x04");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_missing_toolchain_is_named() {
    let machine = Machine::new(None);
    std::fs::remove_file(machine.stubs().join("bin/cargo")).unwrap();
    if Path::new("/usr/bin/cargo").exists() {
        picoclaw_testing::skip!("the system has a cargo of its own");
        return;
    }
    let ran = machine.run(&["run"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("cargo is not installed; https://rustup.rs installs it"), "{ran:?}");
}

#[test]
fn install_brings_binary_pages_and_completions_and_uninstall_takes_them_away() {
    let machine = Machine::new(None);
    let root = machine.instance.dir().join("package");
    let variables = [&format!("DESTDIR={}", root.display()), "PREFIX=/usr"];
    let ran = machine.run(&["install", variables[0], variables[1]]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let files = [
        "bin/picoclaw",
        "share/man/man1/picoclaw.1",
        "share/man/man1/picoclaw-run.1",
        "share/bash-completion/completions/picoclaw",
        "share/zsh/site-functions/_picoclaw",
        "share/fish/vendor_completions.d/picoclaw.fish",
    ]
    .map(|file| root.join("usr").join(file));
    for file in &files {
        assert!(file.metadata().is_ok_and(|file| file.len() > 100), "{} is missing", file.display());
    }
    let version = ran_binary(&files[0]);
    assert_eq!(version.stdout, format!("picoclaw {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(machine.run(&["uninstall", variables[0], variables[1]]).code, 0);
    for file in &files {
        assert!(!file.exists(), "{} is left", file.display());
    }
}

#[test]
fn the_static_binary_starts_on_an_empty_root_file_system() {
    let binary = std::fs::read(TestInstance::binary()).unwrap();
    // A dynamic program names its interpreter.
    if binary[..4096].windows(6).any(|window| window == b"ld-lin") {
        picoclaw_testing::skip!("this binary is not static");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    copy(&TestInstance::binary(), &root.path().join("picoclaw"));
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--root"]).arg(root.path());
    let output =
        command.args(["/picoclaw", "version"]).env_clear().env("PATH", "/usr/bin:/bin").output().unwrap();
    let ran = ran(output);
    if ran.stderr.contains("unshare failed") {
        picoclaw_testing::skip!("no user namespace to be had: {}", ran.stderr.trim_end());
        return;
    }
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert_eq!(ran.stdout, format!("picoclaw {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_version_says_what_was_built() {
    let instance = TestInstance::new();
    let ran = instance.run(&["version", "--json"]);
    let version: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let keys: Vec<_> = version.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["version", "commit", "target", "features"]);
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert!(version["target"].as_str().unwrap().contains("-linux-"), "{version}");
    assert!(version["features"].is_array());
}

/// Copies a program, by another process: a child that another test forks meanwhile must not have it open for writing.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

fn ran_binary(path: &Path) -> Ran {
    ran(Command::new(path).arg("version").env_clear().output().unwrap())
}
