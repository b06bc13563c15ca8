//! Both engines, and the kernel itself, agree on random trees.
//!
//! Invariant: whatever the walking resolver opens is what the kernel would have opened, and lies in
//! the workspace.

use super::fixture::{ALL, Fixture, rounds};
use super::table::fact;
use crate::root::{DisabledKernelFeatures, Place, ProtectedInodes, Root};
use picoclaw_policy::{Access, FileKind, PathLocation};
use proptest::prelude::*;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use std::path::Path;

/// One line of a random tree; many will not fit each other, and are left out then.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        name_path().prop_map(|path| format!("dir {path}")),
        name_path().prop_map(|path| format!("file {path} = {path}")),
        (name_path(), target()).prop_map(|(path, target)| format!("link {path} -> {target}")),
        (name_path(), target()).prop_map(|(path, target)| format!("link {path} -> {target}")),
        name_path().prop_map(|path| format!("fifo {path}")),
    ]
}

fn name_path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d"]), 1..4)
        .prop_map(|parts| parts.join("/"))
}

fn target() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(
        prop::sample::select(vec!["a", "b", "c", "..", "..", ".", "d", "secret", "workspace"]),
        1..6,
    );
    let base = prop::sample::select(vec!["", "", "", "$WS/", "$ALIAS/", "$OUT/", "/", "$HOME/"]);
    let end = prop::sample::select(vec!["", "", "", "/"]);
    (base, parts, end).prop_map(|(base, parts, end)| format!("{base}{}{end}", parts.join("/")))
}

/// What a look came to, in comparable form.
fn told(place: &Place) -> String {
    let read = match place.read(ALL) {
        Ok(excerpt) => format!("{:?}", String::from_utf8_lossy(&excerpt.bytes)),
        Err(fault) => fact(&fault).to_owned(),
    };
    format!("{:?} {:?} {} {read}", place.landing(), place.kind(), place.resolved().display())
}

fn build(fixture: &Fixture, lines: &[String]) {
    for line in lines {
        // A name that is taken, or below a file, cannot be built; the rest of the tree can.
        let _ = fixture.try_build(line);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: u32::try_from(rounds(300, 20_000)).unwrap(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engines_agree(lines in prop::collection::vec(line(), 1..24), paths in prop::collection::vec(name_path(), 1..12)) {
        let fixture = Fixture::in_memory();
        build(&fixture, &lines);
        let protected = fixture.protected();
        for name in [fixture.workspace(), fixture.alias()] {
            let roots = [DisabledKernelFeatures::None, DisabledKernelFeatures::Openat2, DisabledKernelFeatures::Openat2AndProc, DisabledKernelFeatures::PathDescriptors]
                .map(|disabled| Root::open_without(&name, disabled).unwrap());
            agree_with_each_other(&roots, &paths, &protected)?;
        }
        for path in &paths {
            agrees_with_the_kernel(&fixture, path, &protected)?;
        }
    }
}

fn agree_with_each_other(
    roots: &[Root; 4],
    paths: &[String],
    protected: &ProtectedInodes,
) -> Result<(), TestCaseError> {
    for path in paths {
        for access in [Access::Read, Access::List, Access::Write] {
            let [fast, walking, poor, by_name] =
                roots.each_ref().map(|root| root.locate(Path::new(path), access, protected).unwrap());
            prop_assert_eq!(told(&fast), told(&walking), "`{}` {:?}", path, access);
            prop_assert_eq!(told(&fast), told(&poor), "`{}` {:?}", path, access);
            prop_assert_eq!(told(&fast), told(&by_name), "`{}` {:?}", path, access);
            if fast.landing() == PathLocation::Workspace && fast.kind() != FileKind::Missing {
                prop_assert_eq!(fast.resolved().canonicalize().unwrap(), fast.resolved(), "`{}`", path);
                prop_assert!(
                    fast.resolved().starts_with(roots[0].resolved().as_path()),
                    "`{}` escaped",
                    path
                );
            }
        }
    }
    Ok(())
}

/// The kernel's own following resolver, and `realpath`, as second and third opinion.
fn agrees_with_the_kernel(
    fixture: &Fixture,
    path: &str,
    protected: &ProtectedInodes,
) -> Result<(), TestCaseError> {
    let root = Root::open_without(&fixture.workspace(), DisabledKernelFeatures::Openat2).unwrap();
    let place = root.locate(Path::new(path), Access::Read, protected).unwrap();
    let workspace =
        rustix::fs::openat(CWD, fixture.workspace(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let follow = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let ask = || openat2(&workspace, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), follow);
    // A rename or mount anywhere on this machine made the kernel give up with EAGAIN.
    let kernel = std::iter::repeat_with(ask).find(|told| told.as_ref().err() != Some(&Errno::AGAIN));
    let kernel = kernel.unwrap_or(Err(Errno::AGAIN));
    let real = fixture.workspace().join(path).canonicalize();
    match (&kernel, &place.landing()) {
        (Ok(handle), PathLocation::Workspace) => {
            let real = real.unwrap();
            prop_assert_eq!(place.resolved(), real.clone(), "`{}`", path);
            let (ours, theirs) = (std::fs::metadata(&real).unwrap(), fstat(handle).unwrap());
            prop_assert_eq!(std::os::unix::fs::MetadataExt::ino(&ours), theirs.st_ino);
        }
        // What the kernel calls a way out may come back by a name that the kernel does not know.
        (Err(Errno::XDEV), PathLocation::Workspace) if place.kind() != FileKind::Missing => {
            prop_assert!(real.unwrap().starts_with(fixture.workspace()), "`{}` escaped", path);
        }
        (Err(Errno::XDEV), PathLocation::Workspace | PathLocation::Escaped) => {}
        (Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP), PathLocation::Workspace) => {
            prop_assert_eq!(place.kind(), FileKind::Missing, "`{}`", path);
            let fault = place.read(ALL).unwrap_err();
            prop_assert!(
                ["not_found", "not_a_directory", "too_deep"].contains(&fact(&fault)),
                "`{}`: {}",
                path,
                fault
            );
        }
        (kernel, landing) => {
            prop_assert!(false, "`{}`: the kernel says {:?}, we say {:?}", path, kernel, landing)
        }
    }
    Ok(())
}
