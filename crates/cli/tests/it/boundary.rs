//! One boundary for every path: `docs/boundary.md` says what was seen, and this sees it.
//!
//! `PICOCLAW_BLESS=1 cargo test -p picoclaw-cli --test it boundary::` writes the document's tables anew; read the difference before keeping it.

mod callers;
mod children;
mod row;
mod site;

use crate::test_instance::host;
use callers::CALLERS;
use row::{LAYERS, Row};
use site::Isolation;
use std::path::Path;
use std::sync::Mutex;

const DOCUMENT: &str = include_str!("../../../../docs/boundary.md");

/// Where the tables begin and end in the document.
const MARKS: [&str; 2] = ["<!-- observed: begin -->\n", "<!-- observed: end -->\n"];

/// Paths that are looked at side by side.
const AT_ONCE: usize = 6;

/// A path, looked at when its turn comes.
type Look = Box<dyn FnOnce() -> Vec<Row> + Send>;

#[test]
fn every_path_meets_the_layers_that_the_document_names() {
    if let Some(why) = lacking() {
        picoclaw_testing::skip!("the boundary table: {why}");
        return;
    }
    let control = children::control();
    assert_eq!(
        control.open().len(),
        control.seen(),
        "what a probe tries works without confinement: {:?}",
        control.open()
    );
    let rows = looked_at([Isolation::On, Isolation::Off].into_iter().flat_map(looks).collect());
    let (on, off) = rows.split_at(rows.len() / 2);
    for row in on {
        assert!(row.seen() >= 11, "{}: {} layers were looked at", row.name, row.seen());
    }
    let mut table = String::new();
    for (title, rows) in [("With `isolation.enabled: true`", on), ("With `isolation.enabled: false`", off)] {
        let head: Vec<&str> = LAYERS.iter().map(|(_, shown)| *shown).collect();
        let lines: Vec<String> = rows.iter().chain([&control]).map(Row::line).collect();
        let rule = "|---".repeat(LAYERS.len() + 1);
        table.push_str(&format!(
            "{title}:\n\n| path | {} |\n{rule}|\n{}\n\n",
            head.join(" | "),
            lines.join("\n")
        ));
    }
    let (before, rest) = DOCUMENT.split_once(MARKS[0]).unwrap();
    let (committed, after) = rest.split_once(MARKS[1]).unwrap();
    let (seen, said) = (table.trim().lines(), committed.trim().lines().chain(std::iter::repeat("")));
    let lines: Vec<(&str, &str)> = seen.zip(said).collect();
    if std::env::var_os("PICOCLAW_BLESS").is_some() {
        let kept = lines.iter().map(|(seen, said)| kept(seen, said));
        let tables = format!("\n{}\n\n", kept.collect::<Vec<_>>().join("\n"));
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/boundary.md");
        std::fs::write(file, [before, MARKS[0], &tables, MARKS[1], after].concat()).unwrap();
        return;
    }
    let misfits = lines.iter().filter(|(seen, said)| for_this_user(said) != *seen);
    let misfits: Vec<String> = misfits.map(|(seen, said)| format!("seen: {seen}\nsaid: {said}")).collect();
    assert!(misfits.is_empty(), "this is not what `docs/boundary.md` says:\n{}", misfits.join("\n"));
    assert_eq!(lines.len(), committed.trim().lines().count(), "`docs/boundary.md` says more than was seen");
}

/// What was seen, in the document's words where those say the same.
fn kept(seen: &str, said: &str) -> String {
    let (cells, before): (Vec<&str>, Vec<&str>) = (seen.split(" | ").collect(), said.split(" | ").collect());
    let keep = |(at, seen): (usize, &&str)| match before.get(at) {
        Some(said) if for_this_user(said) == *seen => (*said).to_owned(),
        _ => (*seen).to_owned(),
    };
    cells.iter().enumerate().map(keep).collect::<Vec<_>>().join(" | ")
}

/// A line as it must be for the user who runs this: a few cells say that root gets further.
fn for_this_user(line: &str) -> String {
    line.replace(
        "held, **open** to root",
        if rustix::process::getuid().is_root() { "**open**" } else { "held" },
    )
}

/// Every path under this setting, in the document's order.
fn looks(isolation: Isolation) -> Vec<Look> {
    let caller = |(name, entry_point): &'static (
        &'static str,
        &'static dyn crate::hostile::entry_point::EntryPoint,
    )|
     -> Look { Box::new(move || vec![callers::observed(name, *entry_point, isolation)]) };
    let children: [Look; 3] = [
        Box::new(move || children::beside_a_turn(isolation)),
        Box::new(move || vec![children::run(isolation)]),
        Box::new(move || vec![children::wrap(isolation)]),
    ];
    CALLERS.iter().map(caller).chain(children).collect()
}

/// Looks at each, several at once; what was seen, in order.
fn looked_at(looks: Vec<Look>) -> Vec<Row> {
    let count = looks.len();
    let queue = Mutex::new(looks.into_iter().enumerate().collect::<std::collections::VecDeque<_>>());
    let seen: Mutex<Vec<Option<Vec<Row>>>> = Mutex::new((0..count).map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some((at, look)) = queue.lock().unwrap().pop_front() else { return };
                    let rows = look();
                    seen.lock().unwrap()[at] = Some(rows);
                }
            });
        }
    });
    seen.into_inner().unwrap().into_iter().flat_map(Option::unwrap).collect()
}

/// What this host does not have, and the table needs.
fn lacking() -> Option<String> {
    if !Path::new("/usr/bin/python3").exists() {
        return Some("there is no python3".to_owned());
    }
    let native = &host()["native"];
    (native != "yes").then(|| format!("this host gives no native cage: {native}"))
}
