use super::*;

const USER: FilterScope = FilterScope {
    root: false,
    pids: Pids::Own,
    sockets: Sockets::ALL,
    debug: false,
    no_truncate_right: false,
};
const ROOT: FilterScope = FilterScope {
    root: true,
    pids: Pids::Own,
    sockets: Sockets::ALL,
    debug: false,
    no_truncate_right: false,
};
const ON_THE_HOST: FilterScope = FilterScope {
    root: false,
    pids: Pids::Host,
    sockets: Sockets::ALL,
    debug: false,
    no_truncate_right: false,
};
const DEBUGGED: FilterScope = FilterScope { debug: true, ..USER };
const DENIED: u32 = errno(libc::EPERM);
const MISSING: u32 = errno(libc::ENOSYS);

/// Interprets the program for one system call, as the kernel does.
fn answer(scope: FilterScope, architecture: u32, number: u32, arguments: &[u64]) -> u32 {
    let program = instructions(scope, ASK);
    let mut words = vec![number, architecture, 0, 0];
    for at in 0..6 {
        let argument = arguments.get(at).copied().unwrap_or(0);
        words.extend([argument as u32, (argument >> 32) as u32]);
    }
    let (mut at, mut loaded) = (0, 0);
    loop {
        let (code, yes, no, k) = program[at];
        let jump = |taken: bool| usize::from(if taken { yes } else { no });
        at += 1 + match code {
            LOAD => {
                loaded = words[k as usize / 4];
                0
            }
            AND => {
                loaded &= k;
                0
            }
            JUMP_IF_EQUAL => jump(loaded == k),
            JUMP_IF_AT_LEAST => jump(loaded >= k),
            JUMP_IF_ANY_BIT => jump(loaded & k != 0),
            _ => return k,
        };
    }
}

fn check(scope: FilterScope, cases: &[(&str, i64, &[u64], u32)]) {
    for (why, number, arguments, want) in cases {
        assert_eq!(answer(scope, NATIVE, *number as u32, arguments), *want, "{why}, {scope:?}");
    }
}

#[test]
fn the_program_is_valid() {
    let old = FilterScope { no_truncate_right: true, ..ON_THE_HOST };
    for scope in [USER, ROOT, ON_THE_HOST, old] {
        assert!(compile(scope, ASK).is_ok());
        let program = instructions(scope, ASK);
        for (at, (code, yes, no, _)) in program.iter().enumerate() {
            let end = at + 1 + usize::from(*yes.max(no));
            assert!(*code == RETURN || end < program.len(), "a jump behind the end at {at}");
        }
    }
}

#[test]
fn every_call_gets_its_answer() {
    for scope in [USER, ROOT, ON_THE_HOST] {
        check(
            scope,
            &[
                ("an ordinary call", libc::SYS_read, &[], ALLOW),
                ("a new program", libc::SYS_execve, &[], ALLOW),
                ("a mount", libc::SYS_mount, &[], DENIED),
                ("a mount, the new way", libc::SYS_open_tree, &[], DENIED),
                ("a look into another process", libc::SYS_ptrace, &[], DENIED),
                ("clone3 hides its flags", libc::SYS_clone3, &[], MISSING),
                ("openat2 hides its mode", libc::SYS_openat2, &[], MISSING),
                ("an unknown call", 467, &[], MISSING),
                ("the x32 variant of a refused call", 0x4000_0000 + libc::SYS_ptrace, &[], MISSING),
                ("a thread", libc::SYS_clone, &[0x3d_0f00], ALLOW),
                ("a user namespace by clone", libc::SYS_clone, &[0x1000_0000], DENIED),
                ("a user namespace by unshare", libc::SYS_unshare, &[0x1000_0000], DENIED),
                ("files of its own", libc::SYS_unshare, &[0x400], ALLOW),
                ("the size of a terminal", libc::SYS_ioctl, &[0, 0x5413], ALLOW),
                ("injected terminal input", libc::SYS_ioctl, &[0, 0x5412], DENIED),
                (
                    "the same, with upper bits that the kernel drops",
                    libc::SYS_ioctl,
                    &[0, 0xdead_0000_5412],
                    DENIED,
                ),
                ("a snapshot of a subvolume", libc::SYS_ioctl, &[3, 0x5000_9417], DENIED),
                ("a subvolume", libc::SYS_ioctl, &[3, 0x5000_940e], DENIED),
                ("a copy that shares its blocks", libc::SYS_ioctl, &[3, 0x4004_9409], ALLOW),
                ("a pair of local sockets", libc::SYS_socketpair, &[1, 1], ALLOW),
                ("a pair of others", libc::SYS_socketpair, &[30, 5], errno(libc::EAFNOSUPPORT)),
                ("a local socket", libc::SYS_socket, &[1], ALLOW),
                ("a netlink socket", libc::SYS_socket, &[16], ALLOW),
                ("a socket to the hypervisor", libc::SYS_socket, &[40], errno(libc::EAFNOSUPPORT)),
                ("a look at another's limits", libc::SYS_prlimit64, &[1, 7, 0, 1], DENIED),
                ("limits of its own", libc::SYS_prlimit64, &[0, 7, 1], ALLOW),
            ],
        );
        assert_eq!(answer(scope, 0x4000_0003, 1, &[]), KILL, "another architecture");
    }
}

#[test]
fn calls_without_a_rule_are_allowed() {
    for scope in [USER, ROOT, ON_THE_HOST] {
        let rules = rules();
        for number in 0..=i64::from(NEWEST) {
            if !rules.iter().any(|rule| rule.number == number) {
                check(scope, &[("no rule", number, &[u64::MAX; 6], ALLOW)]);
            }
        }
        for rule in &rules {
            assert!((0..=i64::from(NEWEST)).contains(&rule.number), "{}", rule.name);
        }
    }
}

#[test]
fn set_id_bits_are_refused() {
    const CREATE: u64 = 0o101;
    const UNNAMED: u64 = 0o20_200_002;
    let at_2: &[i64] = &[libc::SYS_fchmodat, 452, libc::SYS_mkdirat, libc::SYS_mknodat];
    for number in at_2 {
        for (scope, mode, want) in [
            (USER, 0o755, ALLOW),
            (USER, 0o1777, ALLOW),
            (USER, 0o2755, ALLOW),
            (USER, 0o4755, DENIED),
            (USER, 0xffff_0000_0000 | 0o4000, DENIED),
            (ROOT, 0o1777, ALLOW),
            (ROOT, 0o2755, DENIED),
            (ROOT, 0o4755, DENIED),
            (ON_THE_HOST, 0o4755, DENIED),
        ] {
            check(scope, &[("mode", *number, &[0, 0, mode], want)]);
        }
    }
    check(
        USER,
        &[
            ("fchmod", libc::SYS_fchmod, &[3, 0o4755], DENIED),
            ("fchmod", libc::SYS_fchmod, &[3, 0o755], ALLOW),
            ("a new file", libc::SYS_openat, &[0, 0, CREATE, 0o4755], DENIED),
            ("a new file without a name", libc::SYS_openat, &[0, 0, UNNAMED, 0o4755], DENIED),
            ("an ordinary new file", libc::SYS_openat, &[0, 0, CREATE, 0o666], ALLOW),
            ("an existing file, with a mode that is not used", libc::SYS_openat, &[0, 0, 2, u64::MAX], ALLOW),
            ("a directory", libc::SYS_openat, &[0, 0, 0o200_000, u64::MAX], ALLOW),
            ("a message queue", libc::SYS_mq_open, &[0, CREATE, 0o4600], DENIED),
        ],
    );
    #[cfg(target_arch = "x86_64")]
    check(
        USER,
        &[
            ("chmod", libc::SYS_chmod, &[0, 0o4755], DENIED),
            ("chmod", libc::SYS_chmod, &[0, 0o2755], ALLOW),
            ("open", libc::SYS_open, &[0, CREATE, 0o4755], DENIED),
            ("open", libc::SYS_open, &[0, 0, 0o4755], ALLOW),
            ("creat", libc::SYS_creat, &[0, 0o4755], DENIED),
            ("mkdir", libc::SYS_mkdir, &[0, 0o4755], DENIED),
            ("mknod", libc::SYS_mknod, &[0, 0o104_755], DENIED),
        ],
    );
}

#[test]
fn device_nodes_are_refused() {
    for (mode, want) in [
        (0o20_600, DENIED),
        (0o60_600, DENIED),
        (0o10_600, ALLOW),
        (0o100_600, ALLOW),
        (0o140_600, ALLOW),
        (0o600, ALLOW),
        (0xffff_0000 | 0o60_600, DENIED),
    ] {
        check(USER, &[("mknodat", libc::SYS_mknodat, &[0, 0, mode, 0x700], want)]);
        #[cfg(target_arch = "x86_64")]
        check(USER, &[("mknod", libc::SYS_mknod, &[0, mode, 0x700], want)]);
    }
}

#[test]
fn the_supervisor_keeps_its_priority() {
    let by_pid = [
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
    ];
    for number in by_pid {
        check(
            USER,
            &[
                ("itself", number, &[0], ALLOW),
                ("a process of the tree", number, &[7], ALLOW),
                ("the supervisor", number, &[1], DENIED),
                ("the supervisor, with upper bits", number, &[0x1_0000_0001], DENIED),
            ],
        );
    }
    for (number, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        check(
            USER,
            &[
                ("itself", number, &[process, 0], ALLOW),
                ("a process of the tree", number, &[process, 7], ALLOW),
                ("the supervisor", number, &[process, 1], DENIED),
                ("a group", number, &[process + 1, 0], DENIED),
                ("a user", number, &[process + 2, 7], DENIED),
            ],
        );
    }
}

#[test]
fn other_processes_of_the_host_keep_their_priority() {
    for number in [libc::SYS_sched_setscheduler, libc::SYS_sched_setaffinity] {
        check(
            ON_THE_HOST,
            &[
                ("itself", number, &[0], ALLOW),
                ("another thread, or another process", number, &[7], ASK),
                ("a number with upper bits alone, which is 0", number, &[0x1_0000_0000], ALLOW),
            ],
        );
    }
    for (number, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        check(
            ON_THE_HOST,
            &[
                ("itself", number, &[process, 0], ALLOW),
                ("another", number, &[process, 7], ASK),
                ("a group", number, &[process + 1, 0], DENIED),
            ],
        );
    }
}

#[test]
fn the_core_limit_stays() {
    const CORE: u64 = libc::RLIMIT_CORE as u64;
    const POINTER: u64 = 0x7fff_0000_0000;
    let pretended = errno(0);
    check(
        USER,
        &[
            ("setrlimit", libc::SYS_setrlimit, &[CORE, POINTER], pretended),
            ("another limit", libc::SYS_setrlimit, &[7, POINTER], ALLOW),
            ("a look", libc::SYS_prlimit64, &[0, CORE, 0, POINTER], ALLOW),
            ("a change", libc::SYS_prlimit64, &[0, CORE, POINTER, 0], pretended),
            ("a change and a look", libc::SYS_prlimit64, &[0, CORE, POINTER, POINTER], DENIED),
            ("the same from a low address", libc::SYS_prlimit64, &[0, CORE, 0x1000, POINTER], DENIED),
        ],
    );
}

#[test]
fn sockets_are_refused_where_no_namespace_holds_them() {
    let (unix, inet, netlink) = ([1], [2], [16]);
    for (sockets, want) in [
        (Sockets::ALL, [ALLOW, ALLOW, ALLOW]),
        (Sockets { unix: false, network: true }, [DENIED, ALLOW, ALLOW]),
        (Sockets { unix: true, network: false }, [ALLOW, DENIED, DENIED]),
        (Sockets { unix: false, network: false }, [DENIED, DENIED, DENIED]),
    ] {
        let scope = FilterScope { sockets, ..ON_THE_HOST };
        let got = [unix, inet, netlink].map(|family| answer(scope, NATIVE, libc::SYS_socket as u32, &family));
        assert_eq!(got, want, "{sockets:?}");
        let pair =
            |kind: u64| answer(scope, NATIVE, libc::SYS_socketpair as u32, &[1, kind | 0o2_000_000_u64]);
        assert_eq!(pair(1), ALLOW, "{sockets:?}");
        // A datagram socket can be connected again.
        let again = if sockets.unix { ALLOW } else { DENIED };
        assert_eq!([pair(2), pair(3)], [again; 2], "{sockets:?}");
    }
}

#[test]
fn a_file_is_opened_for_something_where_landlock_alone_holds_it() {
    let neither = 3 | libc::O_NONBLOCK as u64;
    for (scope, want) in [(ON_THE_HOST, DENIED), (USER, ALLOW)] {
        check(
            scope,
            &[
                ("for neither", libc::SYS_openat, &[3, 0x7000_0000, neither], want),
                ("for reading", libc::SYS_openat, &[3, 0x7000_0000, 0], ALLOW),
                ("for both", libc::SYS_openat, &[3, 0x7000_0000, 2], ALLOW),
                ("as a path", libc::SYS_openat, &[3, 0x7000_0000, 0o10_000_000], ALLOW),
            ],
        );
        #[cfg(target_arch = "x86_64")]
        check(scope, &[("for neither", libc::SYS_open, &[0x7000_0000, neither], want)]);
    }
}

#[test]
fn truncation_is_refused_where_landlock_does_not_hold_it() {
    let old = FilterScope { no_truncate_right: true, ..ON_THE_HOST };
    let [read, write, both] = [libc::O_RDONLY, libc::O_WRONLY, libc::O_RDWR].map(|access| access as u64);
    let (empty, new) = (libc::O_TRUNC as u64, libc::O_CREAT as u64);
    check(
        old,
        &[
            ("by path", libc::SYS_truncate, &[0x7000_0000, 0], DENIED),
            ("by a descriptor that is open for writing", libc::SYS_ftruncate, &[3, 0], ALLOW),
            ("opened for reading", libc::SYS_openat, &[3, 0x7000_0000, read | empty], DENIED),
            ("and created", libc::SYS_openat, &[3, 0x7000_0000, read | empty | new, 0o600], DENIED),
            ("opened for writing", libc::SYS_openat, &[3, 0x7000_0000, write | empty | new, 0o600], ALLOW),
            ("opened for both", libc::SYS_openat, &[3, 0x7000_0000, both | empty], ALLOW),
            ("a plain read", libc::SYS_openat, &[3, 0x7000_0000, read], ALLOW),
        ],
    );
    check(ON_THE_HOST, &[("where Landlock holds it", libc::SYS_truncate, &[0x7000_0000, 0], ALLOW)]);
}

#[test]
fn a_process_stays_dumpable() {
    check(
        ON_THE_HOST,
        &[
            ("it would hide", libc::SYS_prctl, &[4, 0], errno(0)),
            ("it shows itself", libc::SYS_prctl, &[4, 1], ALLOW),
            ("another option", libc::SYS_prctl, &[15, 0], ALLOW),
        ],
    );
}

#[test]
fn processes_are_traced_with_the_flag_alone() {
    let calls = [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_kcmp,
        libc::SYS_perf_event_open,
    ];
    for number in calls {
        check(DEBUGGED, &[("another process of the cage", number, &[0, 7], ALLOW)]);
        for scope in [USER, ROOT, ON_THE_HOST] {
            check(scope, &[("without the flag", number, &[0, 7], DENIED)]);
        }
    }
    check(
        DEBUGGED,
        &[
            ("the supervisor", libc::SYS_ptrace, &[16, 1], DENIED),
            (
                "the same, with upper bits that the kernel drops",
                libc::SYS_ptrace,
                &[16, 0xdead_0000_0001],
                DENIED,
            ),
            ("every process of the machine", libc::SYS_perf_event_open, &[0, u64::MAX, 0], DENIED),
            ("the same in 32 bits", libc::SYS_perf_event_open, &[0, 0xffff_ffff, 0], DENIED),
            ("a cgroup", libc::SYS_perf_event_open, &[0, 3, 0, 0, 4], DENIED),
            ("descriptors of another process", libc::SYS_pidfd_getfd, &[], DENIED),
            ("a mount", libc::SYS_mount, &[], DENIED),
        ],
    );
}
