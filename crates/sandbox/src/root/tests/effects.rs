//! The five effects, on files as they are met every day.
//!
//! Invariant: a failed effect leaves the old contents and no temporary file.
#![expect(clippy::disallowed_methods, reason = "a test builds and checks its trees from outside, by path")]

use super::fixture::{ALL, Fixture, KERNELS};
use super::table::fact;
use crate::root::{
    APPEND_LIMIT, EDIT_LIMIT, EntryKind, More, Overwrite, Page, Place, ProtectedInodes, Root, RootError,
    Span, WriteContext,
};
use picoclaw_policy::Access;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

fn located(fixture: &Fixture, path: &str, access: Access) -> Place {
    fixture.root().locate(Path::new(path), access, &fixture.protected()).unwrap()
}

fn to_write(fixture: &Fixture, path: &str) -> Place {
    located(fixture, path, Access::Write)
}

#[test]
fn a_part_of_a_file_is_read_and_says_what_follows() {
    let fixture = Fixture::new();
    fixture.build("file f = 0123456789");
    fixture.build("link l -> f");
    fixture.build("file empty = ");
    for (why, path, offset, length, want) in [
        ("the whole file", "f", 0, 100, ("0123456789", Some(10), More::End)),
        ("exactly the whole file", "f", 0, 10, ("0123456789", Some(10), More::End)),
        ("all but one byte", "f", 0, 9, ("012345678", Some(10), More::Follows)),
        ("a piece in the middle", "f", 3, 4, ("3456", Some(10), More::Follows)),
        ("the last piece", "f", 8, 4, ("89", Some(10), More::End)),
        ("at the end", "f", 10, 4, ("", Some(10), More::End)),
        ("far behind the end", "f", 1 << 40, 4, ("", Some(10), More::End)),
        ("as far as a number goes", "f", u64::MAX, usize::MAX, ("", Some(10), More::End)),
        ("nothing of it", "f", 0, 0, ("", Some(10), More::Follows)),
        ("through a link", "l", 3, 4, ("3456", Some(10), More::Follows)),
        ("an empty file", "empty", 0, 10, ("", Some(0), More::End)),
    ] {
        let got = located(&fixture, path, Access::Read).read(Span { offset, length });
        // No file reaches that far; the kernel says so in its own way.
        if offset == u64::MAX {
            assert!(got.is_err() || got.unwrap().bytes.is_empty(), "{why}");
            continue;
        }
        let got = got.unwrap();
        assert_eq!((String::from_utf8(got.bytes).unwrap().as_str(), got.total, got.more), want, "{why}");
    }
}

#[test]
fn files_that_do_not_know_their_size_are_read_to_their_end() {
    let host = Root::host_at(Path::new("/")).unwrap();
    let protected = ProtectedInodes::default();
    for (path, least) in [("proc/meminfo", 100), ("proc/cpuinfo", 100)] {
        let place = host.locate(Path::new(path), Access::Read, &protected).unwrap();
        let whole = place.read(ALL).unwrap();
        assert!(
            whole.bytes.len() > least && whole.more == More::End,
            "`{path}`: {} bytes",
            whole.bytes.len()
        );
        assert_eq!(whole.total, Some(whole.bytes.len() as u64), "`{path}`");
        let part = place.read(Span { offset: 0, length: 10 }).unwrap();
        assert_eq!((part.bytes.len(), part.more, part.total), (10, More::Follows, None), "`{path}`");
    }
}

#[test]
fn what_was_located_is_what_is_read() {
    for disabled in KERNELS {
        for name in ["f", "l"] {
            let fixture = Fixture::new();
            fixture.build("file f = judged");
            fixture.build("link l -> f");
            let root = Root::open_without(&fixture.workspace(), disabled).unwrap();
            let place = root.locate(Path::new(name), Access::Read, &fixture.protected()).unwrap();
            fs::rename(fixture.workspace().join("f"), fixture.workspace().join("gone")).unwrap();
            fixture.build("link f -> $OUT/secret");
            match place.read(ALL) {
                Ok(read) => assert_eq!(read.bytes, b"judged", "{disabled:?}, `{name}`"),
                Err(fault) => assert!(
                    matches!(fault, RootError::Changed { .. } | RootError::TooDeep { .. }) && disabled.proc(),
                    "{disabled:?}, `{name}`: {fault}"
                ),
            }
        }
    }
}

#[test]
fn an_absolute_link_works_by_either_name_of_the_workspace() {
    let fixture = Fixture::new();
    fixture.build("file f = inside");
    fixture.build("link configured -> $ALIAS/f");
    fixture.build("link real -> $WS/f");
    fixture.build("link around -> $ALIAS/../out/secret");
    for disabled in KERNELS {
        let root = Root::open_without(&fixture.alias(), disabled).unwrap();
        let read =
            |name: &str| root.locate(Path::new(name), Access::Read, &fixture.protected()).unwrap().read(ALL);
        assert_eq!(read("configured").unwrap().bytes, b"inside", "{disabled:?}");
        assert_eq!(read("real").unwrap().bytes, b"inside", "{disabled:?}");
        assert_eq!(fact(&read("around").unwrap_err()), "escapes", "{disabled:?}");
    }
}

#[test]
fn a_listing_is_sorted_paged_and_follows_nothing() {
    let fixture = Fixture::new();
    for line in ["dir d", "file f = x", "link l -> $OUT", "fifo p", "file a = x", "file \u{e9} = x"] {
        fixture.build(line);
    }
    let list = |offset, limit| located(&fixture, "", Access::List).list(Page { offset, limit }).unwrap();
    let all = list(0, 100);
    let seen: Vec<_> = all.entries.iter().map(|entry| (entry.name.to_str().unwrap(), entry.kind)).collect();
    let want = [
        ("a", EntryKind::File),
        ("d", EntryKind::Directory),
        ("f", EntryKind::File),
        ("l", EntryKind::Link),
        ("p", EntryKind::Special),
        ("\u{e9}", EntryKind::File),
    ];
    assert_eq!((seen.as_slice(), all.total), (want.as_slice(), 6));
    for (why, offset, limit, want) in [
        ("the first page", 0, 2, vec!["a", "d"]),
        ("the next page", 2, 2, vec!["f", "l"]),
        ("the last page", 4, 100, vec!["p", "\u{e9}"]),
        ("behind the end", 6, 2, vec![]),
        ("far behind the end", 90_000, 2, vec![]),
        ("nothing", 0, 0, vec![]),
    ] {
        let page = list(offset, limit);
        let names: Vec<_> = page.entries.iter().map(|entry| entry.name.to_str().unwrap()).collect();
        assert_eq!((names, page.total), (want, 6), "{why}");
    }
    let endless = located(&fixture, "", Access::List).list(Page { offset: usize::MAX, limit: usize::MAX });
    assert_eq!(fact(&endless.unwrap_err()), "too_large");
}

#[test]
fn the_same_place_lists_the_same_twice() {
    let fixture = Fixture::new();
    fixture.build("file d/f = x");
    let place = located(&fixture, "d", Access::List);
    let page = Page { offset: 0, limit: 10 };
    let (first, second) = (place.list(page).unwrap(), place.list(page).unwrap());
    assert!(first.entries.len() == 1 && first == second);
}

#[test]
fn a_listing_is_never_stale() {
    let fixture = Fixture::new();
    let names = |place: &Place| {
        let listing = place.list(Page { offset: 0, limit: 1000 }).unwrap();
        listing.entries.into_iter().map(|entry| entry.name.into_string().unwrap()).collect::<Vec<_>>()
    };
    fixture.build("dir d");
    let place = located(&fixture, "d", Access::List);
    for number in 0..300 {
        fixture.build(&format!("file d/f{number:03} = x"));
        assert_eq!(names(&place).len(), number + 1, "the new entry is listed at once");
    }
    std::fs::remove_file(fixture.workspace().join("d/f007")).unwrap();
    assert!(!names(&place).contains(&"f007".to_owned()), "a removed one is gone at once");
}

#[test]
fn pages_put_together_are_the_sorted_directory() {
    let fixture = Fixture::new();
    fixture.build("dir d");
    let mut want: Vec<String> =
        (0..500_u32).map(|n| format!("{:x}", n.wrapping_mul(2_654_435_761))).collect();
    for name in &want {
        std::fs::File::create(fixture.workspace().join("d").join(name)).unwrap();
    }
    want.sort();
    let place = located(&fixture, "d", Access::List);
    for limit in [1, 7, 256, 499, 500, 501] {
        let mut got = Vec::new();
        while got.len() < want.len() {
            let page = place.list(Page { offset: got.len(), limit }).unwrap();
            assert_eq!((page.total, page.entries.len()), (500, limit.min(500 - got.len())));
            got.extend(page.entries.into_iter().map(|entry| entry.name.into_string().unwrap()));
        }
        assert_eq!(got, want, "pages of {limit}");
    }
}

#[test]
fn a_write_replaces_the_whole_file_and_leaves_nothing_else() {
    let fixture = Fixture::new();
    for (why, path, content) in [
        ("a new file", "new", &b"hello"[..]),
        ("an existing one", "new", b"other"),
        ("an empty one", "new", b""),
        ("new directories", "a/b/c/new", b"deep"),
        ("bytes that are no text", "bytes", b"\0\xff\n"),
        ("a large one", "large", &[7; 3 << 20]),
    ] {
        fixture.write(path, content).unwrap();
        assert_eq!(fixture.contents(path), content, "{why}");
        assert_eq!(fixture.litter(Path::new(path).parent().unwrap().to_str().unwrap()), [""; 0], "{why}");
    }
    assert_eq!(fixture.litter(""), [""; 0]);
}

#[test]
fn a_link_is_written_through_and_stays() {
    let fixture = Fixture::new();
    fixture.build("file a/f = old");
    fixture.build("link l -> a/f");
    fixture.build("link abs -> $WS/a/f");
    for name in ["l", "abs"] {
        fixture.write(name, name.as_bytes()).unwrap();
        assert!(fixture.workspace().join(name).is_symlink(), "`{name}`");
        assert_eq!(fixture.contents("a/f"), name.as_bytes(), "`{name}`");
    }
    assert_eq!((fixture.litter(""), fixture.litter("a")), (vec![], vec![]));
}

#[test]
fn an_existing_file_is_not_replaced_when_that_was_not_wanted() {
    let fixture = Fixture::new();
    fixture.build("file f = old");
    // W55: a file that cannot be read exists all the same.
    fixture.build("file secret = old");
    fixture.build("mode 0200 secret");
    for path in ["f", "secret"] {
        let fault = to_write(&fixture, path).write(b"new", Overwrite::No, &fixture.context()).unwrap_err();
        assert_eq!(fact(&fault), "exists", "`{path}`");
    }
    fixture.build("mode 0600 secret");
    assert_eq!((fixture.contents("f"), fixture.contents("secret")), (b"old".to_vec(), b"old".to_vec()));
    to_write(&fixture, "new").write(b"new", Overwrite::No, &fixture.context()).unwrap();
    assert_eq!(fixture.contents("new"), b"new");
}

#[test]
fn a_file_made_after_the_look_is_not_replaced_when_that_was_not_wanted() {
    let fixture = Fixture::new();
    let place = to_write(&fixture, "f");
    fixture.build("file f = quicker");
    let fault = place.write(b"slower", Overwrite::No, &fixture.context()).unwrap_err();
    assert_eq!(fact(&fault), "exists");
    assert_eq!((fixture.contents("f"), fixture.litter("")), (b"quicker".to_vec(), vec![]));
}

#[test]
fn of_many_that_want_to_be_first_one_is() {
    let fixture = Fixture::new();
    let wins: usize = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    to_write(&fixture, "f").write(b"mine", Overwrite::No, &fixture.context()).is_ok()
                })
            })
            .collect();
        tries.into_iter().map(|each| usize::from(each.join().unwrap())).sum()
    });
    assert_eq!(wins, 1);
}

#[test]
fn an_append_adds_and_makes() {
    let fixture = Fixture::new();
    for (why, path, content, want) in [
        ("makes the file", "f", "one", "one"),
        ("adds no newline", "f", "two\n", "onetwo\n"),
        ("adds after one", "f", "three", "onetwo\nthree"),
        ("adds nothing", "f", "", "onetwo\nthree"),
        ("makes directories", "a/b/f", "deep", "deep"),
    ] {
        to_write(&fixture, path).append(content.as_bytes(), &fixture.context()).unwrap();
        assert_eq!(fixture.contents(path), want.as_bytes(), "{why}");
    }
    assert_eq!(fixture.litter(""), [""; 0]);
}

#[test]
fn an_append_goes_to_the_newest_file_of_that_name() {
    let fixture = Fixture::new();
    fixture.build("file f = one");
    let place = to_write(&fixture, "f");
    fixture.write("f", b"two").unwrap();
    place.append(b"+", &fixture.context()).unwrap();
    assert_eq!(fixture.contents("f"), b"two+");
    let early = to_write(&fixture, "g");
    fixture.write("g", b"made meanwhile").unwrap();
    early.append(b"+", &fixture.context()).unwrap();
    assert_eq!(fixture.contents("g"), b"made meanwhile+");
}

#[test]
fn what_was_put_in_place_of_a_judged_file_is_not_read() {
    for (why, swap, want) in [
        ("a link to the outside", "link f -> $OUT/secret", "changed"),
        ("a hard link to the configuration", "hard f = $HOME/config.json", "changed"),
        ("a FIFO", "fifo f", "not_a_file"),
        ("a socket", "socket f", "not_a_file"),
        ("a directory", "dir f", "is_a_directory"),
    ] {
        let fixture = Fixture::new();
        fixture.build("file f = old");
        let place = to_write(&fixture, "f");
        fs::remove_file(fixture.workspace().join("f")).unwrap();
        fixture.build(swap);
        assert_eq!(fact(&place.append(b"+", &fixture.context()).unwrap_err()), want, "append: {why}");
        assert_eq!(fact(&place.edit("o", "0", &fixture.context()).unwrap_err()), want, "edit: {why}");
        // A write reads nothing; it replaces the name, and never follows it.
        let written = place.write(b"new", Overwrite::Yes, &fixture.context());
        assert!(written.is_ok() || fact(&written.unwrap_err()) == "is_a_directory", "write: {why}");
        assert_eq!(fs::read(fixture.outside().join("secret")).unwrap(), b"SECRET", "{why}");
        assert_eq!(fs::read(fixture.home().join("config.json")).unwrap(), b"CONFIG", "{why}");
        assert_eq!(fixture.litter(""), [""; 0], "{why}");
    }
}

#[test]
fn an_edit_replaces_one_text_and_says_why_not() {
    let fixture = Fixture::new();
    fixture.build("file f = one two two");
    let edit = |path: &str, old: &str, new: &str| to_write(&fixture, path).edit(old, new, &fixture.context());
    edit("f", "one", "1").unwrap();
    assert_eq!(fixture.contents("f"), b"1 two two");
    edit("f", "1", "1").unwrap();
    for (why, path, old, want) in [
        ("not there", "f", "three", "no_match"),
        ("more than once", "f", "two", "many_matches"),
        ("no text at all", "f", "", "empty_text"),
        ("no file", "missing", "x", "not_found"),
        ("no file in no directory", "a/b/missing", "x", "not_found"),
    ] {
        assert_eq!(fact(&edit(path, old, "new").unwrap_err()), want, "{why}");
    }
    assert!(matches!(edit("f", "two", "2"), Err(RootError::ManyMatches { count: 2, .. })));
    assert_eq!(fixture.contents("f"), b"1 two two");
    assert!(!fixture.workspace().join("a").exists(), "an edit makes no directories");
}

#[test]
fn a_huge_sparse_file_ends_an_append_and_an_edit_at_once() {
    let fixture = Fixture::new();
    let size = 1 << 40;
    let file = fs::File::create(fixture.workspace().join("big")).unwrap();
    if file.set_len(size).is_err() {
        picoclaw_testing::skip!("this file system has no files of 1 TiB");
        return;
    }
    let began = Instant::now();
    let place = to_write(&fixture, "big");
    for (limit, fault) in [
        (APPEND_LIMIT, place.append(b"x", &fixture.context()).unwrap_err()),
        (EDIT_LIMIT, place.edit("a", "b", &fixture.context()).unwrap_err()),
    ] {
        assert!(
            matches!(fault, RootError::TooLarge { size: found, limit: most, .. } if (found, most) == (size, limit)),
            "{fault}"
        );
    }
    let read = located(&fixture, "big", Access::Read).read(Span { offset: size - 4, length: 100 }).unwrap();
    assert_eq!((read.bytes, read.total), (vec![0; 4], Some(size)));
    assert!(began.elapsed() < Duration::from_secs(2), "took {:?}", began.elapsed());
    assert_eq!(fixture.litter(""), [""; 0]);
}

#[test]
fn a_lock_that_is_not_free_in_time_is_an_error_and_not_a_hang() {
    let fixture = Fixture::new();
    fixture.build("file f = old");
    // Every lock is held.
    let locks = fixture.home().join("state/locks");
    fixture.write("f", b"old").unwrap();
    let held: Vec<_> =
        fs::read_dir(&locks).unwrap().map(|entry| fs::File::open(entry.unwrap().path()).unwrap()).collect();
    assert_eq!(held.len(), 1);
    held[0].lock().unwrap();
    let context = WriteContext::new(&locks, Duration::from_millis(100)).unwrap();
    let began = Instant::now();
    let fault = to_write(&fixture, "f").append(b"new", &context).unwrap_err();
    assert!(matches!(fault, RootError::Busy { .. }), "{fault}");
    assert!(
        (Duration::from_millis(100)..Duration::from_secs(5)).contains(&began.elapsed()),
        "{:?}",
        began.elapsed()
    );
    drop(held);
    to_write(&fixture, "f").append(b"new", &context).unwrap();
    assert_eq!(fixture.contents("f"), b"oldnew");
}

#[test]
fn locks_do_not_pile_up() {
    let fixture = Fixture::new();
    for number in 0..300 {
        fixture.write(&format!("f{number}"), b"x").unwrap();
    }
    let locks = fs::read_dir(fixture.home().join("state/locks")).unwrap().count();
    assert!((2..=64).contains(&locks), "{locks} lock files");
}

#[test]
fn a_place_that_was_located_to_be_read_cannot_be_written_nor_the_other_way_round() {
    let fixture = Fixture::new();
    fixture.build("file f = old");
    let to_read = located(&fixture, "f", Access::Read);
    assert_eq!(fact(&to_read.write(b"x", Overwrite::Yes, &fixture.context()).unwrap_err()), "other_use");
    assert_eq!(fact(&to_write(&fixture, "f").read(ALL).unwrap_err()), "other_use");
}
