//! C5: no set-user-ID file (and as root no set-group-ID file), no file capability and no device is left in a workspace.

use super::{Bwrap, Faults, Landlock, Level, Native, Project, is_here, is_root, outside};
use crate::test_instance::TestInstance;
use std::path::Path;

const TRY: &str = include_str!("set_id.py");

/// What of the attempts has left something, and is removed.
fn found(dir: &Path, mode: &str) -> String {
    let told = outside(dir, &["python3", "-c", TRY, "found", mode]);
    assert_eq!(told.code, 0, "{told:?}");
    std::fs::remove_dir_all(dir.join("made")).unwrap();
    told.stdout.replace('\n', " ")
}

fn nothing_is_left(faults: &mut Faults, level: Level, mode: &str) {
    let Some(project) = Project::new(level) else { return };
    assert_eq!(outside(&project.dir(), &["python3", "-c", TRY, "try", mode]).code, 0);
    let control = found(&project.dir(), mode);
    for call in
        "chmod chmod_by_proc fchmod fchmodat open openat openat2 creat mknod mknodat unnamed".split(' ')
    {
        assert!(control.split(' ').any(|name| name == call), "the control: {call}: {control}");
    }
    let root = "setxattr fsetxattr character_device block_device";
    assert!(!is_root() || root.split(' ').all(|call| control.contains(call)), "the control: {control}");
    let told = project.python(&[], TRY, &["try", mode]);
    assert_eq!(told.code, 0, "{level:?}: {told:?}");
    let left = found(&project.dir(), mode);
    faults.check(left.is_empty(), format!("{level:?}, {mode}: {left}"));
}

#[test]
fn no_set_user_id_file_is_left() {
    nothing_is_left(&mut Faults::default(), Native, "4755");
}

#[test]
fn no_set_user_id_file_is_left_in_bubblewrap() {
    nothing_is_left(&mut Faults::default(), Bwrap, "4755");
}

#[test]
fn no_set_user_id_file_is_left_without_namespaces() {
    nothing_is_left(&mut Faults::default(), Landlock, "4755");
}

#[test]
fn no_set_group_id_file_is_left_by_root() {
    if !is_root() {
        picoclaw_testing::skip!("only root is refused set-group-ID bits");
        return;
    }
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        nothing_is_left(&mut faults, level, "2755");
        nothing_is_left(&mut faults, level, "6755");
    }
}

#[test]
fn openat2_is_not_there() {
    let script = "import ctypes, errno, struct
libc = ctypes.CDLL(None, use_errno=True)
for flags, mode in ((0, 0), (0o101, 0o644)):
    answer = libc.syscall(ctypes.c_long(437), ctypes.c_long(-100), b'file', struct.pack('QQQ', flags, mode, 0), ctypes.c_long(24))
    print('done' if answer >= 0 else errno.errorcode[ctypes.get_errno()])";
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        project.file("project/file", "");
        assert_eq!(outside(&project.dir(), &["python3", "-c", script]).stdout, "done\ndone\n", "the control");
        let told = project.python(&[], script, &[]);
        faults.check(told.stdout == "ENOSYS\nENOSYS\n", format!("{level:?}: {told:?}"));
    }
}

#[test]
fn ordinary_modes_can_be_set() {
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        project.file("project/tree/file", "text");
        for (tool, line) in [
            ("chmod", "touch f && chmod 755 f && chmod u+x,g-w,o= f && chmod 0640 f && chmod 1777 tree"),
            ("mkdir", "mkdir -m 700 d && mkdir -m 1777 t"),
            ("cp", "cp -a tree copy && cp -p tree/file copy/other"),
            ("install", "install -m 755 tree/file installed && install -d -m 750 made"),
            ("tar", "tar -cf a.tar tree && mkdir out && tar -xpf a.tar -C out"),
            (
                "git",
                "export GIT_CONFIG_NOSYSTEM=1; git init -q plain && cd plain && git -c user.name=a -c user.email=b commit -q --allow-empty -m c",
            ),
            ("mkfifo", "mkfifo -m 600 fifo"),
            ("python3", "python3 -c 'import os; os.mknod(\"n\", 0o100644); os.chmod(\"n\", 0o755)'"),
        ] {
            let told = project.sh(&[], line);
            assert!(told.code == 0 || !is_here(tool), "{level:?}: `{line}`: {told:?}");
        }
    }
}

#[test]
fn a_user_shares_directories_with_a_group() {
    if is_root() {
        picoclaw_testing::skip!("root is refused set-group-ID bits");
        return;
    }
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let line = "export GIT_CONFIG_NOSYSTEM=1; git init -q --shared shared && mkdir d && chmod 2775 d && cp -a d e && test -g e";
        let told = project.sh(&[], line);
        assert_eq!(told.code, 0, "{level:?}: {told:?}");
    }
}

/// C6: behind the fence too, where commands keep the host's view.
#[test]
fn no_set_user_id_file_and_no_device_is_left_behind_the_fence() {
    let instance = TestInstance::with_config(
        r#"{"isolation": {"enabled": false}, "tools": {"exec": {"guard": "smart"}}}"#,
    );
    assert_eq!(instance.tool("list_dir", "{}").code, 0);
    std::fs::write(instance.workspace().join("try.py"), TRY).unwrap();
    let told = instance.tool("exec", r#"{"command": "python3 try.py try 4755"}"#);
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(found(&instance.workspace(), "4755"), "");
}
