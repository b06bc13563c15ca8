//! The table *task → flag* of the guide, made from `spec/everyday.toml`.
//!
//! `PICOCLAW_BLESS=1 cargo test -p picoclaw-cli --test it everyday::flags` writes it anew.

use super::tasks;
use std::collections::BTreeMap;
use std::path::Path;

const DOCUMENT: &str = include_str!("../../../../../docs/guide/17-recipes.md");

/// Where the table begins and ends in the document.
const MARKS: [&str; 2] = ["<!-- tasks: begin -->\n", "<!-- tasks: end -->\n"];

#[test]
fn the_guide_names_the_flag_of_every_task() {
    let mut by_flag: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for task in tasks() {
        by_flag.entry(task.flag.unwrap_or_default()).or_default().push(task.name);
    }
    let mut table = "\n| flag | tasks |\n|---|---|\n".to_owned();
    for (flag, names) in by_flag {
        let flag = if flag.is_empty() { "none".to_owned() } else { format!("`{flag}`") };
        table.push_str(&format!("| {flag} | {} |\n", names.join("; ").replace('|', "\\|")));
    }
    table.push('\n');
    let (before, rest) = DOCUMENT.split_once(MARKS[0]).unwrap();
    let (committed, after) = rest.split_once(MARKS[1]).unwrap();
    if std::env::var_os("PICOCLAW_BLESS").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/17-recipes.md");
        std::fs::write(file, [before, MARKS[0], &table, MARKS[1], after].concat()).unwrap();
        return;
    }
    assert_eq!(committed, table, "write it anew with PICOCLAW_BLESS=1");
}
