//! The documents are held to what the program does.
//!
//! A `console` block is a session: `$ ` begins a command, `> ` continues it, and below stands what it prints, both streams
//! together. `…` stands for any text on a line, and alone on a line for any number of lines; `/home/you` is the home of the
//! session. A command below which nothing stands must succeed. A block whose fence names a file (`json ~/x.json`) is
//! written there; a `console needs cage` block (or `needs landlock`) is left out, loudly, where the host gives none, and
//! `needs cage npm` also where that program is missing. Any
//! other `json` block is a configuration that must load. An `sh` block holds `make` targets. A document is one session:
//! what one block does, the next one finds.

use crate::test_instance::TestInstance;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

macro_rules! documents {
    ($($path:literal),* $(,)?) => { &[$(($path, include_str!(concat!("../../../../", $path)))),*] };
}

/// Compiled in, so that they can be held to their word where the sources cannot be read.
const DOCUMENTS: &[(&str, &str)] = documents![
    "README.md",
    "ARCHITECTURE.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/boundary.md",
    "docs/compat.md",
    "docs/guide/01-first-steps.md",
    "docs/guide/02-configuration.md",
    "docs/guide/03-commands.md",
    "docs/guide/04-ledger.md",
    "docs/guide/05-run.md",
    "docs/guide/06-isolation.md",
    "docs/guide/07-agent.md",
    "docs/guide/08-mcp-serve.md",
    "docs/guide/09-mcp-wrap.md",
    "docs/guide/10-web.md",
    "docs/guide/11-subagents.md",
    "docs/guide/12-mcp-client.md",
    "docs/guide/13-schedule.md",
    "docs/guide/14-hooks.md",
    "docs/guide/15-gateway.md",
    "docs/guide/16-bounds.md",
    "docs/guide/17-recipes.md",
    "docs/guide/18-windows.md",
    "docs/guide/19-troubleshooting.md",
    "deploy/README.md",
    "docs/kernel-features.md",
];

const MAKEFILE: &str = include_str!("../../../../Makefile");

/// How many promises the source documents make.
const PROMISES: usize = 163;

#[test]
fn every_session_goes_as_it_is_printed() {
    let mut faults = String::new();
    let mut commands = 0;
    for (name, text) in DOCUMENTS {
        let session = Session::new();
        for block in blocks(text) {
            match block.kind {
                "console" => {
                    if let Some(what) = session.lacks(block.file) {
                        picoclaw_testing::skip!("{name}:{}: this host has no {what}", block.line);
                        continue;
                    }
                    for step in steps(&block) {
                        commands += 1;
                        if let Err(fault) = session.step(&step) {
                            let _ = writeln!(faults, "{name}:{}: $ {}\n{fault}", step.line, step.command);
                        }
                    }
                }
                _ => session.place(&block),
            }
        }
    }
    assert!(commands >= 50, "only {commands} commands were found; is the convention still followed?");
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn every_configuration_loads() {
    for (name, text) in DOCUMENTS {
        for block in blocks(text).into_iter().filter(|block| block.kind == "json" && block.file.is_none()) {
            let instance = TestInstance::with_config(&block.text);
            let ran = instance.run(&["config", "check"]);
            assert_eq!(ran.code, 0, "{name}:{}: {}", block.line, ran.stderr);
        }
    }
}

#[test]
fn every_target_and_command_that_is_named_exists() {
    let instance = TestInstance::new();
    let offers = |words: &[&str]| instance.run(&[words, &["--help"]].concat()).code == 0;
    for (name, text) in DOCUMENTS {
        for block in blocks(text).iter().filter(|block| block.kind == "sh") {
            for line in block.text.lines().filter(|line| !line.trim().is_empty()) {
                assert!(line.starts_with("make "), "{name}:{}: `{line}` is run by nobody", block.line);
            }
        }
        for span in spans(text) {
            let mut words = span.split_whitespace();
            match (words.next(), words.next()) {
                (Some("make"), Some(target)) => {
                    let known = MAKEFILE.lines().any(|line| line.starts_with(&format!("{target}:")));
                    assert!(known, "{name}: there is no `make {target}`");
                }
                (Some("picoclaw"), Some(command)) => {
                    assert!(offers(&[command]), "{name}: there is no `picoclaw {command}`");
                    if ["config", "audit", "check"].contains(&command) {
                        for part in words
                            .next()
                            .iter()
                            .flat_map(|part| part.split(['|', '\\']))
                            .filter(|part| !part.is_empty())
                        {
                            assert!(
                                offers(&[command, part]),
                                "{name}: there is no `picoclaw {command} {part}`"
                            );
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

#[test]
fn every_promise_is_answered_once_and_by_tests_that_exist() {
    let Some(instance) = sources() else { return };
    let functions = functions(&instance.join("crates"));
    let (_, text) = DOCUMENTS.iter().find(|(name, _)| *name == "docs/compat.md").unwrap();
    let mut promises = Vec::new();
    let mut weaknesses = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").map(str::trim).collect();
        let number = cells[0].trim_matches(['|', ' ']);
        let answer = match (number.parse::<usize>(), number.strip_prefix('W')) {
            (Ok(number), _) => {
                assert_eq!(cells.len(), 5, "a row has five cells: {line}");
                promises.push(number);
                cells[2]
            }
            (_, Some(_)) => {
                assert_eq!(cells.len(), 4, "a row has four cells: {line}");
                assert!(weaknesses.insert(number), "{number} stands twice");
                cells[2]
            }
            _ => continue,
        };
        let shown = cells[cells.len() - 1];
        assert!(
            ["same", "stricter", "beyond"].contains(&answer) || number.starts_with('W'),
            "{number}: `{answer}` is no answer"
        );
        let named: Vec<&str> = spans(shown).collect();
        assert!(!named.is_empty(), "{number}: answered, and no test shows it");
        for span in named {
            assert!(exists(&instance, &functions, span), "{number}: there is no `{span}`");
        }
    }
    assert_eq!(promises, (1..=PROMISES).collect::<Vec<_>>());
    let first: BTreeSet<String> = (1..=77).map(|number| format!("W{number:02}")).collect();
    assert!(
        first.iter().all(|name| weaknesses.contains(name.as_str())),
        "W01 to W77 are answered one by one"
    );
}

#[test]
fn every_document_is_listed_and_every_link_leads_somewhere() {
    let Some(instance) = sources() else { return };
    let listed: BTreeSet<&str> = DOCUMENTS.iter().map(|(name, _)| *name).collect();
    for entry in fs::read_dir(instance.join("docs/guide")).unwrap() {
        let name = format!("docs/guide/{}", entry.unwrap().file_name().to_str().unwrap());
        assert!(listed.contains(name.as_str()), "`{name}` is not held to anything: list it");
    }
    for entry in fs::read_dir(instance.join("docs/adr")).unwrap() {
        let path = entry.unwrap().path();
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 40, "{} has {lines} lines; a decision has 40 at most", path.display());
    }
    for (name, text) in DOCUMENTS {
        let here = instance.join(name).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            if !file.is_empty() && !link.contains("://") {
                assert!(here.join(file).exists(), "{name}: `{link}` leads nowhere");
            }
        }
    }
}

/// A fenced block.
struct Block<'a> {
    kind: &'a str,
    file: Option<&'a str>,
    line: usize,
    text: String,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => found.push(block),
            (Some(fence), None) => {
                let (kind, file) =
                    fence.split_once(' ').map_or((fence, None), |(kind, file)| (kind, Some(file)));
                open = Some(Block { kind, file, line: number, text: String::new() });
            }
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block does not end");
    found
}

/// Every piece of code in a text outside blocks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines()
        .filter(move |line| {
            let fence = line.starts_with("```");
            fenced ^= fence;
            !fence && !fenced
        })
        .flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// A command and what it should print.
struct Step {
    line: usize,
    command: String,
    printed: Vec<String>,
}

fn steps(block: &Block<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (number, line) in (block.line + 1..).zip(block.text.lines()) {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { line: number, command: command.to_owned(), printed: Vec::new() });
            continue;
        }
        let step = steps
            .last_mut()
            .unwrap_or_else(|| panic!("a session begins with `$ `, and line {number} does not"));
        match line.strip_prefix("> ").filter(|_| step.printed.is_empty()) {
            Some(more) => {
                step.command.push('\n');
                step.command.push_str(more);
            }
            None => step.printed.push(line.to_owned()),
        }
    }
    steps
}

/// A home of its own, with the program on its path.
struct Session {
    instance: TestInstance,
}

impl Session {
    fn new() -> Self {
        let instance = TestInstance::new();
        fs::create_dir_all(instance.dir().join("bin")).unwrap();
        let binary = PathBuf::from(instance.command(&[]).get_program());
        symlink(binary, instance.dir().join("bin/picoclaw")).unwrap();
        fs::create_dir(instance.dir().join("you")).unwrap();
        Self { instance }
    }

    fn home(&self) -> PathBuf {
        self.instance.dir().join("you")
    }

    /// What a block needs and this host does not give.
    fn lacks<'b>(&self, needs: Option<&'b str>) -> Option<&'b str> {
        let all = needs?.strip_prefix("needs ").unwrap();
        let (what, programs) = all.split_once(' ').unwrap_or((all, ""));
        for program in programs.split_whitespace() {
            if self.bash(&format!("{program} --version")).0 != 0 {
                return Some(program);
            }
        }
        // In an instance of its own, so that a document's ledger holds what the document says and nothing else.
        let probe = match what {
            "landlock" => {
                "export PICOCLAW_HOME=~/.probe PICOCLAW_ISOLATION_ENABLED=false
                 picoclaw tool exec '{\"command\": \"true\"}' && picoclaw audit tail -n 1 --json | grep -q 'filesystem partly held'"
            }
            "cage" => {
                "export PICOCLAW_HOME=~/.probe PICOCLAW_ISOLATION_ENABLED=true PICOCLAW_ISOLATION_NETWORK=none
                 picoclaw tool exec '{\"command\": \"true\"}'"
            }
            other => panic!("nobody knows how to look for `{other}`"),
        };
        (self.bash(probe).0 != 0).then_some(what)
    }

    /// Writes a block into the file that its fence names.
    fn place(&self, block: &Block<'_>) {
        let Some(file) = block.file else { return };
        let path = self.home().join(file.strip_prefix("~/").unwrap());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap()).unwrap();
        // Where a document says `/home/you`, it means the reader's home.
        fs::write(&path, block.text.replace("/home/you", self.home().to_str().unwrap())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn step(&self, step: &Step) -> Result<(), String> {
        let program = step.command.split_whitespace().next().unwrap_or("");
        if program == "python3" && self.bash("command -v python3").0 != 0 {
            picoclaw_testing::skip!("python3 is not installed: {}", step.command);
            return Ok(());
        }
        let (code, printed) = self.bash(&step.command);
        if step.printed.is_empty() {
            return if code == 0 { Ok(()) } else { Err(format!("exits with {code}:\n{printed}")) };
        }
        let got: Vec<&str> = printed.lines().collect();
        let want: Vec<&str> = step.printed.iter().map(String::as_str).collect();
        if fits(&want, &got) {
            Ok(())
        } else {
            Err(format!("prints\n{printed}\ninstead of\n{}\n", want.join("\n")))
        }
    }

    /// Runs a line as a person would, both streams together.
    fn bash(&self, line: &str) -> (i32, String) {
        let inherited = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-c", &format!("exec 2>&1\n{line}")])
            .env_clear()
            .env("PATH", format!("{}:{inherited}", self.instance.dir().join("bin").display()))
            .env("HOME", self.home())
            .env("LANG", "C.UTF-8")
            .current_dir(self.home())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout).replace(self.home().to_str().unwrap(), "/home/you");
        (output.status.code().unwrap_or(-1), text)
    }
}

fn fits(want: &[&str], got: &[&str]) -> bool {
    match (want.split_first(), got.split_first()) {
        (None, None) => true,
        (Some((&"…", rest)), _) => (0..=got.len()).any(|skip| fits(rest, &got[skip..])),
        (Some((first, rest)), Some((line, more))) => line_fits(first, line) && fits(rest, more),
        _ => false,
    }
}

fn line_fits(want: &str, got: &str) -> bool {
    let (want, got) = (want.trim_end(), got.trim_end());
    let Some((first, others)) = want.split_once('…') else { return want == got };
    let (middle, last) = others.rsplit_once('…').unwrap_or(("", others));
    let inner = got.strip_prefix(first).and_then(|rest| rest.strip_suffix(last));
    let found = |rest: &mut &str, part: &str| {
        let at = rest.find(part);
        *rest = at.map_or("", |at| &rest[at + part.len()..]);
        at.is_some()
    };
    inner.is_some_and(|mut rest| middle.split('…').all(|part| found(&mut rest, part)))
}

/// Whether a test function, a file, or a text in a file is there.
fn exists(instance: &Path, functions: &BTreeMap<String, PathBuf>, span: &str) -> bool {
    if functions.contains_key(span) {
        return true;
    }
    let (file, text) = span.split_once(": ").unwrap_or((span, ""));
    file.contains('.') && fs::read_to_string(instance.join(file)).is_ok_and(|whole| whole.contains(text))
}

/// Every test function below `dir`.
fn functions(dir: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for test in text.split("#[test]").skip(1) {
                let name = test.split("fn ").nth(1).and_then(|rest| rest.split('(').next());
                found.extend(name.map(|name| (name.to_owned(), path.clone())));
            }
        }
    }
    assert!(found.len() > 100, "only {} tests were found", found.len());
    found
}

/// The checkout, where it can be read.
fn sources() -> Option<PathBuf> {
    let instance = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok();
    let instance = instance.filter(|instance| instance.join("README.md").exists());
    if instance.is_none() {
        picoclaw_testing::skip!(
            "the sources cannot be read here, so what the documents name was not looked up"
        );
    }
    instance
}
