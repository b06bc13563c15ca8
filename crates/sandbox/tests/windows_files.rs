//! Files by handles on Windows: what is beneath a workspace, and nothing else.
#![cfg(windows)]
#![expect(clippy::disallowed_methods, reason = "a test arranges its files by path")]

use picoclaw_policy::{Access, FileKind, PathLocation};
use picoclaw_sandbox::file_lock::FileLock;
use picoclaw_sandbox::ledger::{self, Anchor, Integrity, Ledger};
use picoclaw_sandbox::os_file::{AtFlags, CWD, Errno, Mode, OFlags, fstat, openat, statat};
use picoclaw_sandbox::presence::{GatewayLock, ProcessRegistry, Role};
use picoclaw_sandbox::root::{
    EntryKind, Overwrite, Page, ProtectedInodes, Root, RootError, Span, WriteContext,
};
use picoclaw_sandbox::state_dir::StateDir;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

struct Scene {
    root: Root,
    context: WriteContext,
    /// Last: Wine removes no directory that is open.
    dir: TempDir,
}

fn scene() -> Scene {
    let dir = tempfile::tempdir().unwrap();
    for name in ["workspace", "workspace/sub", "outside", "locks"] {
        fs::create_dir(dir.path().join(name)).unwrap();
    }
    fs::write(dir.path().join("outside/secret.txt"), "secret").unwrap();
    let root = Root::open(&dir.path().join("workspace")).unwrap();
    let context = WriteContext::new(&dir.path().join("locks"), Duration::from_secs(5)).unwrap();
    Scene { root, context, dir }
}

impl Scene {
    fn write(&self, path: &str, text: &str, overwrite: Overwrite) -> Result<(), RootError> {
        let place = self.root.locate(Path::new(path), Access::Write, &ProtectedInodes::default())?;
        place.write(text.as_bytes(), overwrite, &self.context)
    }

    fn read(&self, path: &str) -> Result<String, RootError> {
        let place = self.root.locate(Path::new(path), Access::Read, &ProtectedInodes::default())?;
        let excerpt = place.read(Span { offset: 0, length: 1000 })?;
        Ok(String::from_utf8(excerpt.bytes).unwrap())
    }
}

#[test]
fn files_are_written_read_appended_edited_and_listed() {
    let scene = scene();
    scene.write(r"new\deep\a.txt", "one", Overwrite::No).unwrap();
    assert_eq!(scene.read(r"new\deep\a.txt").unwrap(), "one");
    assert_eq!(scene.read(r"NEW\Deep\A.TXT").unwrap(), "one", "case does not matter");
    assert!(matches!(scene.write(r"new\deep\a.txt", "x", Overwrite::No), Err(RootError::Exists { .. })));
    scene.write(r"new\deep\a.txt", "two", Overwrite::Yes).unwrap();
    let place = |access| {
        scene.root.locate(Path::new(r"new\deep\a.txt"), access, &ProtectedInodes::default()).unwrap()
    };
    place(Access::Write).append(b" three", &scene.context).unwrap();
    place(Access::Write).edit("two", "2", &scene.context).unwrap();
    assert_eq!(scene.read(r"new\deep\a.txt").unwrap(), "2 three");
    assert!(matches!(scene.read(r"new\none"), Err(RootError::NotFound { .. })));
    assert!(matches!(scene.read("new"), Err(RootError::IsADirectory { .. })));
    assert!(scene.write("new", "x", Overwrite::Yes).is_err(), "a directory is not replaced");
    let listed = scene.root.locate(Path::new("new"), Access::List, &ProtectedInodes::default()).unwrap();
    let names = listed.list(Page { offset: 0, limit: 10 }).unwrap();
    let found: Vec<_> =
        names.entries.iter().map(|entry| (entry.name.to_str().unwrap(), entry.kind)).collect();
    assert_eq!(found, [("deep", EntryKind::Directory)]);
    let deep = fs::read_dir(scene.dir.path().join(r"workspace\new\deep")).unwrap();
    assert_eq!(deep.count(), 1, "no temporary file is left");
}

#[test]
fn two_spellings_of_a_name_are_one_file_for_writers() {
    let scene = scene();
    scene.write("notes.md", "", Overwrite::No).unwrap();
    std::thread::scope(|scope| {
        for name in ["notes.md", "Notes.MD", "NOTES.md"] {
            let scene = &scene;
            scope.spawn(move || {
                for _ in 0..30 {
                    let place = scene
                        .root
                        .locate(Path::new(name), Access::Write, &ProtectedInodes::default())
                        .unwrap();
                    place.append(b"x", &scene.context).unwrap();
                }
            });
        }
    });
    assert_eq!(scene.read("notes.md").unwrap().len(), 90);
}

/// A reader that has the old file open keeps reading it.
#[test]
fn a_file_that_is_open_elsewhere_is_replaced_as_a_whole() {
    let scene = scene();
    scene.write("a.txt", "the old text", Overwrite::No).unwrap();
    let mut open = File::open(scene.dir.path().join(r"workspace\a.txt")).unwrap();
    match scene.write("a.txt", "new", Overwrite::Yes) {
        Err(RootError::AccessDenied { .. }) if std::env::var_os("WINEPREFIX").is_some() => {
            picoclaw_testing::skip!("this system replaces no file that is open");
            return;
        }
        done => done.unwrap(),
    }
    assert_eq!(scene.read("a.txt").unwrap(), "new");
    let mut text = String::new();
    open.read_to_string(&mut text).unwrap();
    assert_eq!(text, "the old text");
}

#[test]
fn names_with_a_second_meaning_open_nothing() {
    let scene = scene();
    scene.write("a.txt", "one", Overwrite::No).unwrap();
    let workspace =
        openat(CWD, scene.dir.path().join("workspace"), OFlags::PATH | OFlags::DIRECTORY, Mode::empty())
            .unwrap();
    assert!(openat(&workspace, "a.txt", OFlags::RDONLY, Mode::empty()).is_ok(), "the control");
    for name in
        ["a.txt:stream", "a.txt::$DATA", "..", r"..\outside", r"sub\..\a.txt", "sub/x", "", "C:", "\0"]
    {
        let opened = openat(&workspace, name, OFlags::RDWR | OFlags::CREATE, Mode::empty());
        assert!(opened.is_err(), "{name:?}");
    }
    for path in [r"..\outside\secret.txt", r"sub\..\..\outside\secret.txt", r"C:\x", r"\x", "./a.txt"] {
        let place = scene.root.locate(Path::new(path), Access::Read, &ProtectedInodes::default());
        assert!(place.is_err() || place.unwrap().read(Span { offset: 0, length: 9 }).is_err(), "{path}");
    }
    let device = openat(CWD, "NUL", OFlags::RDONLY, Mode::empty());
    assert!(device.is_err(), "a device is no file");
}

/// Wine 8 makes no links that programs of Windows could see as such.
#[test]
fn no_reparse_point_is_followed() {
    let scene = scene();
    let (link, target) = (scene.dir.path().join(r"workspace\link"), scene.dir.path().join("outside"));
    let made = std::os::windows::fs::symlink_dir(&target, &link);
    let is_link = fs::symlink_metadata(&link).is_ok_and(|meta| meta.file_type().is_symlink());
    if made.is_err() || !is_link {
        picoclaw_testing::skip!("this system makes no symbolic links");
        return;
    }
    assert_eq!(fs::read_to_string(link.join("secret.txt")).unwrap(), "secret", "the control");
    let place =
        scene.root.locate(Path::new(r"link\secret.txt"), Access::Read, &ProtectedInodes::default()).unwrap();
    assert_eq!((place.landing(), place.kind()), (PathLocation::Escaped, FileKind::Missing));
    assert!(matches!(place.read(Span { offset: 0, length: 9 }), Err(RootError::Escapes { .. })));
    assert!(scene.write(r"link\new.txt", "x", Overwrite::No).is_err());
    assert!(!target.join("new.txt").exists());
}

#[test]
fn an_access_list_is_that_of_the_replaced_file() {
    use picoclaw_sys::windows::{access_list, set_access_list};
    use std::os::windows::fs::OpenOptionsExt as _;
    use std::os::windows::io::AsHandle as _;
    /// `READ_CONTROL` and `WRITE_DAC`.
    const RIGHTS: u32 = 0x0006_0000;
    let scene = scene();
    scene.write("a.txt", "one", Overwrite::No).unwrap();
    let path = scene.dir.path().join(r"workspace\a.txt");
    let open = || fs::OpenOptions::new().access_mode(RIGHTS).open(&path).unwrap();
    let inherited = access_list(open().as_handle()).unwrap();
    // All to the owner, and to none else.
    set_access_list(open().as_handle(), "D:P(A;;FA;;;OW)").unwrap();
    let own = access_list(open().as_handle()).unwrap();
    if own == inherited {
        picoclaw_testing::skip!("this system keeps no access lists");
        return;
    }
    scene.write("a.txt", "two", Overwrite::Yes).unwrap();
    assert_eq!(access_list(open().as_handle()).unwrap(), own);
}

#[test]
fn locks_exclude_writers_and_not_readers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "text").unwrap();
    let open = || openat(CWD, &path, OFlags::RDWR, Mode::empty()).unwrap();
    let lock = FileLock::exclusive(open()).unwrap();
    assert!(FileLock::try_exclusive(open()).unwrap().is_none());
    assert!(FileLock::try_shared(open()).unwrap().is_none());
    assert_eq!(fs::read_to_string(&path).unwrap(), "text", "a lock keeps no reader out");
    drop(lock);
    assert!(FileLock::try_exclusive(open()).unwrap().is_some());
}

#[test]
fn state_is_replaced_appended_truncated_listed_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(dir.path(), "things").unwrap();
    state.replace("a", b"1").unwrap();
    state.replace("a", b"2").unwrap();
    assert_eq!(state.read("a", 10).unwrap().unwrap(), b"2");
    assert!(state.read("a:b", 10).is_err(), "a stream is no file");
    let mut lines = state.lock("lines", Duration::from_secs(1)).unwrap();
    lines.append(b"one").unwrap();
    let length = lines.length();
    lines.append(b"two").unwrap();
    assert!(state.lock("lines", Duration::from_millis(20)).is_err(), "one writer at a time");
    assert_eq!(state.read("lines", 100).unwrap().unwrap(), b"one\ntwo\n", "a reader does not wait");
    lines.truncate(length).unwrap();
    lines.append(b"three").unwrap();
    drop(lines);
    assert_eq!(state.read("lines", 100).unwrap().unwrap(), b"one\nthree\n");
    let names: Vec<_> = state.list().unwrap().into_iter().map(|info| info.name).collect();
    assert_eq!(names, ["a", "lines"]);
    state.remove("a").unwrap();
    assert_eq!(state.read("a", 10).unwrap(), None);
}

#[test]
fn the_ledger_is_written_continued_and_verified() {
    let dir = tempfile::tempdir().unwrap();
    let (path, state) = (dir.path().join("ledger"), dir.path().join("state"));
    fs::create_dir(&state).unwrap();
    for _ in 0..2 {
        let ledger = Ledger::open_with_head(&path, &state).unwrap();
        ledger.append(&[entry()]).unwrap();
        ledger.sync().unwrap();
    }
    let report = ledger::verify_with_head(&path, &state, Anchor::Unknown).unwrap();
    assert_eq!((report.integrity, report.records), (Integrity::Intact, 2));
    let segment = path.join("00000001.jsonl");
    let text = fs::read_to_string(&segment).unwrap().replacen("list", "read", 1);
    fs::write(&segment, text).unwrap();
    let report = ledger::verify_with_head(&path, &state, Anchor::Unknown).unwrap();
    assert_eq!(report.integrity, Integrity::Tampered);
}

fn entry() -> ledger::Entry {
    use picoclaw_policy::{AgentId, Grant, Origin, Subject, Verdict};
    let subject = Subject::root(Origin::Cli, AgentId::main(), "test");
    let grant = Grant { rule: "rule".to_owned() };
    ledger::Entry::decided(&subject, "list", "list a directory", &Verdict::Allow(grant))
}

#[test]
fn one_gateway_runs_and_is_registered() {
    let home = tempfile::tempdir().unwrap();
    let lock = GatewayLock::acquire(home.path(), "1", "127.0.0.1", 1).unwrap();
    assert!(GatewayLock::is_running(home.path()));
    assert!(GatewayLock::acquire(home.path(), "1", "127.0.0.1", 1).is_err());
    assert_eq!(GatewayLock::read_pid_file(home.path()).unwrap().pid, std::process::id());
    let registry = ProcessRegistry::open(home.path()).unwrap();
    assert!(registry.others().unwrap().is_empty(), "this process is not another");
    drop(lock);
    assert!(!GatewayLock::is_running(home.path()));
    assert_eq!(GatewayLock::read_pid_file(home.path()), None);
    let _registration = registry.register(Role::Tool).unwrap();
}

#[test]
fn what_a_handle_says_is_what_the_name_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    File::create(&path).unwrap().write_all(b"12345").unwrap();
    let opened = openat(CWD, &path, OFlags::RDONLY, Mode::empty()).unwrap();
    let (by_handle, by_name) = (fstat(&opened).unwrap(), statat(CWD, &path, AtFlags::empty()).unwrap());
    assert_eq!((by_handle.st_dev, by_handle.st_ino), (by_name.st_dev, by_name.st_ino));
    assert_eq!((by_handle.st_size, by_handle.st_nlink), (5, 1));
    assert_eq!(openat(CWD, dir.path().join("none"), OFlags::RDONLY, Mode::empty()).err(), Some(Errno::NOENT));
}
