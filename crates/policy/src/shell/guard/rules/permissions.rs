//! Permissions and ownership: setuid bits, world-writable files, changes of owner. Numeric modes
//! are refused as documented; `chmod +x` is allowed.

use super::{Rule, always};
use crate::shell::guard::options::NamedCommand;
use crate::shell::guard::partial_word::is_marked;

/// The modes of a `chmod`: its first operand, or every word that begins with a dash and is no
/// option (`chmod -x f`, `chmod f -x+s`).
fn modes<'c>(call: &NamedCommand<'c>) -> Vec<&'c str> {
    let args = || call.args.iter().map(|arg| arg.as_str());
    if args().any(|arg| arg.starts_with("--ref")) {
        return Vec::new();
    }
    let is_dashed = |arg: &&str| match arg.strip_prefix('-') {
        Some(letters) => {
            !letters.starts_with('-')
                && (letters.is_empty() || !letters.chars().all(|c| "cfvRHLPh".contains(c)))
        }
        None => false,
    };
    let dashed: Vec<&str> = args().take_while(|arg| *arg != "--").filter(is_dashed).collect();
    if dashed.is_empty() { args().find(|arg| !arg.starts_with('-')).into_iter().collect() } else { dashed }
}

/// Whether a mode makes a file setuid, or writable for others: `u+s`, `o-x+w`, `4755`, `777`.
fn is_unsafe_mode(mode: &str) -> bool {
    let digits = mode.trim_start_matches(['=', '+', '-']);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        let digits = digits.trim_start_matches('0');
        return writes_for_others(digits) || (digits.len() > 3 && !digits.starts_with('1'));
    }
    mode.split(',').any(|clause| {
        let (who, mut rest) = clause.split_at(clause.find(['+', '=', '-']).unwrap_or(clause.len()));
        let others = who.contains(['o', 'a']);
        let mut is_unsafe = false;
        while let Some(operator) = rest.chars().next() {
            let end = rest[1..].find(['+', '=', '-']).map_or(rest.len(), |at| at + 1);
            let gives = |letters: [char; 3]| rest[1..end].contains(letters);
            is_unsafe |= operator != '-'
                && (gives(['s'; 3])
                    || (others && gives(['w', 'u', 'g']))
                    || (who.is_empty() && operator == '=' && gives(['w'; 3])));
            rest = &rest[end..];
        }
        is_unsafe
    })
}

/// Whether the last digit of a mode lets others write.
fn writes_for_others(digits: &str) -> bool {
    digits.bytes().last().is_some_and(|last| last & 2 != 0)
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "permissions",
        why: "sets a mode as a number, one that is not known, or one with setuid or write for others",
        programs: "chmod",
        when: |call| {
            let is_number = |mode: &str| mode.contains(|c: char| c.is_ascii_digit());
            modes(call).into_iter().any(|mode| is_number(mode) || is_marked(mode) || is_unsafe_mode(mode))
        },
        stops: &[
            "chmod 755 x",
            "chmod =777 x",
            "chmod $MODE x",
            "chmod +$? x",
            "chmod u+s x",
            "chmod a=rwx x",
            "chmod o-x+w x",
            "chmod go=u x",
            "chmod -x+s x",
        ],
        spares: &[
            "chmod +x x",
            "chmod u+w x",
            "chmod go-w x",
            "chmod a+r x",
            "chmod -x x",
            "chmod -v +x a-w=x",
        ],
    },
    Rule {
        name: "permissions",
        why: "makes every new file writable for others",
        programs: "umask",
        when: |call| {
            call.args.iter().map(|arg| arg.as_str()).filter(|arg| !arg.starts_with('-')).any(|mask| {
                is_marked(mask)
                    || match mask.bytes().all(|b| b.is_ascii_digit()) {
                        true => !writes_for_others(mask),
                        false => is_unsafe_mode(mask),
                    }
            })
        },
        stops: &["umask 0", "umask 000", "umask a=rwx"],
        spares: &["umask", "umask -S", "umask 022", "umask 0002", "umask 77", "umask u=rwx,g=rx,o="],
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
        why: "installs a file that is setuid or writable for others, or for another owner",
        programs: "install ginstall mkdir mkfifo",
        when: |call| {
            let grammar = "m o g t S mode owner group target-directory";
            let special = |mode: &&str| is_marked(mode) || is_unsafe_mode(mode);
            call.values(grammar, "m mode").iter().any(special)
                || call.has(grammar, "o g owner group") && call.name.ends_with("install")
        },
        stops: &["install -m 4755 a b", "install -m 0777 a b", "install -m o+w a b", "install -o root a b"],
        spares: &["install -m 755 a b", "install -m u=rwx,go=rx a b", "mkdir -m 700 x", "mkdir -m 1755 x"],
    },
];
