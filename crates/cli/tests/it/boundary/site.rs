//! An instance with everything around it that a child could want, and the probe in the child's place.

use crate::hostile_children::ipc::Segment;
use crate::test_instance::TestInstance;
use picoclaw_testing::wait_for;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const PROBE: &str = include_str!("probe.py");

/// A limit that no host has by chance.
const FILES: u32 = 1234;

/// Whether children are caged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Isolation {
    On,
    Off,
}

/// An instance, and its surroundings.
pub(super) struct Site {
    pub(super) instance: TestInstance,
    places: BTreeMap<&'static str, Place>,
    listener: TcpListener,
    _sockets: Vec<UnixListener>,
    segment: Segment,
}

/// What one probe may try its hand at.
struct Place {
    victim: Child,
    /// How long the daemon that it leaves would sleep: no other process sleeps exactly as long.
    seconds: String,
}

impl Site {
    /// With a probe in each of these places.
    pub(super) fn new(isolation: Isolation, model: &str, places: &[&'static str]) -> Self {
        let is_on = isolation == Isolation::On;
        let hook = if places.contains(&"hook") { "hook" } else { "gate" };
        let has_server = places.contains(&"server");
        let instance = TestInstance::with_config("{}")
            .with_env("MODEL_KEY", "sk-MARK")
            .with_env("GITHUB_TOKEN", "ghp-MARK")
            .with_env("PICOCLAW_LOG_LEVEL", "error");
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", instance.dir().join("opt/bin").display());
        let instance = instance.with_env("PATH", &path);
        let probe = instance.dir().join("opt/probe.py");
        let config = json!({
            "version": 3,
            "heartbeat": {"enabled": false},
            "isolation": {"enabled": is_on, "network": "none", "limits": {"open_files": FILES}},
            "agents": {
                "defaults": {"model_name": model, "max_tool_iterations": 100},
                "agents": [{"id": "main", "default": true}, {"id": "coder"}]
            },
            "model_list": [
                {"model_name": "s", "model": "scripted/s", "api_base": "file://{dir}/replies.jsonl"},
                {"model_name": "c", "model": "claude-cli", "api_keys": ["sk-MARK"], "request_timeout": 60}
            ],
            "hooks": {"processes": {"probe": {
                "enabled": true, "command": ["/usr/bin/python3", probe, hook], "intercept": ["before_tool"]
            }}},
            "tools": {"mcp": {"enabled": has_server, "servers": {
                "probe": {"enabled": true, "command": "/usr/bin/python3", "args": [probe, "server"]}
            }}}
        });
        instance.configure(&config.to_string());
        assert_eq!(instance.run(&["onboard"]).code, 0);
        let place = |name: &&'static str| (*name, Place::new());
        let places = places.iter().map(place).collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut site = Self { instance, places, listener, _sockets: Vec::new(), segment: Segment::new() };
        site.furnish();
        site._sockets = site.socket_paths().map(|path| UnixListener::bind(path).unwrap()).into();
        site
    }

    /// Sockets of this process: where agents work, where a person works, and beside both.
    fn socket_paths(&self) -> [PathBuf; 3] {
        let dir = self.instance.dir();
        [self.instance.workspace().join("s"), dir.join("project/s"), dir.join("s")]
    }

    fn furnish(&self) {
        let (dir, home) = (self.instance.dir(), self.instance.home());
        let others = ["agents/coder", "hooks/other", "mcp/other", "providers/other"]
            .map(|other| home.join("runtime-user-env").join(other).join("home"));
        let own: BTreeMap<_, _> = self
            .places
            .iter()
            .map(|(name, place)| (*name, json!({"victim": place.victim.id(), "seconds": place.seconds})))
            .collect();
        let kept: Vec<PathBuf> = others.iter().map(|home| home.join("kept")).collect();
        let targets = json!({
            "home": [dir.join("diary"), dir.join(".ssh/id_ed25519")],
            "instance": [home.join("config.json"), home.join(".security.yml")],
            "agents": [home.join("workspace-coder/notes")],
            "principals": kept,
            "plant": self.plants(),
            "sockets": self.socket_paths(),
            "segment": self.segment.id(),
            "port": self.listener.local_addr().unwrap().port(),
            "files": FILES,
            "own": own,
        });
        for file in targets["home"].as_array().into_iter().chain(targets["agents"].as_array()).flatten() {
            put(Path::new(file.as_str().unwrap()), "MARK");
        }
        kept.iter().for_each(|file| put(file, "MARK"));
        let text = PROBE.replace("TARGETS = {}", &format!("TARGETS = json.loads(r'''{targets}''')"));
        for place in ["opt/probe.py", "opt/bin/claude", "project/probe.py", "control/probe.py"] {
            put(&dir.join(place), &text);
        }
        put(&self.instance.workspace().join("probe.py"), &text);
        for place in [self.instance.workspace(), dir.join("project"), dir.join("control")] {
            put(&place.join(".envrc"), "");
        }
        put(&self.instance.workspace().join("own.txt"), "of its own");
        put(&self.instance.workspace().join("hooked.txt"), "the hook objects");
        fs::set_permissions(dir.join("opt/bin/claude"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Where a probe plants files: beside the instance, in it, and in the home of an approver.
    fn plants(&self) -> [PathBuf; 3] {
        let home = self.instance.home();
        let beside = self.instance.dir().join("planted-");
        [beside, home.join("skills/planted-"), home.join("runtime-user-env/hooks/other/home/planted-")]
    }

    /// What the probe in this place came to, left in `dir`: what it reached, by name. It must be over.
    pub(super) fn reached(&mut self, name: &str, dir: &Path) -> BTreeMap<String, bool> {
        let observed = dir.join(format!("observed-{name}"));
        let text = fs::read_to_string(&observed)
            .unwrap_or_else(|why| panic!("{name}: no probe ran: {}: {why}", observed.display()));
        let mut reached: BTreeMap<String, bool> = serde_json::from_str(&text).unwrap();
        let planted =
            self.plants().into_iter().map(|plant| PathBuf::from(format!("{}{name}", plant.display())));
        reached.insert("writes".to_owned(), planted.into_iter().any(|plant| plant.exists()));
        let place = self.places.get_mut(name).unwrap();
        // What a child says of its signals is looked at from outside.
        if reached["signals"] {
            wait_for("the victim's end", || place.victim.try_wait().unwrap());
        }
        assert_eq!(place.victim.try_wait().unwrap().is_some(), reached["signals"], "{name}");
        reached.insert("end".to_owned(), place.is_survived());
        reached
    }

    /// A probe without anything around it: whatever it tries must work.
    pub(super) fn control(&mut self) -> BTreeMap<String, bool> {
        let dir = self.instance.dir().join("control");
        let mut command = Command::new("/usr/bin/python3");
        command.args(["probe.py", "control"]).current_dir(&dir).stdin(Stdio::null());
        let status = command.envs([("MODEL_KEY", "sk-MARK")]).status().unwrap();
        assert!(status.success());
        self.reached("control", &dir)
    }

    /// The user environment of one of the instance's principals.
    pub(super) fn own_home(&self, principal: &str) -> PathBuf {
        self.instance.home().join("runtime-user-env").join(principal).join("home")
    }

    /// The records of a program of the operator's: one when it was let in, one when it left.
    pub(super) fn is_recorded(&self, intent: &str) -> bool {
        let records = self.instance.records();
        let of = |phase: &str| {
            let fits = |one: &&Value| one["phase"] == phase && one["intent"].to_string().contains(intent);
            records.iter().filter(fits).count()
        };
        of("decided") == 1 && of("finished") == 1
    }
}

impl Place {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut victim = Command::new("sleep");
        let victim = victim.arg("600").env("VICTIM", "MARK").stdin(Stdio::null()).spawn().unwrap();
        Self { victim, seconds: format!("{}.{number:03}", 100_000 + std::process::id()) }
    }

    fn daemons(&self) -> Vec<i32> {
        let line = format!("sleep\0{}\0", self.seconds);
        let is_it =
            |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|text| text == line.as_bytes());
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_it).collect()
    }

    /// Whether the daemon is still there when all is over.
    fn is_survived(&self) -> bool {
        let until = Instant::now() + Duration::from_secs(5);
        while !self.daemons().is_empty() {
            if Instant::now() > until {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        for pid in self.daemons().into_iter().filter_map(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
