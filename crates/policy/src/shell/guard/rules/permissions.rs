//! Permissions and ownership: setuid bits, world-writable files, changes of owner. Numeric modes
//! are refused as documented; `chmod +x` is allowed.

use super::{Rule, always};
use crate::shell::guard::options::NamedCommand;
use crate::shell::guard::partial_word::is_marked;

/// The mode of a `chmod`: its first operand, which may itself begin with a dash (`chmod -x f`).
fn mode<'c>(call: &NamedCommand<'c>) -> Option<&'c str> {
    if call.args.iter().any(|arg| arg.as_str().starts_with("--ref")) {
        return None;
    }
    let is_mode =
        |arg: &&str| !arg.starts_with('-') || is_marked(arg) || arg.contains(|c: char| c.is_ascii_digit());
    call.args.iter().map(|arg| arg.as_str()).find(is_mode)
}

/// Whether a symbolic mode makes a file setuid, or writable for others.
fn is_unsafe_mode(mode: &str) -> bool {
    mode.split(',').any(|clause| {
        let at = clause.find(['+', '=', '-']).unwrap_or(clause.len());
        let (who, what) = clause.split_at(at);
        if !what.starts_with(['+', '=']) {
            return what.contains("+s") || what.contains("=s");
        }
        let others = who.contains(['o', 'a']) || (who.contains('g') && who.contains('o'));
        let gives = |letter| what.contains(letter);
        gives('s')
            || (others && gives('w'))
            || (others && gives('u'))
            || (who.is_empty() && what.starts_with('=') && gives('w'))
    })
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "permissions",
        why: "sets a mode as a number",
        programs: "chmod",
        when: |call| mode(call).is_some_and(|mode| mode.contains(|c: char| c.is_ascii_digit())),
        stops: &["chmod 777 x", "chmod -R 755 x", "chmod 7 x", "chmod =777 x", "chmod +4755 x"],
        spares: &["chmod +x x", "chmod --reference=a b"],
    },
    Rule {
        name: "permissions",
        why: "sets a mode that is only known when it runs",
        programs: "chmod",
        when: |call| mode(call).is_some_and(is_marked),
        stops: &["chmod $MODE x", "chmod $? x", "chmod +$? x"],
        spares: &["chmod +x x"],
    },
    Rule {
        name: "permissions",
        why: "makes a file setuid, or writable for others",
        programs: "chmod",
        when: |call| mode(call).is_some_and(is_unsafe_mode),
        stops: &["chmod u+s x", "chmod a=rwx x", "chmod o+w x", "chmod go=u x"],
        spares: &["chmod +x x", "chmod u+w x", "chmod go-w x", "chmod a+r x", "chmod -x x"],
    },
    Rule {
        name: "ownership",
        why: "changes who owns a file",
        programs: "chown chgrp",
        when: always,
        stops: &["chown root x", "chgrp staff x"],
        spares: &["echo chown"],
    },
    Rule {
        name: "permissions",
        why: "changes access lists or attributes",
        programs: "setfacl chattr chcon icacls cacls takeown",
        when: always,
        stops: &["setfacl -m u:eve:rwx x"],
        spares: &["getfacl x", "lsattr x"],
    },
    Rule {
        name: "permissions",
        why: "installs a setuid file, or for another owner",
        programs: "install ginstall mkdir mkfifo",
        when: |call| {
            let grammar = "m o g t S mode owner group target-directory";
            let special = |mode: &&str| {
                let digits = mode.trim_start_matches(['=', '+', '0']);
                is_marked(mode)
                    || mode.contains('s')
                    || (digits.len() > 3 && digits.starts_with(['2', '4', '6', '7']))
            };
            call.values(grammar, "m mode").iter().any(special)
                || call.has(grammar, "o g owner group") && call.name.ends_with("install")
        },
        stops: &["install -m 4755 a b", "install -o root a b"],
        spares: &["install -m 755 a b", "mkdir -m 700 x"],
    },
];
