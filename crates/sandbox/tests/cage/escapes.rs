//! Every escape of `escapes/` against what it says it is held by, and once without confinement, where it must succeed:
//! an escape that fails there as well would prove nothing.

use crate::support::{Instance, instance};
use picoclaw_policy::config::{Expose, ExposeMode, Network};
use picoclaw_sandbox::isolate::{Backend, Cage, Confinement, Fence, MountRule, find_bwrap};
use picoclaw_sandbox::launch::{ClosedNetwork, run_to_end};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

struct Escape {
    name: String,
    held_by: Vec<String>,
    needs: Vec<String>,
    judge: Judge,
    script: String,
}

/// By what an escape is told.
#[derive(Clone, Copy, PartialEq)]
enum Judge {
    /// It says so.
    Word,
    /// Something outside the child's own places has changed.
    Tree,
}

fn escapes() -> Vec<Escape> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escapes");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("escapes").map(|file| file.expect("one").path()).collect();
    files.sort();
    files
        .iter()
        .map(|path| {
            let script = std::fs::read_to_string(path).expect("a script");
            let words = |head: &str| -> Vec<String> {
                let line = script.lines().find_map(|line| line.strip_prefix(head)).unwrap_or_default();
                line.split_whitespace().map(str::to_owned).collect()
            };
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let judge = if words("# judge:") == ["tree"] { Judge::Tree } else { Judge::Word };
            Escape { name, held_by: words("# held by:"), needs: words("# needs:"), judge, script }
        })
        .collect()
}

/// Things outside that an escape could reach.
struct Outside {
    victim: Child,
    tcp: TcpListener,
    _path: UnixListener,
    _abstract: UnixListener,
    abstract_name: String,
    shared: tempfile::NamedTempFile,
    leaked: std::fs::File,
}

impl Outside {
    fn of(place: &Instance) -> Self {
        let home = place.base.join("home");
        std::fs::create_dir_all(home.join(".ssh")).expect("a directory");
        std::fs::write(home.join(".ssh/id_rsa"), "KEY").expect("a key");
        std::fs::write(place.outside.join("spare"), "spare").expect("a file");
        let mut victim = Command::new("sleep");
        victim.arg("100000").env("VICTIM_SECRET", "x").current_dir(&place.outside).stdin(Stdio::null());
        let abstract_name = format!("picoclaw-escape-{}-{}", std::process::id(), place.base.display());
        let address = SocketAddr::from_abstract_name(&abstract_name).expect("a name");
        let shared = tempfile::NamedTempFile::new().expect("a file");
        let leaked = std::fs::File::open(place.outside.join("victim")).expect("a file");
        rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).expect("a flag");
        Self {
            victim: victim.spawn().expect("a victim"),
            tcp: TcpListener::bind("127.0.0.1:0").expect("a port"),
            _path: UnixListener::bind(place.outside.join("socket")).expect("a socket"),
            _abstract: UnixListener::bind_addr(&address).expect("a socket"),
            abstract_name,
            shared,
            leaked,
        }
    }

    fn variables(&self, place: &Instance) -> Vec<(String, String)> {
        let text = |path: &Path| path.display().to_string();
        let mut variables = vec![
            ("ROOT".into(), text(&place.root)),
            ("OUTSIDE".into(), text(&place.outside)),
            ("REAL_HOME".into(), text(&place.base.join("home"))),
            ("TMP_VICTIM".into(), text(self.shared.path())),
            ("HOST_PID".into(), self.victim.id().to_string()),
            ("TCP_PORT".into(), self.tcp.local_addr().expect("an address").port().to_string()),
            ("SOCKET".into(), text(&place.outside.join("socket"))),
            ("ABSTRACT".into(), self.abstract_name.clone()),
            ("DISK".into(), disk().unwrap_or_default()),
            ("LEAKED".into(), self.leaked.as_raw_fd().to_string()),
        ];
        for name in ["user", "mnt", "pid", "ipc", "uts", "cgroup", "net"] {
            let link = std::fs::read_link(format!("/proc/self/ns/{name}")).expect("a namespace");
            variables.push((format!("NS_{}", name.to_uppercase()), text(&link)));
        }
        variables
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.victim.kill().and_then(|()| self.victim.wait()).expect("the victim is ours");
    }
}

fn disk() -> Option<String> {
    let known = ["/dev/vda", "/dev/sda", "/dev/nvme0n1"];
    known.into_iter().find(|disk| std::fs::File::open(disk).is_ok()).map(str::to_owned)
}

fn has_tool(name: &str) -> bool {
    ["/usr/bin", "/bin", "/usr/sbin", "/sbin"].iter().any(|place| Path::new(place).join(name).exists())
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program).args(arguments).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Why an escape cannot be tried here, if it cannot.
fn unmet(escape: &Escape) -> Option<&str> {
    escape.needs.iter().map(String::as_str).find(|need| match *need {
        "root" => !rustix::process::geteuid().is_root(),
        "x86_64" => !cfg!(target_arch = "x86_64"),
        "disk" => disk().is_none(),
        "leak" => false,
        "userns" => !succeeds("unshare", &["-U", "true"]),
        // Compiled in, it is off by default before Linux 6.5, and the call fails as an unknown one does.
        "secretmem" => !succeeds("perl", &["-e", "syscall(447, 0xffff); exit($! != 22)"]),
        "interfaces" => {
            std::fs::read_to_string("/proc/net/dev").map_or(0, |text| text.matches(':').count()) < 2
        }
        other => match other.split_once(':') {
            Some(("tool", name)) => !has_tool(name),
            Some(("path", path)) => !Path::new(path).exists(),
            _ => unreachable!("`{}` needs `{other}`, which nobody knows", escape.name),
        },
    })
}

/// Everything of the instance but the child's own places: path, size, mode and time of change.
fn tree(place: &Instance) -> Vec<String> {
    let own = [place.workspace.clone(), place.root.join("runtime-user-env")];
    let (mut seen, mut left) = (Vec::new(), vec![place.base.clone()]);
    while let Some(path) = left.pop() {
        if own.contains(&path) {
            continue;
        }
        let stat = rustix::fs::lstat(&path).expect("it is there");
        let is_directory =
            rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory;
        if is_directory {
            left.extend(
                std::fs::read_dir(&path).expect("a directory").map(|entry| entry.expect("one").path()),
            );
            seen.push(format!("{} {:o}", path.display(), stat.st_mode));
        } else {
            seen.push(format!(
                "{} {:o} {} {}.{}",
                path.display(),
                stat.st_mode,
                stat.st_size,
                stat.st_mtime,
                stat.st_mtime_nsec
            ));
        }
    }
    seen.sort();
    seen
}

fn escapes_unconfined(escape: &Escape) -> bool {
    static KNOWN: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().expect("no test has failed with it");
    *known.entry(escape.name.clone()).or_insert_with(|| {
        let place = instance();
        let outside = Outside::of(&place);
        let before = tree(&place);
        let output = Command::new("/bin/sh")
            .args(["-c", &escape.script])
            .current_dir(&place.workspace)
            .envs(outside.variables(&place))
            .stdin(Stdio::null())
            .output()
            .expect("a shell starts");
        match escape.judge {
            Judge::Word => String::from_utf8_lossy(&output.stdout).contains("ESCAPED"),
            Judge::Tree => tree(&place) != before,
        }
    })
}

fn escapes_from(
    escape: &Escape,
    confinement: &dyn Fn(&mut Instance) -> Confinement,
    network: Option<&ClosedNetwork>,
) -> Option<String> {
    let mut place = instance();
    let confinement = confinement(&mut place);
    let outside = Outside::of(&place);
    let before = tree(&place);
    let mut spec = place.spec(&escape.script, confinement);
    if let Some(network) = network {
        spec.setup.join_network(network);
    }
    spec.environment
        .extend(outside.variables(&place).into_iter().map(|(name, value)| (name.into(), value.into())));
    let finished = run_to_end(spec).expect(&escape.name);
    let said = format!("{}{}", finished.stdout.to_text(), finished.stderr.to_text());
    let word = finished.stdout.to_text().contains("ESCAPED");
    (word || tree(&place) != before).then_some(said)
}

fn suite(holder: &str, confinement: &dyn Fn(&mut Instance) -> Confinement) {
    suite_without(holder, &[], confinement, None);
}

/// The suite without the escapes of these names, in a network of their own or in one that is shared.
fn suite_without(
    holder: &str,
    allowed: &[&str],
    confinement: &dyn Fn(&mut Instance) -> Confinement,
    network: Option<&ClosedNetwork>,
) {
    let mut failures = Vec::new();
    let (mut tried, mut skipped) = (0, 0);
    let all = escapes();
    let of_holder = all.iter().filter(|escape| escape.held_by.iter().any(|known| known == holder));
    for escape in of_holder.filter(|escape| !allowed.contains(&escape.name.as_str())) {
        if let Some(need) = unmet(escape) {
            picoclaw_testing::skip!("{holder} {}: needs {need}", escape.name);
            skipped += 1;
            continue;
        }
        tried += 1;
        if !escapes_unconfined(escape) {
            failures
                .push(format!("{}: the control run did not succeed, so this proves nothing", escape.name));
        }
        if let Some(said) = escapes_from(escape, confinement, network) {
            failures.push(format!("{}: escaped: {said}", escape.name));
        }
    }
    eprintln!("{holder}: {tried} escapes tried, {skipped} skipped");
    assert!(failures.is_empty(), "{holder}:\n{}", failures.join("\n"));
    assert!(tried >= 15, "{holder}: only {tried} escapes could be tried");
}

fn cage(place: &Instance, backend: Backend) -> Confinement {
    Confinement::Cage(Arc::new(Cage::new(place.plan().expect("a plan"), backend).expect("a cage")))
}

#[test]
fn nothing_escapes_from_the_native_cage() {
    suite("native", &|place| place.cage());
}

#[test]
fn nothing_escapes_from_the_native_cage_with_the_hosts_proc() {
    // Names and command lines of processes are what it shows.
    let allowed = ["read_supervisor_arguments", "see_processes"];
    suite_without("native", &allowed, &|place| cage(place, Backend::NativeHostProc), None);
}

#[test]
fn nothing_escapes_from_the_bubblewrap_cage() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(program) = find_bwrap(&path) else {
        picoclaw_testing::skip!("bubblewrap is not installed");
        return;
    };
    suite("bwrap", &|place| cage(place, Backend::Bwrap(program.clone())));
}

/// System calls that `--debug` allows among the processes of the cage; the escapes of these names try
/// whether the call is refused.
const DEBUG_CALLS: [&str; 5] =
    ["call_kcmp", "call_perf_event_open", "call_process_vm_readv", "call_process_vm_writev", "call_ptrace"];

#[test]
fn nothing_escapes_where_processes_trace_each_other() {
    suite_without(
        "native",
        &DEBUG_CALLS,
        &|place| {
            place.isolation.debug = true;
            place.cage()
        },
        None,
    );
    let Some(program) = find_bwrap(&std::env::var_os("PATH").unwrap_or_default()) else {
        picoclaw_testing::skip!("bubblewrap is not installed");
        return;
    };
    suite_without(
        "bwrap",
        &DEBUG_CALLS,
        &|place| {
            place.isolation.debug = true;
            cage(place, Backend::Bwrap(program.clone()))
        },
        None,
    );
}

/// What `--debug`, `--tmp`, `--publish`, `--cache shared`, `--ro` and a profile make of a cage, all at once.
#[test]
fn nothing_escapes_with_every_flag_that_keeps_the_network_closed() {
    let network = ClosedNetwork::new().expect("a network");
    let confinement = |place: &mut Instance| {
        let (cache, login) = (place.base.join("home/.npm/_cacache"), place.base.join("home/.agent"));
        for directory in [&cache, &login] {
            std::fs::create_dir_all(directory).expect("a directory");
            std::fs::write(directory.join("file"), "outside").expect("a file");
        }
        place.isolation.debug = true;
        place.isolation.tmp_mb = Some(64);
        let user = place.user().path().to_owned();
        let (target, mode) = (user.join("home/.agent"), ExposeMode::ReadOnly);
        place.isolation.expose_paths.push(Expose { source: login, target, mode });
        let mut plan = place.plan().expect("a plan");
        let target = user.join("home/.npm/_cacache");
        plan.mounts.push(MountRule::Overlay { lower: cache, target });
        Confinement::Cage(Arc::new(Cage::new(plan, Backend::Native).expect("a cage")))
    };
    suite_without("native", &DEBUG_CALLS, &confinement, Some(&network));
}

#[test]
fn nothing_escapes_from_the_landlock_cage() {
    suite("landlock", &|place| {
        place.isolation.network = Network::Host;
        cage(place, Backend::Landlock)
    });
}

#[test]
fn no_write_and_no_signal_escapes_from_the_fence() {
    suite("fence", &|place| {
        let protected = [place.root.clone()];
        Confinement::Fence(Arc::new(Fence::new(std::slice::from_ref(&place.workspace), &protected)))
    });
}
