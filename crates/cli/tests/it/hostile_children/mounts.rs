//! Mounts of the host beneath a project: file systems of the kernel, and the home or the instance under another name.

use super::{Bwrap, Faults, Landlock, Level, Native, Project, is_root};
use crate::test_instance::{Ran, ran};
use std::os::unix::net::UnixListener;
use std::process::Command;

/// A shell line with `setup` before it, in a mount namespace of its own; the words are started in it.
fn in_mounts(setup: &str) -> Vec<String> {
    let unshare: &[&str] = if is_root() { &["unshare", "-m"] } else { &["unshare", "-Urm"] };
    let line = format!("{{ {setup}; }} || exit 99; exec \"$@\"");
    unshare.iter().copied().chain(["sh", "-c", &line, "sh"]).map(str::to_owned).collect()
}

/// What a shell line says without confinement and in a cage, with these mounts; `None` where there are none.
fn said(project: &Project, setup: &str, flags: &[&str], line: &str) -> Option<(Ran, Ran)> {
    if project.level == Bwrap && !is_root() {
        picoclaw_testing::skip!("in another user namespace bubblewrap is no program of root's");
        return None;
    }
    let wrapper = in_mounts(setup);
    let wrapper: Vec<_> = wrapper.iter().map(String::as_str).collect();
    let mut control = Command::new(wrapper[0]);
    control.args(&wrapper[1..]).args(["sh", "-c", line]).current_dir(project.dir());
    let control = ran(control.output().unwrap());
    if control.code == 99 || control.stderr.contains("unshare:") {
        picoclaw_testing::skip!("this host gives no mount namespace: {control:?}");
        return None;
    }
    let mut command = project.wrapped(&wrapper, flags, &["sh", "-c", line]);
    Some((control, ran(command.env("PICOCLAW_LOG_LEVEL", "warn").output().unwrap())))
}

/// A chroot tree in the project, as its owner mounts it, beside a file system that belongs to the project.
const CHROOT: &str = "mkdir -p rootfs/proc rootfs/sys rootfs/dev shm data && mount --rbind /proc rootfs/proc && \
    mount --rbind /sys rootfs/sys && mount --rbind /dev rootfs/dev && mount --bind /dev/shm shm && \
    touch file && mount --bind /proc/version file && \
    mount -t tmpfs none data && echo mine > data/file";

/// Says what of the kernel's file systems is there. Nothing is written to what opens for writing.
fn look() -> String {
    let process = std::process::id();
    let files = ["rootfs/proc/version", "rootfs/sys/kernel", "rootfs/dev/null"];
    let seen = files.map(|path| format!("test -e {path} && echo {path}")).join("; ");
    format!(
        "{seen}; test -e rootfs/proc/{process} && echo process; ls shm; grep -o Linux file; cat data/file; \
         for file in rootfs/proc/sys/kernel/core_pattern rootfs/sys/power/state rootfs/sys/kernel/uevent_helper; do \
         (: >> $file) 2>/dev/null && test -s $file && echo setting $file; done"
    )
}

#[test]
fn file_systems_of_the_kernel_beneath_a_project_are_covered() {
    let mut faults = Faults::default();
    let Ok(shared) = tempfile::Builder::new().prefix("picoclaw-shared-").tempfile_in("/dev/shm") else {
        picoclaw_testing::skip!("`/dev/shm` cannot be written to");
        return;
    };
    let shared = shared.path().file_name().unwrap().to_str().unwrap();
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        // A socket that is not where it was bound makes the project be searched.
        let _listener = UnixListener::bind(project.file("bound/here", "").with_file_name("socket")).unwrap();
        std::fs::rename(project.instance.dir().join("bound/socket"), project.dir().join("moved")).unwrap();
        let Some((control, told)) = said(&project, CHROOT, &[], &look()) else { return };
        for want in [
            "rootfs/proc/version",
            "rootfs/sys/kernel",
            "rootfs/dev/null",
            "process",
            shared,
            "Linux",
            "mine",
        ] {
            assert!(control.stdout.lines().any(|line| line == want), "the control, {want}: {control:?}");
        }
        assert!(!is_root() || control.stdout.contains("setting "), "the control: {control:?}");
        faults.check(told.stdout == "mine\n", format!("{level:?}: {told:?}"));
        for path in ["rootfs/proc", "rootfs/sys", "rootfs/dev", "shm", "file"] {
            let line = format!("{path}` is a mount of the host's");
            faults.check(told.stderr.contains(&line), format!("{level:?}: {path} is not named: {told:?}"));
        }
        faults.check(
            !told.stderr.contains("data`") && told.stderr.matches("WARN").count() == 5,
            format!("{level:?}: {told:?}"),
        );
        // As part of another tree, and by its own name.
        let project = Project::new(level).unwrap();
        let flags = ["--rw", "../tree", "--ro", "../tree/rootfs/sys"];
        let setup = format!("mkdir -p ../tree && cd ../tree && {CHROOT} && cd \"$OLDPWD\"");
        let Some((_, told)) = said(&project, &setup, &flags, &format!("cd ../tree && {}", look())) else {
            return;
        };
        faults.check(told.stdout == "rootfs/sys/kernel\nmine\n", format!("{level:?}, named: {told:?}"));
    }
}

#[test]
fn a_mount_in_a_directory_that_is_closed_is_covered_too() {
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        let setup = format!("{CHROOT} && chmod 0 rootfs");
        let line = format!("chmod 755 rootfs; {}; exit 0", look());
        let Some((control, told)) = said(&project, &setup, &[], &line) else { return };
        assert!(control.stdout.contains("process"), "the control: {control:?}");
        assert_eq!((told.code, told.stdout.as_str()), (0, "mine\n"), "{level:?}: {told:?}");
    }
}

/// A rule of Landlock for a directory holds for every mount beneath.
#[test]
fn landlock_alone_refuses_a_project_with_such_mounts() {
    let Some(project) = Project::new(Landlock) else { return };
    let setup = "mkdir -p rootfs/proc && mount --rbind /proc rootfs/proc";
    let Some((_, told)) = said(&project, setup, &[], "echo ran") else { return };
    assert_eq!((told.code, told.stdout.as_str()), (125, ""), "{told:?}");
    assert!(told.stderr.contains("rootfs/proc`, a mount of the host's (`proc`)"), "{told:?}");
    let setup = "mkdir -p data && mount -t tmpfs none data";
    let Some((_, told)) = said(&project, setup, &[], "echo ran") else { return };
    assert_eq!((told.code, told.stdout.as_str()), (0, "ran\n"), "the control: {told:?}");
}

#[test]
fn the_instance_is_hidden_under_every_name() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap] {
        let Some(project) = Project::new(level) else { continue };
        let (home, dir) = (project.instance.home(), project.instance.dir().to_owned());
        project.file("home/state/secret", "SECRET\n");
        project.file("other/place", "");
        let before = std::fs::read_to_string(home.join("config.json")).unwrap();
        let (line, at) = (
            "cat m/config.json m/state/secret m/secret m 2>/dev/null; (echo evil >> m/config.json) 2>/dev/null; \
             (echo evil >> m/secret) 2>/dev/null; exit 0",
            "mkdir -p m && mount --bind",
        );
        for (why, setup) in [
            ("the instance", format!("{at} {} m", home.display())),
            ("a part of it", format!("{at} {} m", home.join("state").display())),
            (
                "the secrets",
                format!(
                    "rmdir m 2>/dev/null; touch m && mount --bind {} m",
                    home.join("state/secret").display()
                ),
            ),
        ] {
            // In the workspace it is refused or hidden; so it is in what is shown besides.
            for (place, flags) in [(project.dir(), &[][..]), (dir.join("other"), &["--rw", "../other"])] {
                let back = project.dir();
                let setup = format!(
                    "cd {} && mkdir -p m 2>/dev/null; {setup} && cd {}",
                    place.display(),
                    back.display()
                );
                let line = format!("cd {} && {line}", place.display());
                let control = line.replace("evil", "");
                let Some((told, _)) = said(&project, &setup, flags, &control) else { return };
                assert!(told.stdout.contains("SECRET"), "the control, {why}: {told:?}");
                std::fs::write(home.join("config.json"), &before).unwrap();
                std::fs::write(home.join("state/secret"), "SECRET\n").unwrap();
                let wrapper = in_mounts(&setup);
                let wrapper: Vec<_> = wrapper.iter().map(String::as_str).collect();
                let told = ran(project.wrapped(&wrapper, flags, &["sh", "-c", &line]).output().unwrap());
                faults.check(
                    told.stdout.is_empty() && [0, 125].contains(&told.code),
                    format!("{level:?}, {why}, {flags:?}: {told:?}"),
                );
                let config = std::fs::read_to_string(home.join("config.json")).unwrap();
                let secret = std::fs::read_to_string(home.join("state/secret")).unwrap();
                faults.check(
                    config == before && secret == "SECRET\n",
                    format!("{level:?}, {why}: {config}{secret}"),
                );
                for name in ["project/m", "other/m"] {
                    let _ = std::fs::remove_dir(dir.join(name));
                    let _ = std::fs::remove_file(dir.join(name));
                }
            }
        }
    }
}

#[test]
fn a_project_that_holds_the_home_or_the_instance_under_another_name_is_refused() {
    let Some(project) = Project::new(Level::Native) else { return };
    for (source, want) in [
        (project.instance.dir().to_owned(), "holds the home directory"),
        (project.instance.home(), "holds `"),
    ] {
        let setup = format!("mkdir -p hh && mount --rbind {} hh", source.display());
        let Some((control, told)) = said(&project, &setup, &[], "ls hh") else { return };
        assert_eq!(control.code, 0, "the control: {control:?}");
        assert_eq!((told.code, told.stdout.as_str()), (125, ""), "{told:?}");
        assert!(told.stderr.contains(want) && told.stderr.contains("/project/hh"), "{told:?}");
    }
    let setup = "mkdir -p hh ../notes && mount --bind ../notes hh";
    let Some((_, told)) = said(&project, setup, &[], "ls hh && echo ran") else { return };
    assert_eq!(told.stdout, "ran\n", "another directory is part of the project: {told:?}");
}
