//! What is recalled is what reading anew would give, whatever was done to the directory in between.
//!
//! `PICOCLAW_SOAK=1` has 10,000 changes by another process, in step with listings and now and then beside them;
//! otherwise a few hundred.
//!
//! Invariant: what a listing should be is seen from outside, by path; nothing here trusts what it tests.
#![expect(clippy::disallowed_methods, reason = "a test builds and checks its trees from outside, by path")]

use super::fixture::{Fixture, is_root, rounds};
use super::processes::{part, wait_for_start};
use super::table::fact;
use crate::root::edition::{self, Edition};
use crate::root::recall::LEAST;
use crate::root::{EntryKind, Listing, Page, Recall, Root, RootError};
use picoclaw_policy::Access;
use rustix::fs::{AtFlags, CWD, RenameFlags, Timespec, Timestamps, renameat_with, utimensat};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ALL: Page = Page { offset: 0, limit: 10_000 };

/// A directory `d` with enough in it to be kept, and one beside it that could take its place.
struct Stage {
    fixture: Fixture,
    root: Root,
    recall: Recall,
}

impl Stage {
    /// On every file system at hand that keeps editions apart; `None` on the others.
    fn on(fixture: Fixture) -> Option<Self> {
        for (dir, letter) in [("d", 'f'), ("other", 'g')] {
            fs::create_dir(fixture.workspace().join(dir)).unwrap();
            for number in 0..LEAST + 20 {
                File::create(fixture.workspace().join(format!("{dir}/{letter}{number:04}"))).unwrap();
            }
        }
        let dir = File::open(fixture.workspace().join("d")).unwrap();
        if Edition::of(&dir).is_none() || !edition::are_told_apart(&dir) {
            picoclaw_testing::skip!(
                "nothing is recalled on `{}`, or with this kernel",
                fixture.workspace().display()
            );
            return None;
        }
        Some(Self { root: fixture.root(), fixture, recall: Recall::default() })
    }

    fn everywhere() -> impl Iterator<Item = Self> {
        [Fixture::new(), Fixture::in_memory()].into_iter().filter_map(Self::on)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.fixture.workspace().join(name)
    }

    fn page(&self, page: Page) -> Result<Listing, RootError> {
        self.root.locate(Path::new("d"), Access::List, &self.fixture.seals())?.list(page, &self.recall)
    }

    fn list(&self) -> Listing {
        self.page(ALL).unwrap()
    }

    /// Lists until it is recalled: the directory has settled.
    fn settled(&self) -> Listing {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let (first, second) = (self.list(), self.list());
            if is_the_same(&first, &second) {
                return second;
            }
            assert!(Instant::now() < until, "nothing is ever recalled");
        }
    }
}

fn is_the_same(one: &Listing, other: &Listing) -> bool {
    Arc::ptr_eq(&one.names, &other.names)
}

fn told(listing: &Listing) -> Vec<(String, EntryKind)> {
    listing.entries().map(|entry| (entry.name.to_str().unwrap().to_owned(), entry.kind)).collect()
}

/// The entries as anybody sees them.
fn seen(dir: &Path) -> Vec<(String, EntryKind)> {
    let mut seen: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let kind = match fs::symlink_metadata(entry.path()).unwrap().file_type() {
                kind if kind.is_dir() => EntryKind::Directory,
                kind if kind.is_symlink() => EntryKind::Link,
                kind if kind.is_file() => EntryKind::File,
                _ => EntryKind::Special,
            };
            (entry.file_name().into_string().unwrap(), kind)
        })
        .collect();
    seen.sort_by(|a, b| a.0.cmp(&b.0));
    seen
}

/// Puts the time of the contents back to what it was.
fn forge(path: &Path, before: &fs::Metadata) {
    let time = |sec, nsec| Timespec { tv_sec: sec, tv_nsec: nsec };
    let times = Timestamps {
        last_access: time(before.atime(), before.atime_nsec()),
        last_modification: time(before.mtime(), before.mtime_nsec()),
    };
    utimensat(CWD, path, &times, AtFlags::empty()).unwrap();
}

fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn what_has_changed_is_seen_by_the_very_next_call() {
    type Change = fn(&Stage);
    let changes: [(&str, Change); 15] = [
        ("a file is added", |stage| drop(File::create(stage.at("d/new")).unwrap())),
        ("a file is removed", |stage| fs::remove_file(stage.at("d/f0007")).unwrap()),
        ("a link is added", |stage| symlink("/", stage.at("d/new")).unwrap()),
        ("another name of a file is added", |stage| {
            fs::hard_link(stage.at("other/g0001"), stage.at("d/new")).unwrap();
        }),
        ("a file is renamed", |stage| fs::rename(stage.at("d/f0007"), stage.at("d/new")).unwrap()),
        ("one is renamed in", |stage| fs::rename(stage.at("other/g0001"), stage.at("d/new")).unwrap()),
        ("one is renamed out", |stage| fs::rename(stage.at("d/f0007"), stage.at("away")).unwrap()),
        ("one makes room for a directory of its name", |stage| {
            fs::remove_file(stage.at("d/f0007")).unwrap();
            fs::create_dir(stage.at("d/f0007")).unwrap();
        }),
        ("one is replaced by a link, which is renamed over it", |stage| {
            symlink("/", stage.at("link")).unwrap();
            fs::rename(stage.at("link"), stage.at("d/f0007")).unwrap();
        }),
        ("one changes places with a directory elsewhere", |stage| {
            fs::create_dir(stage.at("elsewhere")).unwrap();
            exchange(&stage.at("elsewhere"), &stage.at("d/f0007"));
        }),
        ("the directory changes places with another", |stage| exchange(&stage.at("d"), &stage.at("other"))),
        ("the directory is moved away, and another takes its name", |stage| {
            fs::rename(stage.at("d"), stage.at("away")).unwrap();
            fs::rename(stage.at("other"), stage.at("d")).unwrap();
        }),
        ("the directory is removed, and made again", |stage| {
            fs::remove_dir_all(stage.at("d")).unwrap();
            fs::create_dir(stage.at("d")).unwrap();
            for number in 0..LEAST + 20 {
                File::create(stage.at(&format!("d/h{number:04}"))).unwrap();
            }
        }),
        ("a file is added, and the time of the contents put back", |stage| {
            let before = fs::metadata(stage.at("d")).unwrap();
            File::create(stage.at("d/new")).unwrap();
            assert_ne!(
                fs::metadata(stage.at("d")).unwrap().mtime_nsec(),
                before.mtime_nsec(),
                "nothing to put back"
            );
            forge(&stage.at("d"), &before);
            let after = fs::metadata(stage.at("d")).unwrap();
            // The control: whoever looks at that time alone has seen nothing.
            assert_eq!((after.mtime(), after.mtime_nsec()), (before.mtime(), before.mtime_nsec()));
            assert_eq!((after.dev(), after.ino()), (before.dev(), before.ino()));
        }),
        ("another process makes 1,001 changes, one undoing the other", |stage| {
            Other::start(stage, "d").makes("alternate 1001");
        }),
    ];
    for (why, change) in changes {
        for stage in Stage::everywhere() {
            let before = stage.settled();
            change(&stage);
            let after = stage.list();
            assert!(!is_the_same(&before, &after), "{why}: it was recalled");
            assert_eq!(told(&after), seen(&stage.at("d")), "{why}");
            assert_ne!(told(&after), told(&before), "{why}: nothing has changed, so nothing was shown");
        }
    }
}

#[test]
fn a_recalled_page_is_the_one_that_reading_would_give() {
    let count = LEAST + 20;
    for (why, known) in [("all is known", ALL), ("a part is known", Page { offset: 10, limit: LEAST })] {
        for stage in Stage::everywhere() {
            let until = Instant::now() + Duration::from_secs(10);
            while !is_the_same(&stage.page(known).unwrap(), &stage.page(known).unwrap()) {
                assert!(Instant::now() < until, "{why}: nothing is ever recalled");
            }
            for page in [
                (0, 1),
                (0, 10),
                (5, 100),
                (10, LEAST),
                (0, LEAST + 10),
                (LEAST, 20),
                (count, 5),
                (90_000, 2),
                (0, 0),
            ] {
                let page = Page { offset: page.0, limit: page.1 };
                let got = stage.page(page).unwrap();
                let want: Vec<_> =
                    seen(&stage.at("d")).into_iter().skip(page.offset).take(page.limit).collect();
                assert_eq!((told(&got), got.total), (want, count), "{why}: {page:?}");
            }
            let endless = stage.page(Page { offset: usize::MAX, limit: usize::MAX });
            assert_eq!(fact(&endless.unwrap_err()), "too_large", "{why}");
        }
    }
}

#[test]
fn what_may_not_be_listed_any_more_is_not_recalled() {
    for stage in Stage::everywhere() {
        stage.settled();
        stage.fixture.build("mode 0300 d");
        if is_root() {
            picoclaw_testing::skip!("to root, no permission bit counts");
            return;
        }
        assert_eq!(fact(&stage.page(ALL).unwrap_err()), "access_denied");
        stage.fixture.build("mode 0700 d");
    }
}

#[test]
fn only_what_is_worth_it_and_bounded_is_kept() {
    for (why, names) in [
        ("few", (0..LEAST - 1).map(|number| format!("f{number:05}")).collect::<Vec<_>>()),
        ("heavy", (0..6_000).map(|number| format!("{number:0200}")).collect()),
    ] {
        let fixture = Fixture::in_memory();
        fixture.build("dir d");
        for name in &names {
            File::create(fixture.workspace().join("d").join(name)).unwrap();
        }
        let stage = Stage { root: fixture.root(), fixture, recall: Recall::default() };
        let until = Instant::now() + Duration::from_millis(50);
        while Instant::now() < until {
            assert!(!is_the_same(&stage.list(), &stage.list()), "{why}: it was kept");
        }
    }
}

#[test]
fn nothing_stale_is_ever_recalled() {
    for stage in Stage::everywhere() {
        let (changes, mut recalled) = (rounds(300, 10_000), 0);
        let mut other = Other::start(&stage, "d");
        let mut dice = Dice(0x5eed);
        for change in 0..changes {
            if dice.below(8) == 0 {
                // Beside us, not in step: what is read in the midst of it must not be kept.
                other.begins("alternate 40");
                (0..dice.below(4)).for_each(|_| drop(stage.page(ALL)));
                other.has_ended();
            } else {
                other.makes(&format!("random {change}"));
            }
            let want = seen(&stage.at("d"));
            let mut last: Option<Listing> = None;
            // Often enough that the next change comes now before, now after this one has settled.
            for _ in 0..1 + dice.below(30) {
                let listing = stage.list();
                recalled += usize::from(last.is_some_and(|last| is_the_same(&last, &listing)));
                assert_eq!(told(&listing), want, "after change {change}");
                last = Some(listing);
            }
        }
        eprintln!("{changes} changes, {recalled} times recalled");
        assert!(
            recalled > changes / 4,
            "hardly anything was recalled, so hardly anything was shown: {recalled}"
        );
    }
}

/// Another process, which changes a directory when it is told to.
struct Other {
    child: Child,
    say: ChildStdin,
    hear: BufReader<ChildStdout>,
}

impl Other {
    fn start(stage: &Stage, dir: &str) -> Self {
        let mut command = part(&format!("change {dir}"), &stage.fixture.workspace());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        wait_for_start(&mut child);
        let (say, hear) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, say, hear }
    }

    fn makes(&mut self, change: &str) {
        self.begins(change);
        self.has_ended();
    }

    fn begins(&mut self, change: &str) {
        writeln!(self.say, "{change}").unwrap();
    }

    fn has_ended(&mut self) {
        let mut line = String::new();
        self.hear.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n", "the other process failed");
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the other process does: a line, a change.
pub(super) fn change_when_told(dir: &Path) {
    std::io::stdout().write_all(b"\nstarted\n").unwrap();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        match line.split_once(' ').unwrap() {
            ("alternate", count) => (0..count.parse::<usize>().unwrap()).for_each(|_| alternate(dir)),
            (_, seed) => random(dir, &mut Dice(seed.parse().unwrap())),
        }
        std::io::stdout().write_all(b"done\n").unwrap();
    }
}

fn alternate(dir: &Path) {
    let path = dir.join("now and then");
    if fs::remove_file(&path).is_err() {
        File::create(path).unwrap();
    }
}

/// One change of those that a directory can see; every other time, its traces are covered up.
fn random(dir: &Path, dice: &mut Dice) {
    let other = dir.with_file_name("other");
    let (before, entries) = (fs::metadata(dir).unwrap(), seen(dir));
    let some = dir.join(&entries[dice.below(entries.len())].0);
    let new = dir.join(format!("new-{}", dice.below(1 << 30)));
    match dice.below(8) {
        0 | 1 if entries.len() > LEAST => {
            if fs::remove_file(&some).is_err() {
                fs::remove_dir(&some).unwrap();
            }
        }
        0..=2 => drop(File::create(new).unwrap()),
        3 => fs::rename(some, new).unwrap(),
        4 => fs::rename(some, other.join(new.file_name().unwrap())).unwrap(),
        5 => {
            let theirs = seen(&other);
            fs::rename(other.join(&theirs[dice.below(theirs.len())].0), new).unwrap();
        }
        6 => {
            fs::create_dir(other.join("turn")).unwrap();
            exchange(&other.join("turn"), &some);
            fs::rename(other.join("turn"), other.join(new.file_name().unwrap())).unwrap();
        }
        _ if seen(&other).len() > LEAST => exchange(dir, &other),
        _ => symlink("/", new).unwrap(),
    }
    if dice.below(2) == 0 {
        forge(dir, &before);
    }
}

/// Numbers that look like chance and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}
