//! The corpus of `spec/guard-corpus`: everyday and hostile command lines by families, and how often
//! the guard is wrong about each.
//!
//! A line of a hostile family is refused in both modes; a line of a benign family is allowed in
//! `smart` where the kernel holds paths. The rates are printed, and must not get worse.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene up has failed")]

use picoclaw_policy::config::{ExecConfig, Guard as Mode, OnBlock};
use picoclaw_policy::shell::Dialect;
use picoclaw_policy::shell::guard::{
    Confinement, FileSystem, Guard, GuardContext, Judgement, NoFileSystem, Resolved,
};
use picoclaw_policy::{CleanPath, FileKind, PathRules, Protected, Reach, Zones};
use std::path::Path;

const WORKSPACE: &str = "/home/user/.picoclaw/workspace";

/// The workspace has the directories `src` and `docs`.
struct Table;

impl FileSystem for Table {
    fn resolve(&self, path: &CleanPath) -> Resolved {
        NoFileSystem.resolve(path)
    }

    fn kind(&self, path: &CleanPath) -> FileKind {
        let dirs = ["", "/src", "/docs"].map(|dir| clean(&format!("{WORKSPACE}{dir}")));
        if dirs.contains(path) { FileKind::Directory } else { FileKind::Missing }
    }

    fn entries(&self, _dir: &CleanPath) -> Option<Vec<String>> {
        None
    }

    fn on_path(&self, path: &CleanPath) -> bool {
        NoFileSystem.on_path(path)
    }
}

fn clean(path: &str) -> CleanPath {
    CleanPath::absolute(Path::new(path)).unwrap()
}

fn guard(mode: Mode) -> Guard {
    Guard::compile(&ExecConfig {
        enable_deny_patterns: true,
        custom_deny_patterns: Vec::new(),
        custom_allow_patterns: Vec::new(),
        timeout_seconds: 60,
        guard: mode,
        fence: picoclaw_policy::config::FenceMode::Full,
        on_block: OnBlock::Deny,
    })
    .unwrap()
}

fn judged(guard: &Guard, confinement: Confinement, text: &str) -> Judgement {
    let zones = Zones {
        workspace: vec![clean(WORKSPACE)],
        protected: Protected { trees: vec![clean("/home/user/.picoclaw")], readable: Vec::new() },
    };
    let rules = PathRules::default();
    // Where the kernel holds paths, the agent has a home of its own.
    let own = clean("/home/user/.picoclaw/runtime-user-env/agents/main");
    let home = if confinement.holds_paths() { clean(&format!("{own}/home")) } else { clean("/home/user") };
    let cwd = clean(WORKSPACE);
    let context = GuardContext {
        zones: &zones,
        read_rules: &rules,
        write_rules: &rules,
        reach: Reach::Workspace,
        confinement,
        cwd: &cwd,
        home: Some(&home),
        own: &[own],
        script_is_input: false,
        dialect: Dialect::Bash,
        file_system: &Table,
    };
    guard.judge(text, &context)
}

/// The lines of one file of the corpus, with a place outside the workspace for `OUTSIDE`.
struct Family {
    name: String,
    hostile: bool,
    lines: Vec<String>,
}

const CORPUS: &[(&str, &str)] = &[
    ("benign-files", include_str!("../../../spec/guard-corpus/benign-files.txt")),
    ("benign-git", include_str!("../../../spec/guard-corpus/benign-git.txt")),
    ("benign-projects", include_str!("../../../spec/guard-corpus/benign-projects.txt")),
    ("benign-scripts", include_str!("../../../spec/guard-corpus/benign-scripts.txt")),
    ("benign-system", include_str!("../../../spec/guard-corpus/benign-system.txt")),
    ("hostile-environment", include_str!("../../../spec/guard-corpus/hostile-environment.txt")),
    (
        "hostile-names-from-elsewhere",
        include_str!("../../../spec/guard-corpus/hostile-names-from-elsewhere.txt"),
    ),
    ("hostile-openers", include_str!("../../../spec/guard-corpus/hostile-openers.txt")),
    ("hostile-operands", include_str!("../../../spec/guard-corpus/hostile-operands.txt")),
    ("hostile-seeds", include_str!("../../../spec/guard-corpus/hostile-seeds.txt")),
    ("hostile-spellings", include_str!("../../../spec/guard-corpus/hostile-spellings.txt")),
    ("hostile-state", include_str!("../../../spec/guard-corpus/hostile-state.txt")),
    ("hostile-unknown-parts", include_str!("../../../spec/guard-corpus/hostile-unknown-parts.txt")),
];

fn corpus() -> Vec<Family> {
    let family = |(name, text): &(&str, &str)| Family {
        name: (*name).to_owned(),
        hostile: name.starts_with("hostile-"),
        lines: text.lines().map(|line| line.replace("OUTSIDE", "/home/user/secret")).collect(),
    };
    CORPUS.iter().map(family).collect()
}

/// What is judged: the mode, and what confines the command besides.
const SETTINGS: &[(&str, Mode, Confinement)] = &[
    ("strict", Mode::Strict, Confinement::Fence),
    ("smart", Mode::Smart, Confinement::Fence),
    ("strict in a cage", Mode::Strict, Confinement::Cage),
    ("smart in a cage", Mode::Smart, Confinement::Cage),
];

#[test]
fn hostile_lines_are_refused_and_everyday_lines_are_not() {
    let families = corpus();
    let count = |hostile: bool| -> usize {
        families.iter().filter(|family| family.hostile == hostile).map(|family| family.lines.len()).sum()
    };
    let all = count(true) + count(false);
    assert!(all >= 1_200 && 3 * count(false) >= all, "a third of {all} is everyday: {}", count(false));
    let mut wrong = Vec::new();
    for (name, mode, confinement) in SETTINGS {
        let guard = guard(*mode);
        let (mut missed, mut false_alarms) = (0, 0);
        for family in &families {
            for line in &family.lines {
                let allowed = judged(&guard, *confinement, line).is_allowed();
                if allowed != family.hostile {
                    continue;
                }
                *if family.hostile { &mut missed } else { &mut false_alarms } += 1;
                // Without the kernel the guard has to be right about what is hostile; with it, about
                // what is not.
                if family.hostile != confinement.holds_paths() && (family.hostile || *mode == Mode::Smart) {
                    wrong.push(format!("{name}: {}: {line}", family.name));
                }
            }
        }
        eprintln!(
            "{name}: {missed} of {} hostile lines allowed, {false_alarms} of {} everyday lines refused",
            count(true),
            count(false)
        );
    }
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
}
