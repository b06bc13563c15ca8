//! `spec/paths.toml`, row by row, over every engine and under both names of the workspace.
//!
//! Invariant: a row that cannot run on this machine says so.

use super::fixture::{ALL, Fixture, KERNELS, clean, is_root};
use crate::root::{DisabledKernelFeatures, Overwrite, Page, Place, ProtectedInodes, Root, RootError};
use picoclaw_policy::{Access, CleanPath, FileKind, LinkOwner, PathLocation};
use std::path::Path;

const TABLE: &str = include_str!("../../../../../spec/paths.toml");

#[derive(serde::Deserialize)]
struct Table {
    row: Vec<Row>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    why: String,
    #[serde(default)]
    tree: Vec<String>,
    #[serde(default)]
    from: From,
    path: String,
    #[serde(default)]
    access: Use,
    landing: String,
    kind: String,
    resolved: Option<String>,
    links: Option<Vec<String>>,
    reads: Option<String>,
    lists: Option<Vec<String>>,
    fails: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
}

#[derive(serde::Deserialize, Default, PartialEq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum From {
    #[default]
    Workspace,
    Host,
}

#[derive(serde::Deserialize, Default, PartialEq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Use {
    #[default]
    Read,
    List,
    Write,
}

#[test]
fn every_row_holds_for_every_engine_and_under_both_names() {
    let table: Table = toml::from_str(TABLE).unwrap();
    assert!(table.row.len() > 60, "the table has only {} rows", table.row.len());
    let mut skipped = 0;
    for row in &table.row {
        if let Some(missing) = row.needs.iter().find(|need| !is_met(need)) {
            picoclaw_testing::skip!("`{}`: needs `{missing}`", row.why);
            skipped += 1;
            continue;
        }
        for disabled in KERNELS {
            for name in ["$WS", "$ALIAS"] {
                check(row, disabled, name);
            }
        }
    }
    assert!(skipped * 4 < table.row.len(), "{skipped} rows were skipped");
}

fn is_met(need: &str) -> bool {
    match need {
        "root" => is_root(),
        "user" => !is_root(),
        path => Path::new(path).exists(),
    }
}

fn check(row: &Row, disabled: DisabledKernelFeatures, name: &str) {
    let fixture = Fixture::new();
    row.tree.iter().for_each(|line| fixture.build(line));
    let case = format!("{} (`{}`, {disabled:?}, {name})", row.why, row.path);
    let base = clean(Path::new(&fixture.expand(name)));
    let asked = CleanPath::new(Path::new(&fixture.expand(&row.path)), &base).unwrap();
    let (root, below) = match row.from {
        From::Workspace => {
            let root = Root::open_without(base.as_path(), disabled).unwrap();
            let zones = fixture.zones();
            let below =
                zones.in_workspace(&asked).unwrap_or_else(|| panic!("{case}: not in the workspace as text"));
            (root, below.to_owned())
        }
        From::Host => (
            Root::host_without(Path::new("/"), disabled).unwrap(),
            asked.as_path().strip_prefix("/").unwrap().to_owned(),
        ),
    };
    let access = match row.access {
        Use::Read => Access::Read,
        Use::List => Access::List,
        Use::Write => Access::Write,
    };
    let protected = ProtectedInodes::of(&fixture.zones());
    let place = root.locate(&below, access, &protected).unwrap_or_else(|fault| panic!("{case}: {fault}"));
    assert_eq!(landing(&place), row.landing, "{case}");
    assert_eq!(kind(&place), row.kind, "{case}");
    if let Some(want) = &row.resolved {
        assert_eq!(place.resolved(), Path::new(&fixture.expand(want)), "{case}");
    }
    if let Some(want) = &row.links {
        let links: Vec<_> =
            place.links().iter().map(|link| format!("{}@{}", link.at.display(), owner(link.owner))).collect();
        assert_eq!(links, want.iter().map(|link| fixture.expand(link)).collect::<Vec<_>>(), "{case}");
    }
    let outcome = match row.access {
        Use::Read => place.read(ALL).map(|excerpt| Some(excerpt.bytes)),
        Use::List => place.list(Page { offset: 0, limit: 100 }).map(|listing| {
            let names: Vec<_> =
                listing.entries.iter().map(|entry| entry.name.to_string_lossy().into_owned()).collect();
            if let Some(want) = &row.lists {
                assert_eq!(&names, want, "{case}");
            }
            None
        }),
        Use::Write => place.write(b"written", Overwrite::Yes, &fixture.context()).map(|()| None),
    };
    match (&row.fails, outcome) {
        (Some(want), Err(fault)) => assert_eq!(fact(&fault), want, "{case}: {fault}"),
        (Some(want), Ok(_)) => panic!("{case}: should fail with `{want}`"),
        (None, Err(fault)) => panic!("{case}: {fault:?}"),
        (None, Ok(bytes)) => {
            if let Some(want) = &row.reads {
                assert_eq!(String::from_utf8_lossy(&bytes.unwrap()), *want, "{case}");
            }
        }
    }
    if row.access == Use::Write && row.fails.is_none() && row.from == From::Workspace {
        let back = root.locate(&below, Access::Read, &protected).unwrap().read(ALL).unwrap().bytes;
        assert_eq!(back, b"written", "{case}: read back");
        assert!(!place.asked().symlink_metadata().unwrap().is_symlink() || !row.tree.is_empty(), "{case}");
    }
    assert_eq!(outside(&fixture), b"SECRET", "{case}: the outside was written to");
}

#[expect(clippy::disallowed_methods, reason = "seen from outside")]
fn outside(fixture: &Fixture) -> Vec<u8> {
    let names: Vec<_> =
        std::fs::read_dir(fixture.outside()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["secret"], "something was put outside");
    std::fs::read(fixture.outside().join("secret")).unwrap()
}

fn landing(place: &Place) -> &'static str {
    match place.landing() {
        PathLocation::NotLookedUp => "unseen",
        PathLocation::Workspace => "workspace",
        PathLocation::Escaped => "escaped",
        PathLocation::Host { resolved, links } => {
            assert_eq!(resolved, place.resolved());
            assert_eq!(links, place.links());
            "host"
        }
        PathLocation::Protected => "protected",
    }
}

fn kind(place: &Place) -> &'static str {
    match place.kind() {
        FileKind::Missing => "missing",
        FileKind::Regular => "regular",
        FileKind::Directory => "directory",
        FileKind::Special => "special",
    }
}

fn owner(owner: LinkOwner) -> &'static str {
    match owner {
        LinkOwner::System => "system",
        LinkOwner::Anyone => "anyone",
    }
}

/// The error's name, as the table spells it.
pub(super) fn fact(fault: &RootError) -> &'static str {
    match fault {
        RootError::InvalidPath { .. } => "invalid_path",
        RootError::Escapes { .. } => "escapes",
        RootError::Protected { .. } => "protected",
        RootError::NotFound { .. } => "not_found",
        RootError::AccessDenied { .. } => "access_denied",
        RootError::IsADirectory { .. } => "is_a_directory",
        RootError::NotADirectory { .. } => "not_a_directory",
        RootError::NotAFile { .. } => "not_a_file",
        RootError::Exists { .. } => "exists",
        RootError::TooLarge { .. } => "too_large",
        RootError::TooDeep { .. } => "too_deep",
        RootError::NameTooLong { .. } => "name_too_long",
        RootError::Changed { .. } => "changed",
        RootError::InUse { .. } => "in_use",
        RootError::Busy { .. } => "busy",
        RootError::Full { .. } => "full",
        RootError::ReadOnly { .. } => "read_only",
        RootError::OtherUse { .. } => "other_use",
        RootError::EmptyText => "empty_text",
        RootError::NoMatch { .. } => "no_match",
        RootError::ManyMatches { .. } => "many_matches",
        RootError::Io { .. } => "io",
    }
}
