//! Privilege: changing identity, leaving the process tree, running later, changing accounts or the
//! kernel.

use super::{Rule, always};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "privilege",
        why: "runs as another user",
        programs: "sudo sudoedit su doas pkexec runuser run0 gosu su-exec setpriv capsh newgrp sg runas gsudo \
                   kdesu gksu gksudo",
        when: always,
        stops: &["sudo ls", "su root", "doas id"],
        spares: &["echo sudo", "man sudo"],
    },
    Rule {
        name: "namespace",
        why: "changes the root or the namespaces of a process",
        programs: "chroot unshare nsenter systemd-nspawn bwrap firejail",
        when: always,
        stops: &["unshare -r id", "nsenter -t 1 -m sh"],
        spares: &["man unshare"],
    },
    Rule {
        name: "capability",
        why: "gives a file capabilities",
        programs: "setcap",
        when: always,
        stops: &["setcap cap_net_raw+ep app"],
        spares: &["getcap app"],
    },
    Rule {
        name: "account",
        why: "changes accounts, passwords or who may become whom",
        programs: "useradd adduser userdel deluser usermod groupadd addgroup groupdel delgroup groupmod passwd \
                   chpasswd chsh chfn gpasswd visudo vipw vigr chage",
        when: always,
        stops: &["useradd eve", "passwd root"],
        spares: &["id", "groups"],
    },
    Rule {
        name: "schedule",
        why: "runs something later, outside the processes that are watched",
        programs: "at batch crontab",
        when: |call| !call.surely_has("q f u", "l V"),
        stops: &["at now", "batch", "crontab x", "crontab -", "crontab -r"],
        spares: &["at -l", "crontab -l"],
    },
    Rule {
        name: "schedule",
        why: "runs something outside the processes that are watched",
        programs: "systemd-run start-stop-daemon daemonize initctl",
        when: always,
        stops: &["systemd-run id"],
        spares: &["systemctl status x"],
    },
    Rule {
        name: "kernel",
        why: "changes the running kernel",
        programs: "insmod modprobe rmmod kmod bpftool",
        when: always,
        stops: &["insmod x.ko"],
        spares: &["lsmod"],
    },
    Rule {
        name: "kernel",
        why: "changes settings of the running kernel",
        programs: "sysctl",
        when: |call| {
            call.has("", "w p write load system") || call.args.iter().any(|arg| arg.as_str().contains('='))
        },
        stops: &["sysctl -w a=b", "sysctl a=b"],
        spares: &["sysctl -a"],
    },
];
