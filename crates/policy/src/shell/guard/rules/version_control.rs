//! Version control: publishing.

use super::Rule;
use crate::shell::guard::git::GLOBAL;
use crate::shell::guard::options::{NamedCommand, parse};

/// The arguments after a git subcommand; `None` if it is another one.
pub(super) fn after_subcommand<'c>(call: &NamedCommand<'c>, verb: &str) -> Option<NamedCommand<'c>> {
    let (_, at) = parse(call.args, GLOBAL);
    let (first, rest) = call.args.get(at..)?.split_first()?;
    (first.as_str() == verb).then_some(NamedCommand { args: rest, ..*call })
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "git-push",
        why: "publishes to another place",
        programs: "git",
        when: |call| {
            const PAIRS: &[(&str, &str)] = &[
                ("subtree", "push"),
                ("lfs", "push"),
                ("svn", "dcommit"),
                ("p4", "submit"),
                ("annex", "sync"),
            ];
            ["push", "force", "send-pack", "http-push", "send-email", "imap-send"]
                .iter()
                .any(|verb| after_subcommand(call, verb).is_some())
                || PAIRS.iter().any(|(verb, word)| {
                    after_subcommand(call, verb).is_some_and(|rest| {
                        rest.subcommand("P m b prefix message annotate branch onto remote") == Some(word)
                    })
                })
        },
        stops: &[
            "git push",
            "git -C . push",
            "git -c a=b push origin main",
            "git force x",
            "git subtree -P d push origin x",
            "git lfs push origin main",
        ],
        spares: &[
            "git stash push",
            "git log push",
            "git commit -m push",
            "git lfs ls-files",
            "git subtree pull --prefix=d origin x",
        ],
    },
    Rule {
        name: "git-credentials",
        why: "prints or changes passwords that git keeps for the user",
        programs: "git",
        when: |call| {
            ["credential", "credential-store", "credential-cache"]
                .iter()
                .any(|verb| after_subcommand(call, verb).is_some())
        },
        stops: &["git credential fill", "git credential-store get"],
        spares: &["git log --grep credential", "git config credential.helper store"],
    },
    Rule {
        name: "git-push",
        why: "publishes to another place",
        programs: "hg bzr fossil jj darcs svn",
        when: |call| match call.name {
            "svn" => matches!(call.subcommand(""), Some("commit" | "ci" | "import")),
            _ => call.has_arg("push send"),
        },
        stops: &["hg push", "jj git push", "svn commit -m x"],
        spares: &["hg status", "svn log"],
    },
];
