//! Random trees, random links, random paths: both engines agree, nothing escapes, nothing panics.
//!
//! The input is lines. `dNAME` makes a directory, `fNAME` a file, `lNAME>TARGET` a link, `pNAME` a socket; every other line is
//! a path to look up. `@` in a target is the workspace's own path.
//!
//! Invariant: whatever is found in the workspace lies in it, also by the kernel's own account.
#![no_main]

use libfuzzer_sys::fuzz_target;
use picoclaw_policy::{Access, CleanPath, FileKind, PathLocation, Protected, Zones};
use picoclaw_sandbox::root::{DisabledKernelFeatures, Root, ProtectedInodes};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Lines that one tree and its look-ups may have together.
const LINES: usize = 48;

fuzz_target!(|input: &[u8]| {
    let temp = tempfile::Builder::new().prefix("fuzz-").tempdir_in("/dev/shm").expect("a directory in memory");
    let top = temp.path().canonicalize().expect("its real path");
    let workspace = top.join("home/workspace");
    fs::create_dir_all(&workspace).expect("a workspace");
    fs::write(top.join("secret"), "SECRET").expect("an outside");
    let lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').take(LINES).collect();
    let paths: Vec<&[u8]> = lines.iter().copied().filter(|line| !build(&workspace, line)).collect();
    let clean = |path: &Path| CleanPath::absolute(path).expect("an absolute path");
    let protected = ProtectedInodes::of(&Zones {
        workspace: vec![clean(&workspace)],
        protected: Protected { trees: vec![clean(&top.join("home"))], readable: Vec::new() },
    });
    let [fast, walking] = [DisabledKernelFeatures::None, DisabledKernelFeatures::Openat2]
        .map(|disabled| Root::open_without(&workspace, disabled).expect("the workspace opens"));
    for text in paths {
        let Ok(asked) = CleanPath::new(Path::new(OsStr::from_bytes(text)), fast.name()) else { continue };
        let Some(below) = asked.below(fast.name()) else { continue };
        for access in [Access::Read, Access::List, Access::Write] {
            let look = |root: &Root| {
                let place = root.locate(below, access, &protected).expect("a clean path is a place");
                (place.landing(), place.kind(), place.resolved())
            };
            let (landing, kind, resolved) = look(&fast);
            assert_eq!((landing.clone(), kind, resolved.clone()), look(&walking), "the engines disagree on {below:?}");
            if landing == PathLocation::Workspace && kind != FileKind::Missing {
                assert_eq!(resolved.canonicalize().ok(), Some(resolved.clone()), "{below:?} is not where it says");
                assert!(resolved.starts_with(&workspace), "{below:?} escaped to {resolved:?}");
            }
        }
    }
});

/// Builds one line of a tree; whether it was one. What does not fit the tree, or leads out of it, is left out.
fn build(workspace: &Path, line: &[u8]) -> bool {
    let Some((verb, rest)) = line.split_first() else { return false };
    if !matches!(verb, b'd' | b'f' | b'l' | b'p') {
        return false;
    }
    let mut halves = rest.splitn(2, |byte| *byte == b'>');
    let name = Path::new(OsStr::from_bytes(halves.next().unwrap_or_default()));
    let at = workspace.join(name);
    let inside = !rest.contains(&0)
        && name.components().all(|part| matches!(part, std::path::Component::Normal(_)))
        && at.ancestors().skip(1).find_map(|dir| dir.canonicalize().ok()).is_some_and(|dir| dir.starts_with(workspace));
    if !inside {
        return true;
    }
    let _ = match verb {
        b'd' => fs::create_dir_all(&at),
        b'f' => fs::File::create_new(&at).map(drop),
        b'l' => symlink(target(workspace, halves.next().unwrap_or_default()), &at),
        _ => std::os::unix::net::UnixListener::bind(&at).map(drop),
    };
    true
}

fn target(workspace: &Path, text: &[u8]) -> PathBuf {
    match text.strip_prefix(b"@") {
        Some(rest) => PathBuf::from([workspace.as_os_str(), OsStr::from_bytes(rest)].iter().copied().collect::<std::ffi::OsString>()),
        None => PathBuf::from(OsStr::from_bytes(text)),
    }
}
