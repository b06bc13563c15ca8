//! `docs/syscalls.md` is the table of the rules. After an intended change,
//! `PICOCLAW_BLESS=1 cargo test -p picoclaw-sandbox --lib documents::` writes it again.

use super::*;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/syscalls.md");
const BEGIN: &str = "<!-- rules: begin -->";
const END: &str = "<!-- rules: end -->";

fn condition(rule: &Rule) -> String {
    let tests: Vec<&str> = rule.when.iter().map(|test| test.text).filter(|text| !text.is_empty()).collect();
    if tests.is_empty() { "always".to_owned() } else { format!("`{}`", tests.join("` and `")) }
}

fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::Refused => "EPERM",
        Answer::Missing => "ENOSYS",
        Answer::NoSuchFamily => "EAFNOSUPPORT",
        Answer::Pretended => "0, without effect",
        Answer::Asked => "made for a thread of the caller's own process, else EPERM",
    }
}

fn applies(applies: Applies) -> &'static str {
    match applies {
        Applies::Everywhere => "every child",
        Applies::ToRoot => "children of root",
        Applies::OwnPids => "native, bubblewrap",
        Applies::HostPids => "Landlock alone, fence",
        Applies::WithoutUnixSockets => "full fence, Landlock alone, unless `isolation.unix_sockets`",
        Applies::WithoutNetwork => "Landlock alone with a closed network",
        Applies::WithoutTruncateRight => "Landlock alone and fence before Linux 6.2",
        Applies::WithoutDebug => "every child without `--debug`",
        Applies::WithDebug => "`picoclaw run --debug`",
    }
}

/// One row for neighbouring rules that differ in the call alone.
fn table() -> String {
    let mut rows: Vec<(String, String)> = Vec::new();
    for rule in rules() {
        let rest = format!(
            "| {} | {} | {} | {} |",
            condition(&rule),
            answer(rule.answer),
            applies(rule.applies),
            rule.reason
        );
        let call = format!("`{}` {}", rule.name, rule.number);
        match rows.iter_mut().find(|(_, other)| *other == rest) {
            Some((calls, _)) if calls.contains(&call) => {}
            Some((calls, _)) => *calls = format!("{calls}, {call}"),
            None => rows.push((call, rest)),
        }
    }
    let mut text =
        "| system call, number on x86_64 | when | answer | for | why |\n|---|---|---|---|---|\n".to_owned();
    for (calls, rest) in rows {
        text.push_str(&format!("| {calls} {rest}\n"));
    }
    text
}

#[test]
fn the_page_lists_every_rule() {
    if !cfg!(target_arch = "x86_64") {
        picoclaw_testing::skip!("the page has the numbers of x86_64");
        return;
    }
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{BEGIN}\n\n{}\n{END}{after}", table());
    if std::env::var_os("PICOCLAW_BLESS").is_some() {
        std::fs::write(PAGE, wanted).unwrap();
        return;
    }
    assert!(page == wanted, "docs/syscalls.md differs from the rules; see the top of this file");
}
