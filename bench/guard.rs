//! The guard: typical commands, and loading its rules.
//!
//! Processor time throughout: a judgement waits for nothing but its processor.
//!
//! Invariant: what is timed is a whole judgement, from the text to the findings.

#[path = "../crates/policy/tests/shell_cost/inputs.rs"]
mod inputs;

use super::Stop;
use super::instance::{BenchInstance, custom};
use super::measure::{Clock, Figures, take_turns, time};
use super::say;
use super::table::Table;
use picoclaw_policy::config::{Config, Guard as Mode};
use picoclaw_policy::shell::Dialect;
use picoclaw_policy::shell::guard::{Confinement, FileSystem, Guard, GuardContext, NoFileSystem};
use picoclaw_policy::{CleanPath, PathRules, Reach, Zones};
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

/// The first argument that makes this program load the rules once.
pub(crate) const SELF: &str = "--load-rules";

/// What agents and people type all day.
const COMMANDS: &[&str] = &[
    "ls -la",
    "cat README.md",
    "grep -rn \"TODO\" src",
    "git status --short",
    "git diff HEAD~1 -- src/main.rs",
    "sed -n '1,80p' src/lib.rs",
    "cargo test --workspace -- --nocapture",
    "python3 -m pytest -q tests/test_api.py",
    "find . -name '*.rs' -type f | wc -l",
    "npm run build 2>&1 | tail -n 20",
    "mkdir -p build && cd build && cmake .. && make -j4",
    "for f in *.txt; do wc -l \"$f\"; done",
    "tar -czf out.tar.gz src docs && ls -lh out.tar.gz",
];

/// What an operator might add.
const DENY: &[&str] = &[
    "internal\\.example\\.com",
    "--no-verify\\b",
    "\\bterraform\\s+destroy\\b",
    "\\bkubectl\\s+delete\\b",
    "\\bdrop\\s+table\\b",
];
const ALLOW: &[&str] = &["^git push origin main$", "^docker run --rm alpine\\b", "^npm install -g pnpm$"];

const ROUNDS: usize = 300;
/// The guard on its own ground: no file system, so that only the judging is timed.
pub(crate) struct Ground {
    zones: Zones,
    rules: PathRules,
    cwd: CleanPath,
    home: CleanPath,
}

impl Ground {
    pub(crate) fn of(instance: &BenchInstance) -> Result<Self, Stop> {
        let path = |path: &Path| CleanPath::absolute(path).ok_or("not an absolute path");
        let home = path(Path::new("/home/somebody"))?;
        Ok(Self {
            zones: instance.zones.clone(),
            rules: PathRules::default(),
            cwd: path(&instance.workspace)?,
            home,
        })
    }

    pub(crate) fn context<'a>(&'a self, file_system: &'a dyn FileSystem) -> GuardContext<'a> {
        GuardContext {
            zones: &self.zones,
            read_rules: &self.rules,
            write_rules: &self.rules,
            reach: Reach::Workspace,
            confinement: Confinement::Nothing,
            cwd: &self.cwd,
            home: Some(&self.home),
            own: &[],
            script_is_input: false,
            dialect: Dialect::Bash,
            file_system,
        }
    }
}

/// A guard with the operator's patterns.
pub(crate) fn guard(mode: Mode) -> Result<Guard, Stop> {
    let mut exec = Config::default().tools.exec;
    exec.guard = mode;
    exec.custom_deny_patterns = custom(DENY);
    exec.custom_allow_patterns = custom(ALLOW);
    Ok(Guard::compile(&exec)?)
}

/// Judges typical commands: by the text alone in both modes, and as the warden does, with the file system asked.
pub(crate) fn typical(instance: &BenchInstance, table: &mut Table) -> Result<(), Stop> {
    let (strict, smart) = (guard(Mode::Strict)?, guard(Mode::Smart)?);
    let ground = Ground::of(instance)?;
    let context = ground.context(&NoFileSystem);
    let cwd = Path::new("");
    let mut list =
        format!("{:52} {:>10} {:>10} {:>10}\n", "a typical command, judged", "strict", "smart", "on host");
    let mut medians = [Vec::new(), Vec::new(), Vec::new()];
    for command in COMMANDS {
        let figures = take_turns(
            Clock::Processor,
            ROUNDS,
            &mut [
                &mut || {
                    let _ = black_box(strict.judge(black_box(command), &context));
                    Ok(())
                },
                &mut || {
                    let _ = black_box(smart.judge(black_box(command), &context));
                    Ok(())
                },
                &mut || {
                    let _ = black_box(instance.warden.inspect_input(
                        black_box(command),
                        cwd,
                        &instance.subject,
                    )?);
                    Ok(())
                },
            ],
        )?;
        write!(list, "{command:52}")?;
        for (all, figures) in medians.iter_mut().zip(&figures) {
            write!(list, " {:>10}", time(figures.median()))?;
            all.push(figures.median());
        }
        let verdict = if strict.judge(command, &context).is_allowed() { "" } else { "  (blocked)" };
        writeln!(list, "{verdict}")?;
    }
    say(&list);
    let names = ["strict, text alone", "smart, text alone", "strict, file system asked"];
    for (name, medians) in names.iter().zip(medians) {
        let slowest = medians.iter().copied().fold(0.0, f64::max);
        let all = Figures::new(medians);
        let what = format!("judging a typical command, {name}; the middle of {}", COMMANDS.len());
        table.told(&what, &all.time());
        table.told("  the slowest of them", &time(slowest));
    }
    Ok(())
}

/// The slowest of many random and of many hostile inputs.
pub(crate) fn worst(instance: &BenchInstance, table: &mut Table) -> Result<(), Stop> {
    let guard = guard(Mode::Strict)?;
    let ground = Ground::of(instance)?;
    let context = ground.context(&NoFileSystem);
    let clock = Clock::Processor;
    let slowest = |inputs: &mut dyn Iterator<Item = String>| {
        let cost = |text: String| {
            let start = clock.now();
            let _ = black_box(guard.judge(black_box(&text), &context));
            clock.now() - start
        };
        inputs.map(cost).fold(0.0, f64::max)
    };
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let random = slowest(&mut (0..10_000).map(|_| inputs::random_input(&mut seed)));
    table.told("judging the slowest of 10,000 random inputs", &time(random));
    let hostile = slowest(&mut (0..500).map(inputs::hostile_input));
    table.told("judging the slowest of 500 hostile inputs", &time(hostile));
    Ok(())
}

/// Loads the rules in fresh processes: the operator's patterns, and what the first judgement costs
/// over the next.
#[expect(clippy::disallowed_types, reason = "a measurement is no tool: nothing here comes from a model")]
pub(crate) fn loading(table: &mut Table) -> Result<(), Stop> {
    let mut figures = Vec::new();
    for _ in 0..60 {
        let ran = std::process::Command::new(std::env::current_exe()?).arg(SELF).output()?;
        figures.push(String::from_utf8(ran.stdout)?.trim().parse()?);
    }
    let what = format!(
        "loading the guard's rules in a fresh process, {} patterns of the operator",
        DENY.len() + ALLOW.len()
    );
    table.told(&what, &Figures::new(figures).time());
    Ok(())
}

/// Loads the rules and says how long that took.
pub(crate) fn load_once() -> Result<(), Stop> {
    let clean = |path: &str| CleanPath::absolute(Path::new(path)).ok_or("not an absolute path");
    let workspace = clean("/home/somebody/.picoclaw/workspace")?;
    let ground = Ground {
        zones: Zones { workspace: vec![workspace.clone()], protected: Default::default() },
        rules: PathRules::default(),
        cwd: workspace,
        home: clean("/home/somebody")?,
    };
    let context = ground.context(&NoFileSystem);
    let clock = Clock::Processor;
    let start = clock.now();
    let guard = guard(Mode::Strict)?;
    let compiled = clock.now() - start;
    let judge = || {
        let start = clock.now();
        let _ = black_box(guard.judge(black_box("ls -la"), &context));
        clock.now() - start
    };
    let (first, next) = (judge(), judge());
    say(&(compiled + first - next).to_string());
    Ok(())
}
