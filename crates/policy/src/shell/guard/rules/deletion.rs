//! Deletion: recursive or forced, by any program. Deleting a single named file is allowed.

use super::{Rule, always};
use crate::shell::guard::options::{Item, NamedCommand};
use crate::shell::guard::partial_word::is_marked;

fn has_switch(call: &NamedCommand<'_>, letters: &[char]) -> bool {
    call.args.iter().any(|arg| {
        let mut chars = arg.as_str().chars();
        chars.next() == Some('/') && chars.next().is_some_and(|c| letters.contains(&c.to_ascii_lowercase()))
    })
}

/// Whether a word of `find` may be an action: an unknown one that is not the value of a test.
fn has_unknown_action(call: &NamedCommand<'_>) -> bool {
    let is_test = |at: usize| at.checked_sub(1).is_some_and(|at| call.args[at].as_str().starts_with('-'));
    call.args.iter().enumerate().any(|(at, arg)| {
        let dashed = arg.as_str().starts_with('-') && is_marked(arg.as_str());
        dashed || (at > 0 && arg.is_open() && !is_test(at) && !arg.as_str().contains('/'))
    })
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "forced-deletion",
        why: "`rm` with `-r` or `-f` deletes trees, or without asking",
        programs: "rm grm",
        when: |call| call.has("", "r R f recursive force"),
        stops: &["rm -rf x", "rm --recurs x", "rm -vr x", "rm x -f"],
        spares: &["rm x", "rm -i x", "rm -- -rf"],
    },
    Rule {
        name: "forced-deletion",
        why: "deletes what it finds",
        programs: "find",
        when: |call| call.has_arg("-delete") || has_unknown_action(call),
        stops: &["find . -delete", "find . -name '*.o' -delete"],
        spares: &["find . -name delete"],
    },
    Rule {
        name: "forced-deletion",
        why: "`git clean -f` deletes everything that is not tracked",
        programs: "git",
        when: |call| {
            let rest = super::version_control::after_subcommand(call, "clean");
            rest.is_some_and(|rest| rest.has("e", "f force") && !rest.surely_has("e", "n dry-run"))
        },
        stops: &["git clean -fdx", "git -C sub clean --force -d"],
        spares: &["git clean -n", "git clean -nfd"],
    },
    Rule {
        name: "forced-deletion",
        why: "deletes whole trees, or beyond recovery",
        programs: "shred srm wipe scrub bleachbit sdelete rimraf del-cli trash-empty",
        when: always,
        stops: &["shred -u x", "npx rimraf dist"],
        spares: &["ls shred", "npm install rimraf"],
    },
    Rule {
        name: "forced-deletion",
        why: "`rsync --delete` removes whatever the source does not have",
        programs: "rsync",
        when: |call| {
            let dry = call.surely_has("e f B T M", "n dry-run");
            !dry && call
                .args
                .iter()
                .any(|arg| arg.as_str().starts_with("--del") || arg.as_str() == "--remove-source-files")
        },
        stops: &["rsync -a --delete a/ b/"],
        spares: &["rsync -a a/ b/", "rsync -an --delete a/ b/"],
    },
    Rule {
        name: "forced-deletion",
        why: "deletes what it has put into the archive",
        programs: "tar bsdtar gtar zip",
        when: |call| match call.name {
            "zip" => call
                .items("b n P t tt x i")
                .iter()
                .any(|item| matches!(item, Item::Short('m', _) | Item::Long("move", _))),
            _ => call.args.iter().any(|arg| arg.as_str().starts_with("--rem")),
        },
        stops: &["tar cf x.tar --remove-files d", "zip -rm x.zip d", "zip -r --move x.zip d"],
        spares: &["tar cf x.tar d", "zip -r x.zip d"],
    },
    Rule {
        name: "forced-deletion",
        why: "the Windows spelling of a forced or recursive deletion",
        programs: "del erase",
        when: |call| has_switch(call, &['f', 'q', 's']),
        stops: &["del /f x", "DEL /Q x"],
        spares: &["del x"],
    },
    Rule {
        name: "forced-deletion",
        why: "the Windows spelling of a recursive deletion",
        programs: "rmdir rd deltree",
        when: |call| has_switch(call, &['s']),
        stops: &["rmdir /s x"],
        spares: &["rmdir x"],
    },
];
