//! Several processes at once, and processes that are killed: the test binary starts itself.
//!
//! Invariant: a killed writer leaves the old file or the new one; no append is lost.
#![expect(clippy::disallowed_methods, reason = "a test builds and checks its trees from outside, by path")]
#![expect(clippy::disallowed_types, reason = "the children are this test binary, not an agent's")]

use super::fixture::{Fixture, clean, rounds};
use super::table::fact;
use crate::root::{DisabledKernelFeatures, Overwrite, ProtectedInodes, Root, WriteContext};
use picoclaw_policy::{Access, Protected, Zones};
use std::fs::{self, File, FileTimes};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

/// Tells a started copy of this binary what to do, and where.
const PART: &str = "PICOCLAW_ROOT_TEST_PART";
const WHERE: &str = "PICOCLAW_ROOT_TEST_WHERE";

/// A copy of this test binary that runs only `part`.
pub(super) fn part(name: &str, workspace: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "--nocapture", "--test-threads=1", "root::tests::processes::play_a_part"])
        .env(PART, name)
        .env(WHERE, workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    command
}

/// Not a test of its own: what a started copy does. Without a part it has nothing to do, and says
/// so.
#[test]
fn play_a_part() {
    let (Ok(part), Some(workspace)) = (std::env::var(PART), std::env::var_os(WHERE)) else {
        eprintln!("nothing to do: only copies that other tests start have a part");
        return;
    };
    let root = Root::open(Path::new(&workspace)).unwrap();
    let context =
        WriteContext::new(&Path::new(&workspace).join("../state/locks"), Duration::from_secs(60)).unwrap();
    let protected = ProtectedInodes::default();
    let place = |name: &str| root.locate(Path::new(name), Access::Write, &protected).unwrap();
    match part.split_once(' ').unwrap() {
        ("append", count) => {
            for number in 0..count.parse::<usize>().unwrap() {
                place("log")
                    .append(format!("{} {number}\n", std::process::id()).as_bytes(), &context)
                    .unwrap();
            }
        }
        ("edit", count) => {
            for _ in 0..count.parse::<usize>().unwrap() {
                // Every number is there once, so each edit must find the newest one.
                loop {
                    let now = fs::read_to_string(Path::new(&workspace).join("counter")).unwrap();
                    let next = (now.trim().parse::<u64>().unwrap() + 1).to_string();
                    match place("counter").edit(&format!("{}\n", now.trim()), &format!("{next}\n"), &context)
                    {
                        Ok(()) => break,
                        Err(fault) => assert_eq!(fact(&fault), "no_match"),
                    }
                }
            }
        }
        ("forever", what) => {
            for generation in 0_u64.. {
                let byte = b'a' + u8::try_from(generation % 26).unwrap();
                match what {
                    "write" => place("d/f").write(&vec![byte; 64 << 10], Overwrite::Yes, &context).unwrap(),
                    _ => place("d/f").append(&[byte; 64], &context).unwrap(),
                }
                if generation == 0 {
                    std::io::stdout().write_all(b"\nstarted\n").unwrap();
                }
            }
        }
        (other, _) => panic!("no part is called `{other}`"),
    }
}

#[test]
fn lines_that_eight_processes_append_all_arrive() {
    let fixture = Fixture::in_memory();
    let lines = rounds(40, 1_000);
    let children: Vec<Child> =
        (0..8).map(|_| part(&format!("append {lines}"), &fixture.workspace()).spawn().unwrap()).collect();
    let ids: Vec<u32> = children.iter().map(Child::id).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let log = String::from_utf8(fixture.contents("log")).unwrap();
    assert_eq!(log.lines().count(), 8 * lines);
    for id in ids {
        let mine: Vec<_> = log.lines().filter_map(|line| line.strip_prefix(&format!("{id} "))).collect();
        assert_eq!(
            mine,
            (0..lines).map(|number| number.to_string()).collect::<Vec<_>>(),
            "in order, none twice"
        );
    }
    assert_eq!(fixture.litter(""), [""; 0]);
}

#[test]
fn edits_from_several_processes_build_on_each_other() {
    let fixture = Fixture::in_memory();
    fixture.build("file counter = 0\n");
    let edits = rounds(25, 500);
    let children: Vec<Child> =
        (0..4).map(|_| part(&format!("edit {edits}"), &fixture.workspace()).spawn().unwrap()).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(fixture.contents("counter"), format!("{}\n", 4 * edits).into_bytes());
}

#[test]
fn a_kill_leaves_the_old_file_or_the_new_one_and_no_growing_litter() {
    for what in ["write", "append"] {
        let fixture = Fixture::in_memory();
        fixture.build("dir d");
        fixture.write("d/f", &[b'z'; 64 << 10]).unwrap();
        let kills = rounds(15, 300);
        for kill in 0..kills {
            if what == "append" {
                fixture.write("d/f", &[b'z'; 64 << 10]).unwrap();
            }
            let mut child = part(&format!("forever {what}"), &fixture.workspace()).spawn().unwrap();
            wait_for_start(&mut child);
            // Any moment of a write, from the first to somewhere in the hundredth.
            std::thread::sleep(Duration::from_micros((kill as u64).wrapping_mul(7_919) % 4_000));
            child.kill().unwrap();
            child.wait().unwrap();
            let contents = fixture.contents("d/f");
            let whole = match what {
                "write" => contents.len() == 64 << 10 && contents.iter().all(|byte| *byte == contents[0]),
                _ => {
                    contents.len().is_multiple_of(64)
                        && contents.chunks(64).all(|line| line.iter().all(|byte| *byte == line[0]))
                }
            };
            assert!(whole, "{what}: torn after kill {kill}: {} bytes", contents.len());
        }
        let left = fixture.litter("d");
        eprintln!("{what}: {kills} kills left {} temporary files", left.len());
        assert!(left.len() <= kills, "at most one for each kill");
        for name in &left {
            assert_eq!(fixture.mode(&format!("d/{name}")), 0o600, "what a kill leaves is private: `{name}`");
            let file = File::options().write(true).open(fixture.workspace().join("d").join(name)).unwrap();
            file.set_times(FileTimes::new().set_modified(SystemTime::now() - Duration::from_secs(3700)))
                .unwrap();
        }
        fixture.write("d/g", b"an hour later").unwrap();
        assert_eq!(fixture.litter("d"), [""; 0], "{what}");
    }
}

pub(super) fn wait_for_start(child: &mut Child) {
    let mut seen = Vec::new();
    let out = child.stdout.as_mut().unwrap();
    while !seen.ends_with(b"started\n") {
        let mut byte = [0];
        assert_eq!(out.read(&mut byte).unwrap(), 1, "the copy ended: {}", String::from_utf8_lossy(&seen));
        seen.push(byte[0]);
    }
}

/// Runs `script` with a file system of its own; `None` where this machine does not let us.
fn in_own_mounts(script: &str, dir: &Path) -> Option<std::process::Output> {
    let unshare = |script: &str| {
        let exe = std::env::current_exe().unwrap();
        Command::new("unshare").args(["-rm", "sh", "-ec", script, "sh"]).arg(dir).arg(exe).output()
    };
    let able = unshare("mount -t tmpfs -o size=64k none \"$1\"").is_ok_and(|output| output.status.success());
    if !able {
        picoclaw_testing::skip!("no user and mount namespaces here (`unshare -rm`)");
        return None;
    }
    Some(unshare(script).unwrap())
}

fn assert_played(output: &std::process::Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{said}");
}

#[test]
fn a_full_disk_says_so_and_keeps_the_old_contents() {
    let fixture = Fixture::new();
    let script = format!(
        "mount -t tmpfs -o size=64k none \"$1\"; mkdir -p \"$1/workspace\" \"$1/state/locks\"; \
         {WHERE}=\"$1\" \"$2\" --exact --nocapture root::tests::processes::on_a_full_disk"
    );
    if let Some(output) = in_own_mounts(&script, &fixture.outside()) {
        assert_played(&output);
    }
}

/// The part that runs inside the small file system.
#[test]
fn on_a_full_disk() {
    let Some(top) = std::env::var_os(WHERE).filter(|_| std::env::var_os(PART).is_none()) else {
        eprintln!("nothing to do: another test starts this with a small file system");
        return;
    };
    let workspace = Path::new(&top).join("workspace");
    let root = Root::open(&workspace).unwrap();
    let context = WriteContext::new(&Path::new(&top).join("state/locks"), Duration::from_secs(1)).unwrap();
    let place =
        |name: &str| root.locate(Path::new(name), Access::Write, &ProtectedInodes::default()).unwrap();
    place("f").write(b"old", Overwrite::Yes, &context).unwrap();
    let large = "x".repeat(80 << 10);
    for fault in [
        place("f").write(large.as_bytes(), Overwrite::Yes, &context).unwrap_err(),
        place("f").append(large.as_bytes(), &context).unwrap_err(),
        place("f").edit("old", &large, &context).unwrap_err(),
        place("new").write(large.as_bytes(), Overwrite::No, &context).unwrap_err(),
    ] {
        assert_eq!(fact(&fault), "full", "{fault}");
    }
    let names: Vec<_> = fs::read_dir(&workspace).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!((fs::read(workspace.join("f")).unwrap(), names), (b"old".to_vec(), vec!["f".into()]));
    place("f").write(b"fits", Overwrite::Yes, &context).unwrap();
}

#[test]
fn mounts_inside_the_workspace_are_judged_by_what_they_are() {
    let fixture = Fixture::new();
    let script = format!(
        "mount -t tmpfs none \"$1\"; cd \"$1\"; mkdir -p home/workspace/proc home/workspace/home home/workspace/plain \
         home/workspace/state home/state/locks plain; echo STATE > home/state/f; echo CONFIG > home/config.json; echo plain > plain/f; \
         touch home/workspace/config; \
         mount -t proc none home/workspace/proc || mount --rbind /proc home/workspace/proc; \
         mount --bind home home/workspace/home; mount --bind home/state home/workspace/state; mount --bind plain home/workspace/plain; \
         mount --bind home/config.json home/workspace/config; mount -o remount,bind,ro plain home/workspace/plain; \
         {WHERE}=\"$1\" \"$2\" --exact --nocapture root::tests::processes::among_mounts"
    );
    if let Some(output) = in_own_mounts(&script, &fixture.outside()) {
        assert_played(&output);
    }
}

/// The part that runs among the mounts.
#[test]
fn among_mounts() {
    let Some(top) = std::env::var_os(WHERE).filter(|_| std::env::var_os(PART).is_none()) else {
        eprintln!("nothing to do: another test starts this among mounts");
        return;
    };
    let (home, workspace) = (Path::new(&top).join("home"), Path::new(&top).join("home/workspace"));
    let zones = Zones {
        workspace: vec![clean(&workspace)],
        protected: Protected { trees: vec![clean(&home)], readable: Vec::new() },
    };
    let (protected, context) = (
        ProtectedInodes::of(&zones),
        WriteContext::new(&home.join("state/locks"), Duration::from_secs(1)).unwrap(),
    );
    // Systems without `O_PATH` have no bind mounts, and a file's mount shows on a descriptor of the
    // file alone.
    let is_asked = |disabled: &DisabledKernelFeatures| *disabled != DisabledKernelFeatures::PathDescriptors;
    for disabled in super::fixture::KERNELS.into_iter().filter(is_asked) {
        let root = Root::open_without(&workspace, disabled).unwrap();
        let read = |path: &str| {
            root.locate(Path::new(path), Access::Read, &protected).unwrap().read(super::fixture::ALL)
        };
        for (why, path, want) in [
            ("procfs through the workspace", "proc/meminfo", "not_a_file"),
            ("a process through the workspace", "proc/self/environ", "not_a_file"),
            ("a process's root through the workspace", "proc/self/root/etc/passwd", "not_a_file"),
            ("the instance, mounted into the workspace", "home/config.json", "protected"),
            ("the configuration, mounted over a file", "config", "protected"),
            ("a directory of the instance", "state/f", "protected"),
        ] {
            assert_eq!(fact(&read(path).unwrap_err()), want, "{why}: `{path}` ({disabled:?})");
        }
        assert_eq!(
            read("plain/f").unwrap().bytes,
            b"plain\n",
            "a plain mount is part of the workspace ({disabled:?})"
        );
        let place = root.locate(Path::new("plain/f"), Access::Write, &protected).unwrap();
        assert_eq!(
            fact(&place.write(b"x", Overwrite::Yes, &context).unwrap_err()),
            "read_only",
            "{disabled:?}"
        );
    }
}
