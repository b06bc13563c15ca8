//! The parser against real shells: whatever they execute of an accepted text is in the AST.
//!
//! `PICOCLAW_SHELL_TEXTS=100000` makes the run longer, `PICOCLAW_SHELL_SEED=7` changes the seed,
//! and `PICOCLAW_SHELL_BASH=/path/to/bash` selects another version of bash.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "policy is pure, its test runs real shells in bubblewrap"
)]

#[path = "shell_differential/grammar.rs"]
mod grammar;
#[path = "shell_differential/second.rs"]
mod second;
#[path = "shell_differential/shell.rs"]
mod shell;

use grammar::{Dice, Writer};
use picoclaw_policy::shell::{Command, CommandKind, Dialect, Script, Visitor, Word, parse};
use shell::{MARKERS, Shell};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Texts that one bubblewrap runs.
const BATCH: usize = 100;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// The commands of an AST.
#[derive(Default)]
struct Seen {
    /// The names that are known, each with its arguments where all of them are.
    names: BTreeMap<String, Vec<Option<Vec<String>>>>,
    /// Markers in a computed name.
    computed: BTreeSet<String>,
    /// Some name must be computed.
    computes: bool,
    /// Every marker that the text spells, in or out of a command.
    spelled: BTreeSet<String>,
}

impl Seen {
    fn of(script: &Script, text: &str) -> Self {
        let spelled = spelled(text);
        let mut collector = Collector { text, seen: Self { spelled, ..Self::default() } };
        script.visit(&mut collector);
        collector.seen
    }
}

struct Collector<'a> {
    text: &'a str,
    seen: Seen,
}

impl Visitor for Collector<'_> {
    fn command(&mut self, command: &Command) {
        let CommandKind::Simple(simple) = &command.kind else { return };
        let Some((name, arguments)) = simple.words.split_first() else { return };
        match name.literal() {
            Some(name) => {
                let literal = |word: &Word| word.literal().map(Cow::into_owned);
                let known = arguments.iter().map(literal).collect();
                self.seen.names.entry(name.into_owned()).or_default().push(known);
            }
            None => {
                // The guard refuses what it cannot know; any marker in the command's text counts as
                // seen.
                self.seen.computed.extend(spelled(command.span.of(self.text)));
                self.seen.computes = true;
            }
        }
    }
}

/// Every marker that a text spells, quoted or not.
fn spelled(text: &str) -> BTreeSet<String> {
    let plain = text.replace("\\\n", "").replace(['\'', '"', '\\'], "").replace("$x6d", "m");
    markers(&plain).union(&markers(text)).cloned().collect()
}

/// Every `m` with digits behind it.
fn markers(text: &str) -> BTreeSet<String> {
    let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_digit).count();
    text.match_indices('m')
        .map(|(at, _)| (at, digits(&text[at + 1..])))
        .filter(|(_, count)| *count > 0)
        .map(|(at, count)| text[at..=at + count].to_owned())
        .collect()
}

/// Why an execution contradicts the tree.
fn contradiction(seen: &Seen, name: &str, arguments: &[String]) -> Option<String> {
    let known = seen.names.get(name);
    let fits = |known: &Option<Vec<String>>| known.as_deref().is_none_or(|known| known == arguments);
    if known.is_some_and(|known| known.iter().any(fits)) || seen.computed.contains(name) {
        return None;
    }
    // Spelled nowhere: the result of a computed name, which a guard refuses.
    if seen.computes && !seen.spelled.contains(name) {
        return None;
    }
    Some(match known {
        None => format!("`{name}` was executed and is not in the tree"),
        Some(known) => format!("`{name}` got {arguments:?}, the tree says {known:?}"),
    })
}

/// What came of it.
#[derive(Default)]
struct Tally {
    written: usize,
    compared: usize,
    executed: usize,
    lost: Vec<String>,
    refusals: BTreeMap<String, usize>,
}

/// A comparison of the parser with one shell.
struct Comparison {
    shell: Shell,
    dialect: Dialect,
    tally: Tally,
}

impl Comparison {
    /// Generates texts until enough of them are accepted; refused ones are not compared.
    fn batch(&mut self, dice: &mut Dice) -> Vec<String> {
        let mut texts = Vec::new();
        let mut marker = 0;
        while texts.len() < BATCH && marker < MARKERS - 200 {
            let before = marker;
            let text = Writer::new(dice, &mut marker).text();
            self.tally.written += 1;
            match parse(&text, self.dialect) {
                Ok(_) => texts.push(text),
                Err(refusal) => {
                    *self.tally.refusals.entry(refusal.what).or_default() += 1;
                    marker = before;
                }
            }
        }
        texts
    }

    fn compare(&mut self, texts: &[String]) -> Result<(), String> {
        let (executed, lost) = self.losses(texts)?;
        self.tally.compared += texts.len();
        self.tally.executed += executed;
        for (index, _) in lost.into_iter().take(5) {
            let (text, why) = self.shortest(&texts[index])?;
            self.tally.lost.push(format!("{why}\n--- text: {text:?}\n{text}\n---"));
        }
        Ok(())
    }

    /// How many executions were compared, and which texts contradict their tree.
    fn losses(&self, texts: &[String]) -> Result<(usize, BTreeMap<usize, String>), String> {
        let tree = |text: &String| parse(text, self.dialect).ok().map(|tree| Seen::of(&tree, text));
        let seen: Vec<Option<Seen>> = texts.iter().map(tree).collect();
        let mut compared = 0;
        let mut lost = BTreeMap::new();
        for (index, name, arguments) in self.shell.run(texts)? {
            let Some(Some(seen)) = seen.get(index) else { continue };
            compared += 1;
            if let Some(why) = contradiction(seen, &name, &arguments) {
                lost.insert(index, why);
            }
        }
        Ok((compared, lost))
    }

    /// Cuts pieces out of a text for as long as it still contradicts its tree.
    fn shortest(&self, text: &str) -> Result<(String, String), String> {
        let mut best: Vec<char> = text.chars().collect();
        let mut why = String::new();
        let mut size = best.len().div_ceil(2);
        loop {
            let cuts: Vec<String> = (0..best.len())
                .step_by(size)
                .map(|from| best[..from].iter().chain(best.iter().skip(from + size)).collect())
                .collect();
            match self.losses(&cuts)?.1.pop_first() {
                Some((index, found)) => (best, why) = (cuts[index].chars().collect(), found),
                None if size == 1 => return Ok((best.into_iter().collect(), why)),
                None => size = size.div_ceil(2),
            }
        }
    }
}

fn nothing_is_lost(dialect: Dialect, count: u64) -> Result<(), String> {
    let Some(shell) = Shell::of(dialect) else { return Ok(()) };
    let count = setting("PICOCLAW_SHELL_TEXTS", count) as usize;
    let mut dice = Dice::new(setting("PICOCLAW_SHELL_SEED", 1));
    let mut comparison = Comparison { shell, dialect, tally: Tally::default() };
    while comparison.tally.compared < count {
        let texts = comparison.batch(&mut dice);
        comparison.compare(&texts)?;
    }
    let Tally { written, compared, executed, lost, refusals } = comparison.tally;
    let mut refusals: Vec<_> = refusals.iter().map(|(what, count)| (count, what)).collect();
    refusals.sort();
    eprintln!("{dialect:?}: {written} texts, {compared} accepted, {executed} executions compared");
    eprintln!("refused most: {:?}", refusals.iter().rev().take(25).collect::<Vec<_>>());
    assert!(lost.is_empty(), "{} lost:\n{}", lost.len(), lost.join("\n"));
    assert!(executed > compared, "too few markers were executed to prove anything");
    Ok(())
}

#[test]
fn no_command_that_bash_executes_is_missing_from_the_tree() -> Result<(), String> {
    nothing_is_lost(Dialect::Bash, 400)
}

#[test]
fn no_command_that_dash_executes_is_missing_from_the_tree() -> Result<(), String> {
    nothing_is_lost(Dialect::Posix, 200)
}
