//! What an operator names beneath `/tmp` or `/var/tmp` is there in every kind of cage, on top of the private directories.

use crate::support::{Instance, home, instance};
use picoclaw_policy::config::{Expose, ExposeMode, Network};
use picoclaw_sandbox::isolate::{
    Backend, Cage, CommandSource, Confinement, LiveHost, PlanRequest, find_bwrap, plan,
};
use picoclaw_sandbox::launch::{Status, run_to_end};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Every backend of this host.
fn backends() -> Vec<Backend> {
    let mut backends = vec![Backend::Native, Backend::Landlock];
    match find_bwrap(OsStr::new("/usr/bin:/bin")) {
        Some(bwrap) => backends.push(Backend::Bwrap(bwrap)),
        None => picoclaw_testing::skip!("bubblewrap is not installed"),
    }
    backends
}

/// Runs an operator's command in a cage, and returns what it printed.
fn run(place: &Instance, backend: &Backend, program: &Path, arguments: &[OsString]) -> String {
    let view = place.view();
    let request = PlanRequest {
        isolation: &place.isolation,
        instance: &view,
        source: CommandSource::Operator { program, arguments },
        work_dir: &place.workspace,
        home: &home(),
        variables: &[],
        private: &[],
    };
    let plan = plan(&request, &LiveHost).expect("a plan");
    let cage = Cage::new(plan, backend.clone()).expect("a cage");
    let mut spec = place.spec("", Confinement::Cage(Arc::new(cage)));
    spec.program = program.to_owned();
    spec.argv = std::iter::once(program.into()).chain(arguments.iter().cloned()).collect();
    let finished = run_to_end(spec).expect("it starts");
    assert_eq!(finished.status, Status::Exited(0), "{backend:?}: {}", finished.stderr.to_text());
    finished.stdout.to_text()
}

fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    path
}

#[test]
fn a_program_an_argument_and_an_exposure_are_seen_in_temporary_directories() {
    for top in ["/tmp", "/var/tmp"] {
        let dir = tempfile::tempdir_in(top).expect("everyone may write there");
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let neighbour = tempfile::NamedTempFile::new_in(top).expect("everyone may write there");
        let program = script(dir.path(), "program", "echo program \"$@\"");
        let server = script(dir.path(), "server", "echo server");
        let data = dir.path().join("data");
        std::fs::create_dir(&data).expect("a directory");
        std::fs::write(data.join("file"), "data\n").expect("a file");
        for backend in backends() {
            let mut place = instance();
            place.isolation.network = Network::Host;
            assert_eq!(run(&place, &backend, &program, &["x".into()]), "program x\n", "{top} {backend:?}");
            let arguments = [server.clone().into_os_string()];
            assert_eq!(
                run(&place, &backend, Path::new("/bin/sh"), &arguments),
                "server\n",
                "{top} {backend:?}"
            );

            let mut targets = vec![data.clone()];
            if backend != Backend::Landlock {
                // Nothing is shown elsewhere without mounts.
                targets
                    .extend([Path::new("/tmp/other/place").into(), Path::new("/var/tmp/other/place").into()]);
            }
            for target in targets {
                let (source, mode) = (data.clone(), ExposeMode::ReadOnly);
                place.isolation.expose_paths = vec![Expose { source, target: target.clone(), mode }];
                let line = format!("cat {}/file; cat {}", target.display(), neighbour.path().display());
                let arguments = ["-c".into(), OsString::from(format!("{line} 2>/dev/null; :"))];
                let said = run(&place, &backend, Path::new("/bin/sh"), &arguments);
                assert_eq!(said, "data\n", "{top} {backend:?} {}", target.display());
            }
        }
    }
}

#[test]
fn directories_that_only_lead_to_a_mount_cannot_be_written() {
    for top in ["/tmp", "/var/tmp"] {
        let dir = tempfile::tempdir_in(top).expect("everyone may write there");
        let shown = dir.path().join("a/shown");
        std::fs::create_dir_all(&shown).expect("a directory");
        for backend in backends().iter().filter(|backend| **backend != Backend::Landlock) {
            let mut place = instance();
            let (source, target, mode) = (shown.clone(), shown.clone(), ExposeMode::ReadWrite);
            place.isolation.expose_paths = vec![Expose { source, target, mode }];
            let line = format!(
                "cd {} && echo x > kept; for at in .. ../..; do touch $at/lost 2>/dev/null || echo refused; done; \
                 touch {top}/mine && echo private",
                shown.display()
            );
            let said = run(&place, backend, Path::new("/bin/sh"), &["-c".into(), line.into()]);
            assert_eq!(said, "refused\nrefused\nprivate\n", "{top} {backend:?}");
            assert!(shown.join("kept").exists(), "{top} {backend:?}: the control, in what is shown");
            std::fs::remove_file(shown.join("kept")).expect("it is there");
        }
    }
}

#[test]
fn what_is_written_beside_it_stays_private() {
    for top in ["/tmp", "/var/tmp"] {
        let dir = tempfile::tempdir_in(top).expect("everyone may write there");
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let planted = format!("picoclaw-planted-{}", std::process::id());
        let text = format!(
            "cd {top} && touch {planted} && test -e {planted} && echo private; touch $0 2>/dev/null || echo read-only"
        );
        let program = script(dir.path(), "program", &text);
        for backend in backends().iter().filter(|backend| **backend != Backend::Landlock) {
            let said = run(&instance(), backend, &program, &[]);
            assert_eq!(said, "private\nread-only\n", "{top} {backend:?}");
            assert!(!Path::new(top).join(&planted).exists(), "{top} {backend:?}: it reached the host");
        }
    }
}
