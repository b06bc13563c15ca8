//! Which backend is taken where something is missing, and when nothing starts at all.

use crate::support::{instance, isolation};
use picoclaw_policy::config::{Backend as BackendChoice, Expose, ExposeMode, Network, Requirement};
use picoclaw_sandbox::isolate::{
    Backend, Cage, Confinement, Grade, IsolateError, ProbeResult, Unusable, choose_backend, find_bwrap, probe,
};
use picoclaw_sandbox::launch::{LaunchError, Status, run_to_end};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

fn probed(native: bool, bwrap: bool, landlock: Option<u32>) -> ProbeResult {
    let missing = |what: &str| Unusable::Missing(what.to_owned());
    let bwrap = if bwrap { Ok(PathBuf::from("/usr/bin/bwrap")) } else { Err(missing("not installed")) };
    let native = if native { Ok(Backend::Native) } else { Err(missing("no user namespaces")) };
    ProbeResult { native, bwrap, landlock, remedy: None }
}

fn without_procfs() -> ProbeResult {
    ProbeResult { native: Ok(Backend::NativeHostProc), ..probed(true, true, Some(7)) }
}

#[test]
fn a_trial_that_failed_lowers_no_level() {
    let mut isolation = isolation();
    isolation.network = Network::Host;
    let failed = || Unusable::Failed("Too many open files".to_owned());
    let native = ProbeResult { native: Err(failed()), ..probed(false, true, Some(7)) };
    let bwrap = ProbeResult { bwrap: Err(failed()), ..probed(false, false, Some(7)) };
    for (backend, host) in [("native", native), ("bubblewrap", bwrap)] {
        let error = choose_backend(&isolation, &host).expect_err("no level is taken").to_string();
        assert!(error.contains(backend) && error.contains("Too many open files"), "{error}");
    }
}

#[test]
fn the_strongest_backend_is_taken_and_never_less_than_was_asked_for() {
    use BackendChoice::{Auto, Bwrap, Native};
    use Network::{Host, None as Alone};
    for (why, backend, network, host, want) in [
        ("everything is there", Auto, Alone, probed(true, true, Some(7)), "native"),
        ("no user namespaces", Auto, Alone, probed(false, true, Some(7)), "bwrap"),
        ("no procfs can be mounted", Auto, Alone, without_procfs(), "native with the host's /proc"),
        ("the same, asked for", Native, Alone, without_procfs(), "native with the host's /proc"),
        ("neither, the network shared", Auto, Host, probed(false, false, Some(7)), "landlock"),
        (
            "neither: a closed network is held by refusing sockets",
            Auto,
            Alone,
            probed(false, false, Some(7)),
            "landlock",
        ),
        ("neither, and the first Landlock", Auto, Host, probed(false, false, Some(1)), "landlock"),
        ("nothing at all", Auto, Host, probed(false, false, None), "is not available"),
        ("native or nothing", Native, Host, probed(false, true, Some(7)), "native backend"),
        (
            "bwrap or nothing, though native would do",
            Bwrap,
            Host,
            probed(true, false, Some(7)),
            "does not fall back automatically",
        ),
        ("bwrap when asked for", Bwrap, Host, probed(true, true, Some(7)), "bwrap"),
    ] {
        let mut isolation = isolation();
        (isolation.backend, isolation.network) = (backend, network);
        let got = match choose_backend(&isolation, &host) {
            Ok(Backend::Native) => "native".to_owned(),
            Ok(Backend::NativeHostProc) => "native with the host's /proc".to_owned(),
            Ok(Backend::Bwrap(_)) => "bwrap".to_owned(),
            Ok(Backend::Landlock) => "landlock".to_owned(),
            Ok(Backend::RestrictedToken | Backend::Unsupported(_)) => "unsupported".to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(got.contains(want), "{why}: `{got}`");
    }
}

#[test]
fn what_is_required_and_not_held_stops_the_start() {
    for (why, require, network, host, starts) in [
        (
            "files are held by native",
            Requirement::Filesystem,
            Network::Host,
            probed(true, true, Some(7)),
            true,
        ),
        (
            "a shared network is no held one",
            Requirement::Network,
            Network::Host,
            probed(true, true, Some(7)),
            false,
        ),
        (
            "processes whose names are seen are none",
            Requirement::Processes,
            Network::Host,
            without_procfs(),
            false,
        ),
        ("a network of its own is", Requirement::Network, Network::None, probed(true, true, Some(7)), true),
        (
            "Landlock alone holds files only in part",
            Requirement::Filesystem,
            Network::Host,
            probed(false, false, Some(7)),
            false,
        ),
        ("and processes", Requirement::Processes, Network::Host, probed(false, false, Some(7)), false),
        (
            "but system calls in full",
            Requirement::Syscalls,
            Network::Host,
            probed(false, false, Some(7)),
            true,
        ),
    ] {
        let mut isolation = isolation();
        (isolation.require, isolation.network) = (vec![require], network);
        assert_eq!(choose_backend(&isolation, &host).is_ok(), starts, "{why}");
    }
}

#[test]
fn a_remapping_exposure_needs_mounts() {
    let mut isolation = isolation();
    isolation.network = Network::Host;
    isolation.expose_paths =
        vec![Expose { source: "/opt/a".into(), target: "/opt/b".into(), mode: ExposeMode::ReadOnly }];
    assert!(choose_backend(&isolation, &probed(true, false, Some(7))).is_ok());
    assert!(choose_backend(&isolation, &probed(false, false, Some(7))).is_err());
}

#[test]
fn a_failed_start_says_what_to_do_and_at_what_risk() {
    let mut isolation = isolation();
    isolation.backend = BackendChoice::Bwrap;
    let error = choose_backend(&isolation, &probed(true, false, Some(7))).expect_err("no bubblewrap");
    assert!(
        error.to_string().starts_with("linux isolation requires bwrap and does not fall back automatically:"),
        "{error}"
    );
    let hint = error.hint();
    for hinted in [
        "apt install bubblewrap",
        "dnf install",
        "yum install",
        "pacman -S",
        "apk add",
        "`isolation.enabled`: false",
        "more host files",
    ] {
        assert!(hint.contains(hinted), "no `{hinted}` in `{hint}`");
    }
    let refused =
        Unusable::Missing("a trial child ended with Exited(1): bwrap: Operation not permitted".to_owned());
    let installed = ProbeResult { bwrap: Err(refused), ..probed(true, false, Some(7)) };
    let hint = choose_backend(&isolation, &installed).expect_err("bubblewrap fails").hint();
    assert!(!hint.contains("apt install"), "it is installed: {hint}");
}

#[test]
fn the_unsupported_backend_refuses_everything() {
    let place = instance();
    let backend = Backend::Unsupported("this platform has none");
    let error = Cage::new(place.plan().expect("a plan"), backend.clone()).expect_err("nothing starts here");
    assert!(matches!(error, IsolateError::Unsupported { .. }), "{error}");
    for (_, layer, grade) in backend.enforced(&place.isolation).layers() {
        assert!(matches!(grade, Grade::None(_)), "{layer}");
    }
}

#[test]
fn the_probe_has_seen_what_it_says() {
    let found = probe(OsStr::new("/usr/bin:/bin"));
    if let Err(reason) = &found.native {
        picoclaw_testing::skip!("no native cage on this host: {reason}");
        return;
    }
    let place = instance();
    assert_eq!(place.run("true").expect("a cage that was probed").status, Status::Exited(0));
    if let Ok(program) = found.bwrap {
        let cage = Cage::new(place.plan().expect("a plan"), Backend::Bwrap(program)).expect("a cage");
        let finished =
            run_to_end(place.spec("exit 4", Confinement::Cage(Arc::new(cage)))).expect("bwrap starts");
        assert_eq!(finished.status, Status::Exited(4), "{}", finished.stderr.to_text());
    }
}

#[test]
fn a_planted_bubblewrap_is_passed_over() {
    if !rustix::process::geteuid().is_root() {
        let directory = tempfile::tempdir().expect("a directory");
        let planted = directory.path().join("bwrap");
        std::fs::write(&planted, "#!/bin/sh\nshift; exec \"$@\"\n").expect("a file");
        std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let path = std::env::join_paths([directory.path(), "/usr/bin".as_ref()]).expect("a path");
        assert_ne!(find_bwrap(&path), Some(planted), "W69: not root's own");
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let planted = directory.path().join("bwrap");
    std::fs::write(&planted, "#!/bin/sh\nshift; exec \"$@\"\n").expect("a file");
    std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o777)).expect("a mode");
    let path = std::env::join_paths([directory.path(), "/usr/bin".as_ref()]).expect("a path");
    assert_ne!(find_bwrap(&path), Some(planted), "W69: root's, and anybody may change it");
}

#[test]
fn a_cage_that_the_kernel_refuses_starts_nothing() {
    let mut place = instance();
    let (outside, shown) = (place.outside.clone(), place.base.join("shown"));
    std::fs::create_dir_all(shown.join("here")).expect("a directory");
    place.expose(&shown, "/shown".as_ref(), ExposeMode::ReadOnly);
    place.expose(&outside, "/shown/here".as_ref(), ExposeMode::ReadOnly);
    let spec = place.spec("touch started", place.cage());
    // Planned, and gone: a mount point that cannot be made, since its parent is read-only.
    std::fs::remove_dir(shown.join("here")).expect("it is there");
    let error = run_to_end(spec).expect_err("the mount point is missing");
    assert!(matches!(error, LaunchError::Step { .. }), "{error}");
    assert_eq!(error.exit_code(), 125);
    assert!(!place.workspace.join("started").exists());
}
