//! A second opinion: every simple command that brush's parser finds in a text is in the AST, too.
//!
//! That parser may exhaust memory or abort on a few bytes, so it runs in a child with limits; a
//! text that ends the child is skipped, and the next child continues after it. Commands that brush
//! misses do not matter. Nothing is executed.

use super::grammar::{Dice, Writer};
use super::{Seen, setting};
use brush_parser::{Parser, ParserOptions, word};
use picoclaw_policy::shell::{Dialect, parse};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Names the file of texts for the child, and the number of the first that it is to read.
const TEXTS: &str = "PICOCLAW_SECOND_OPINION";
const FIRST: &str = "PICOCLAW_SECOND_OPINION_FIRST";
/// Limits of the child: memory and seconds.
const MEMORY: u64 = 1 << 30;
const SECONDS: u64 = 60;
/// Children that may end before their texts do.
const MOST_CHILDREN: usize = 40;
/// Substitutions inside of substitutions that are followed.
const MAX_DEPTH: usize = 24;

/// Names in the position of a command's name that are keywords for bash: brush reports them.
const NO_NAMES: &[&str] = &["time", "!", "[[", "]]", "{", "}"];

/// Spellings that brush misreads, as bash itself shows: `$$'x'` is the shell's number and a string, not `$` and `$'x'`.
const MISREAD: &[&str] = &["$$'", "$$\""];

/// Every plain name of a simple command in a text, as brush sees it; `None` when it refuses the text.
fn names(text: &str, depth: usize) -> Option<BTreeSet<String>> {
    let options = ParserOptions::default();
    let program = Parser::new(text.as_bytes(), &options).parse_program().ok()?;
    let mut found = BTreeSet::new();
    collect(&serde_json::to_value(&program).ok()?, &options, depth, &mut found);
    Some(found)
}

fn collect(value: &Value, options: &ParserOptions, depth: usize, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, options, depth, found)),
        Value::Object(fields) => {
            if let (Some(_), Some(body)) = (fields.get("here_end"), fields.get("doc")) {
                let expands = fields.get("requires_expansion").and_then(Value::as_bool).unwrap_or(false);
                let body = body.get("value").and_then(Value::as_str).unwrap_or_default();
                if expands && let Ok(pieces) = word::parse_heredoc(body, options) {
                    pieces.iter().for_each(|piece| {
                        piece_of(&serde_json::to_value(piece).unwrap_or_default(), options, depth, found)
                    });
                }
                return;
            }
            if let Some(name) =
                fields.get("word_or_name").and_then(|name| name.get("value")).and_then(Value::as_str)
                && !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./+-".contains(&byte))
            {
                found.insert(name.to_owned());
            }
            if let (Some(text), Some(_)) = (fields.get("value").and_then(Value::as_str), fields.get("loc")) {
                return words_in(text, options, depth, found);
            }
            fields.values().for_each(|field| collect(field, options, depth, found));
        }
        _ => {}
    }
}

fn words_in(text: &str, options: &ParserOptions, depth: usize, found: &mut BTreeSet<String>) {
    if let Ok(pieces) = word::parse(text, options) {
        for piece in &pieces {
            piece_of(&serde_json::to_value(piece).unwrap_or_default(), options, depth, found);
        }
    }
}

/// Visits a piece of a word; the inside of an expansion is a word of its own.
fn piece_of(value: &Value, options: &ParserOptions, depth: usize, found: &mut BTreeSet<String>) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| piece_of(item, options, depth, found)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), field) {
                    ("CommandSubstitution" | "BackquotedCommandSubstitution", Value::String(code)) => {
                        found.extend(names(code, depth - 1).unwrap_or_default());
                    }
                    ("Text" | "SingleQuotedText" | "AnsiCQuotedText" | "EscapeSequence", _) => {}
                    (_, Value::String(text)) => words_in(text, options, depth - 1, found),
                    (_, field) => piece_of(field, options, depth, found),
                }
            }
        }
        _ => {}
    }
}

#[test]
#[ignore = "the child of the comparison below"]
fn child() {
    let Some(file) = std::env::var_os(TEXTS) else { return };
    for (resource, most) in [(Resource::As, MEMORY), (Resource::Cpu, SECONDS), (Resource::Core, 0)] {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).unwrap();
    }
    let texts = std::fs::read_to_string(file).unwrap();
    let mut out = std::io::stdout();
    for (index, text) in texts.split('\0').enumerate().skip(setting(FIRST, 0) as usize) {
        let line = match names(text, MAX_DEPTH) {
            Some(names) => names.into_iter().collect::<Vec<_>>().join(" "),
            None => "!".to_owned(),
        };
        writeln!(out, "\n@{index} {line}").unwrap();
        out.flush().unwrap();
    }
}

/// What brush sees in each text: its names, `None` where it refuses the text or dies of it.
fn second_opinion(texts: &[String], scratch: &Path) -> Result<Vec<Option<BTreeSet<String>>>, String> {
    std::fs::write(scratch, texts.join("\0")).map_err(|error| error.to_string())?;
    let mut seen = vec![None; texts.len()];
    let mut next = 0;
    for _ in 0..MOST_CHILDREN {
        let output = Command::new(std::env::current_exe().map_err(|error| error.to_string())?)
            .args(["--exact", "second::child", "--ignored", "--nocapture", "--test-threads=1"])
            .env(TEXTS, scratch)
            .env(FIRST, next.to_string())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some((index, names)) = line.strip_prefix('@').and_then(|line| line.split_once(' ')) else {
                continue;
            };
            let index: usize = index.parse().map_err(|_| format!("`{line}`"))?;
            if names != "!" {
                seen[index] = Some(names.split_whitespace().map(str::to_owned).collect());
            }
            next = index + 1;
        }
        if output.status.success() || next >= texts.len() {
            return Ok(seen);
        }
        // The one behind the last that it spoke of has ended it.
        next += 1;
    }
    Err(format!("{MOST_CHILDREN} children died"))
}

/// A generated command name; brush also reports the inside of some `${x}` as one.
fn is_marker(name: &str) -> bool {
    name.strip_prefix('m')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_name(name: &str) -> bool {
    !NO_NAMES.contains(&name)
}

fn nothing_is_missing(what: &str, texts: &[String], counts: fn(&str) -> bool) -> Result<(), String> {
    let directory = std::env::temp_dir();
    let scratch = directory.join(format!("second-opinion-{}-{what}", std::process::id()));
    let seen = second_opinion(texts, &scratch);
    std::fs::remove_file(&scratch).map_err(|error| error.to_string())?;
    let (mut both, mut commands, mut missing) = (0, 0, Vec::new());
    for (text, names) in texts.iter().zip(seen?) {
        let (Some(names), Ok(tree)) = (names, parse(text, Dialect::Bash)) else { continue };
        if MISREAD.iter().any(|spelling| text.contains(spelling)) {
            continue;
        }
        let ours = Seen::of(&tree, text);
        both += 1;
        for name in names.iter().filter(|name| counts(name)) {
            commands += 1;
            if !ours.names.contains_key(name) && !ours.computed.contains(name) {
                missing.push(format!("`{name}` in {text:?}"));
            }
        }
    }
    eprintln!(
        "{what}: {} texts, {both} that both accept, {commands} commands that brush sees in them",
        texts.len()
    );
    assert!(missing.is_empty(), "{} missing:\n{}", missing.len(), missing.join("\n"));
    assert!(both * 3 > texts.len() && commands > both, "too little was compared to prove anything");
    Ok(())
}

#[test]
fn no_command_that_brush_sees_in_a_generated_text_is_missing_from_the_tree() -> Result<(), String> {
    let soaks = std::env::var_os("PICOCLAW_SOAK").is_some_and(|value| value == "1");
    let count = setting("PICOCLAW_SHELL_TEXTS", if soaks { 20_000 } else { 1_000 }) as usize;
    let mut dice = Dice::new(setting("PICOCLAW_SHELL_SEED", 1));
    let mut texts = Vec::new();
    while texts.len() < count {
        let mut marker = 0;
        let text = Writer::new(&mut dice, &mut marker).text();
        if parse(&text, Dialect::Bash).is_ok() && !text.contains('\0') {
            texts.push(text);
        }
    }
    nothing_is_missing("generated", &texts, is_marker)
}

#[test]
fn no_command_that_brush_sees_in_the_table_is_missing_from_the_tree() -> Result<(), String> {
    let table: toml::Table =
        toml::from_str(include_str!("../../../../spec/shell.toml")).map_err(|error| error.to_string())?;
    let families = table["family"].as_array().into_iter().flatten();
    let rows = families.flat_map(|family| family["rows"].as_array().into_iter().flatten());
    let commands = rows.filter_map(|row| row["cmd"].as_str().map(str::to_owned));
    nothing_is_missing("table", &commands.collect::<Vec<_>>(), is_name)
}
