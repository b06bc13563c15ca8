//! The rules of the seccomp filter: which system calls are answered by the filter, with what, and
//! why.
//!
//! `docs/syscalls.md` is written from this table, and [`seccomp_filter`](super::seccomp_filter)
//! compiles it.
//!
//! Invariant: an argument that the kernel takes as 32 bits or fewer is compared by its lower half;
//! a 64-bit comparison could be bypassed through the upper half.

/// The newest system call that was reviewed: `removexattrat`. The x32 ABI begins at 2³⁰.
pub(super) const NEWEST: u32 = 466;

/// Newer than some of the libraries' tables; new calls have one number on every architecture.
const SYS_FCHMODAT2: i64 = 452;
const SYS_MEMFD_SECRET: i64 = 447;

/// The kernel's O_ACCMODE; that of musl has O_PATH in it.
const ACCESS_MODE: u32 = 3;

/// The C libraries give it different types.
const RLIMIT_CORE: u32 = 4;

/// Where a child runs, as far as the filter depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FilterScope {
    /// Whether the child has the user identity of root.
    pub(super) root: bool,
    /// Which processes it can name.
    pub(super) pids: Pids,
    /// Which sockets it can make.
    pub(super) sockets: Sockets,
    /// Whether its processes may trace each other.
    pub(super) debug: bool,
    /// Whether Landlock alone holds writes, and not truncation.
    pub(super) no_truncate_right: bool,
}

/// Which sockets a child can make. Pairs of connected sockets can always be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sockets {
    /// UNIX sockets, which reach those of the host where the child has no mounts of its own.
    pub(super) unix: bool,
    /// Sockets of a network, where the child has no network namespace to close it.
    pub(super) network: bool,
}

impl Sockets {
    pub(super) const ALL: Self = Self { unix: true, network: true };
}

/// Which processes a child can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pids {
    /// Those of its own pid namespace, whose first process is not the child's.
    Own,
    /// Those of the host.
    Host,
}

/// One rule: the filter gives `answer` to a call of `number` for which every test of `when` holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) number: i64,
    pub(super) when: Vec<Test>,
    pub(super) answer: Answer,
    pub(super) applies: Applies,
    pub(super) reason: &'static str,
}

/// What the filter does instead of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// EPERM.
    Refused,
    /// ENOSYS, at which programs fall back to an older call.
    Missing,
    /// EAFNOSUPPORT.
    NoSuchFamily,
    /// Success, and nothing happens.
    Pretended,
    /// The supervisor answers: the call is made if it names a thread of the caller's own process,
    /// and refused otherwise.
    Asked,
}

/// Which children a rule is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applies {
    Everywhere,
    /// Children of a picoclaw that root started.
    ToRoot,
    /// Children with pid and IPC namespaces: the native cage and bubblewrap.
    OwnPids,
    /// Children without them: the Landlock level and the fence.
    HostPids,
    /// Children without mounts of their own, unless `isolation.unix_sockets` is true.
    WithoutUnixSockets,
    /// Children without a network namespace whose network is closed.
    WithoutNetwork,
    /// Children without mounts of their own where Landlock has no right to truncate (before Linux
    /// 6.2).
    WithoutTruncateRight,
    /// Children that may not trace each other: all but those of `picoclaw run --debug`.
    WithoutDebug,
    /// Children that may.
    WithDebug,
}

impl Rule {
    /// Whether the filter of `scope` has this rule.
    pub(super) fn is_for(&self, scope: FilterScope) -> bool {
        match self.applies {
            Applies::Everywhere => true,
            Applies::ToRoot => scope.root,
            Applies::OwnPids => scope.pids == Pids::Own,
            Applies::HostPids => scope.pids == Pids::Host,
            Applies::WithoutUnixSockets => !scope.sockets.unix,
            Applies::WithoutNetwork => !scope.sockets.network,
            Applies::WithoutTruncateRight => scope.no_truncate_right,
            Applies::WithoutDebug => !scope.debug,
            Applies::WithDebug => scope.debug,
        }
    }
}

/// A test of one half of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) argument: u32,
    pub(super) half: Half,
    pub(super) compare: Compare,
    /// The test in the words of the manual page.
    pub(super) text: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Lower,
    Upper,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    AnyBit(u32),
    Equal(u32),
    Differs(u32),
    /// The bits of the first value equal the second.
    Masked(u32, u32),
}

use Compare::{AnyBit, Differs, Equal, Masked};

const fn test(argument: u32, compare: Compare, text: &'static str) -> Test {
    Test { argument, half: Half::Lower, compare, text }
}

const fn upper(argument: u32, compare: Compare, text: &'static str) -> Test {
    Test { half: Half::Upper, ..test(argument, compare, text) }
}

/// A system call's name in `libc` and its number.
type Call = (&'static str, i64);

macro_rules! calls {
    ($($(#[$attribute:meta])? $name:ident),* $(,)?) => {
        &[$($(#[$attribute])? (stringify!($name), libc::$name)),*]
    };
}

/// Refused whatever their arguments are.
const REFUSED: &[(&str, &[Call])] = &[
    (
        "The file tree of a cage is complete, and a mount could uncover what lies beneath.",
        calls![
            SYS_mount,
            SYS_umount2,
            SYS_pivot_root,
            SYS_chroot,
            SYS_open_tree,
            SYS_move_mount,
            SYS_fsopen,
            SYS_fsconfig,
            SYS_fsmount,
            SYS_fspick,
            SYS_mount_setattr,
        ],
    ),
    ("A handle opens a file without a path, and so past every mount.", calls![SYS_open_by_handle_at]),
    (
        "Quotas, swap and accounting belong to the machine.",
        calls![SYS_quotactl, SYS_quotactl_fd, SYS_swapon, SYS_swapoff, SYS_acct],
    ),
    (
        "Memory, descriptors and namespaces of other processes.",
        calls![SYS_process_madvise, SYS_pidfd_getfd, SYS_migrate_pages, SYS_move_pages, SYS_setns,],
    ),
    (
        "Keys are shared by every process of a user, in and out of cages.",
        calls![SYS_keyctl, SYS_add_key, SYS_request_key],
    ),
    (
        "`io_uring` opens files and sockets without a system call that a filter sees.",
        calls![SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register],
    ),
    (
        "Secret memory is counted nowhere once it is unmapped, so no limit on memory would hold.",
        &[("memfd_secret", SYS_MEMFD_SECRET)],
    ),
    (
        "Parts of the kernel with a history of vulnerabilities, which ordinary programs do not need.",
        calls![
            SYS_bpf,
            SYS_userfaultfd,
            SYS_fanotify_init,
            SYS_lookup_dcookie,
            SYS_nfsservctl,
            SYS_vhangup,
            #[cfg(target_arch = "x86_64")]
            SYS_modify_ldt,
            #[cfg(target_arch = "x86_64")]
            SYS_uselib,
            #[cfg(target_arch = "x86_64")]
            SYS_ustat,
            #[cfg(target_arch = "x86_64")]
            SYS__sysctl,
        ],
    ),
    (
        "The kernel, its log, the clock and the name of the machine.",
        calls![
            SYS_kexec_load,
            #[cfg(not(all(target_arch = "aarch64", target_env = "musl")))]
            SYS_kexec_file_load,
            SYS_init_module,
            SYS_finit_module,
            SYS_delete_module,
            SYS_reboot,
            SYS_syslog,
            SYS_clock_settime,
            SYS_settimeofday,
            SYS_adjtimex,
            SYS_clock_adjtime,
            SYS_sethostname,
            SYS_setdomainname,
            #[cfg(target_arch = "x86_64")]
            SYS_iopl,
            #[cfg(target_arch = "x86_64")]
            SYS_ioperm,
        ],
    ),
    // `libc` has no name for it there.
    #[cfg(all(target_arch = "aarch64", target_env = "musl"))]
    ("The kernel, its log, the clock and the name of the machine.", &[("SYS_kexec_file_load", 294)]),
];

/// The CLONE_NEW* flags.
const NAMESPACES: u32 =
    0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000 | 0x80;

/// Ioctls that inject input into a terminal, or take over the console.
const TERMINAL_IOCTLS: [(u32, &str); 3] =
    [(0x5412, "request == TIOCSTI"), (0x541c, "request == TIOCLINUX"), (0x541d, "request == TIOCCONS")];

/// Ioctls that make, copy or delete a subvolume of btrfs.
const SUBVOLUME_IOCTLS: [(u32, &str); 6] = [
    (0x5000_9401, "request == BTRFS_IOC_SNAP_CREATE"),
    (0x5000_940e, "request == BTRFS_IOC_SUBVOL_CREATE"),
    (0x5000_940f, "request == BTRFS_IOC_SNAP_DESTROY"),
    (0x5000_9417, "request == BTRFS_IOC_SNAP_CREATE_V2"),
    (0x5000_9418, "request == BTRFS_IOC_SUBVOL_CREATE_V2"),
    (0x5000_943f, "request == BTRFS_IOC_SNAP_DESTROY_V2"),
];

/// The socket families that a network namespace confines.
const FAMILIES: [(u32, &str); 5] = [
    (0, "domain != AF_UNSPEC"),
    (1, "domain != AF_UNIX"),
    (2, "domain != AF_INET"),
    (10, "domain != AF_INET6"),
    (16, "domain != AF_NETLINK"),
];

const SET_USER_ID: (u32, &str) = (0o4000, "mode & S_ISUID");
const SET_GROUP_ID: (u32, &str) = (0o2000, "mode & S_ISGID");

/// O_CREAT and O_TMPFILE without O_DIRECTORY; without them the mode has no meaning, and may be
/// anything.
const CREATES: (Compare, &str) = (AnyBit(0o100 | 0o20_000_000), "flags & {O_CREAT, O_TMPFILE}");

/// Every rule, of every scope.
pub(super) fn rules() -> Vec<Rule> {
    let mut rules = Rules(Vec::new());
    for (reason, calls) in REFUSED {
        for call in *calls {
            rules.add(*call, &[], Answer::Refused, Applies::Everywhere, reason);
        }
    }
    rules.tracing();
    rules.hidden_arguments();
    rules.namespaces_and_devices();
    rules.mode_bits(
        SET_USER_ID,
        Applies::Everywhere,
        "A set-user-ID file left in a workspace lends its owner's identity to anyone who runs it outside.",
    );
    rules.mode_bits(
        SET_GROUP_ID,
        Applies::ToRoot,
        "The same for a group of root's. Others may set it: `git init --shared` and `cp -a` do.",
    );
    rules.device_nodes();
    rules.truncation();
    rules.access_mode_three();
    rules.ipc();
    rules.priorities();
    rules.limits();
    rules.0
}

struct Rules(Vec<Rule>);

impl Rules {
    fn add(&mut self, call: Call, when: &[Test], answer: Answer, applies: Applies, reason: &'static str) {
        let (name, number) = (call.0.trim_start_matches("SYS_"), call.1);
        self.0.push(Rule { name, number, when: when.to_vec(), answer, applies, reason });
    }

    fn refuse(&mut self, call: Call, when: &[Test], applies: Applies, reason: &'static str) {
        self.add(call, when, Answer::Refused, applies, reason);
    }

    /// Debuggers and profilers. The kernel decides which processes may be traced: those of the own
    /// pid namespace that are dumpable, which the supervisor is not.
    fn tracing(&mut self) {
        let why = "Memory and registers of other processes. Debuggers and `strace` need these: `picoclaw run --debug`.";
        for call in calls![SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp] {
            self.refuse(*call, &[], Applies::WithoutDebug, why);
        }
        let [ptrace, perf] = calls![SYS_ptrace, SYS_perf_event_open];
        let why = "A part of the kernel with a history of vulnerabilities. Profilers need it: `picoclaw run --debug`.";
        self.refuse(*perf, &[], Applies::WithoutDebug, why);
        let why = "The first process of the namespace is the supervisor.";
        self.refuse(*ptrace, &[test(1, Equal(1), "pid == 1")], Applies::WithDebug, why);
        let why = "Counts every process of the machine, or of a cgroup.";
        self.refuse(*perf, &[test(1, Equal(u32::MAX), "pid == -1")], Applies::WithDebug, why);
        self.refuse(
            *perf,
            &[test(4, AnyBit(1 << 2), "flags & PERF_FLAG_PID_CGROUP")],
            Applies::WithDebug,
            why,
        );
    }

    fn hidden_arguments(&mut self) {
        let why = "Flags and mode lie behind a pointer, where a filter cannot read them; programs fall back to `clone` and `openat`.";
        for call in calls![SYS_clone3, SYS_openat2] {
            self.add(*call, &[], Answer::Missing, Applies::Everywhere, why);
        }
    }

    fn namespaces_and_devices(&mut self) {
        let why = "A new user namespace gives its creator every capability in it, and with them much of the kernel.";
        for call in calls![SYS_clone, SYS_unshare] {
            self.refuse(
                *call,
                &[test(0, AnyBit(NAMESPACES), "flags & CLONE_NEW*")],
                Applies::Everywhere,
                why,
            );
        }
        let [ioctl, socket] = calls![SYS_ioctl, SYS_socket];
        for (ioctls, why) in [
            (&TERMINAL_IOCTLS[..], "Injects input into a terminal, or takes over the console."),
            (
                &SUBVOLUME_IOCTLS[..],
                "A snapshot has all files of a subvolume in it, also those that are not shown, and Landlock holds none of these.",
            ),
        ] {
            for (request, text) in ioctls {
                self.refuse(*ioctl, &[test(1, Equal(*request), text)], Applies::Everywhere, why);
            }
        }
        let other_family = FAMILIES.map(|(family, text)| test(0, Differs(family), text));
        let why = "Other families are not confined by a network namespace (AF_VSOCK reaches the hypervisor), or are seldom used parts of the kernel.";
        self.add(*socket, &other_family, Answer::NoSuchFamily, Applies::Everywhere, why);
        let why = "Landlock does not hold connections to UNIX sockets of the host.";
        self.refuse(*socket, &[test(0, Equal(1), "domain == AF_UNIX")], Applies::WithoutUnixSockets, why);
        let [socketpair] = calls![SYS_socketpair];
        let why = "Programs use pairs of AF_UNIX; AF_TIPC offers them too, a seldom used part of the kernel.";
        let other_family = test(0, Differs(1), "domain != AF_UNIX");
        self.add(*socketpair, &[other_family], Answer::NoSuchFamily, Applies::Everywhere, why);
        for (kind, text) in [(2, "type & 0xf == SOCK_DGRAM"), (3, "type & 0xf == SOCK_RAW")] {
            let why = "A datagram socket of a pair can be connected again, to one of the host. Pairs of streams work.";
            self.refuse(*socketpair, &[test(1, Masked(0xf, kind), text)], Applies::WithoutUnixSockets, why);
        }
        let why = "Closes the network where there is no network namespace. There is no loopback then.";
        let is_network =
            [test(0, Differs(0), "domain != AF_UNSPEC"), test(0, Differs(1), "domain != AF_UNIX")];
        self.refuse(*socket, &is_network, Applies::WithoutNetwork, why);
    }

    /// Every call that can give a file these mode bits. `mkdir` drops them, but a kernel need not.
    fn mode_bits(&mut self, (bits, text): (u32, &'static str), applies: Applies, why: &'static str) {
        let mode = |argument| test(argument, AnyBit(bits), text);
        let creates = |argument| test(argument, CREATES.0, CREATES.1);
        #[cfg(target_arch = "x86_64")]
        for call in calls![SYS_chmod, SYS_creat, SYS_mkdir, SYS_mknod] {
            self.refuse(*call, &[mode(1)], applies, why);
        }
        let [fchmod, fchmodat, mkdirat, mknodat, openat, mq_open] =
            calls![SYS_fchmod, SYS_fchmodat, SYS_mkdirat, SYS_mknodat, SYS_openat, SYS_mq_open];
        self.refuse(*fchmod, &[mode(1)], applies, why);
        for call in [*fchmodat, ("fchmodat2", SYS_FCHMODAT2), *mkdirat, *mknodat] {
            self.refuse(call, &[mode(2)], applies, why);
        }
        #[cfg(target_arch = "x86_64")]
        self.refuse(("open", libc::SYS_open), &[creates(1), mode(2)], applies, why);
        self.refuse(*mq_open, &[creates(1), mode(2)], applies, why);
        self.refuse(*openat, &[creates(2), mode(3)], applies, why);
    }

    fn device_nodes(&mut self) {
        let why =
            "A device node opens what lies behind it, wherever it is. FIFOs, sockets and files can be made.";
        for (kind, text) in
            [(libc::S_IFCHR, "mode & S_IFMT == S_IFCHR"), (libc::S_IFBLK, "mode & S_IFMT == S_IFBLK")]
        {
            let is_device = |argument| test(argument, Masked(libc::S_IFMT, kind), text);
            #[cfg(target_arch = "x86_64")]
            self.refuse(("mknod", libc::SYS_mknod), &[is_device(1)], Applies::Everywhere, why);
            self.refuse(("mknodat", libc::SYS_mknodat), &[is_device(2)], Applies::Everywhere, why);
        }
    }

    fn truncation(&mut self) {
        let applies = Applies::WithoutTruncateRight;
        let why = "Landlock before version 3 does not hold the truncation of a file that is not opened for writing.";
        let [truncate, openat] = calls![SYS_truncate, SYS_openat];
        self.refuse(*truncate, &[], applies, why);
        let flags = Masked(ACCESS_MODE | libc::O_TRUNC as u32, (libc::O_RDONLY | libc::O_TRUNC) as u32);
        let text = "flags & {O_ACCMODE, O_TRUNC} == {O_RDONLY, O_TRUNC}";
        #[cfg(target_arch = "x86_64")]
        self.refuse(("open", libc::SYS_open), &[test(1, flags, text)], applies, why);
        self.refuse(*openat, &[test(2, flags, text)], applies, why);
    }

    fn access_mode_three(&mut self) {
        let applies = Applies::HostPids;
        let why = "A file that is opened for neither reading nor writing takes an ioctl, and Landlock lets every file be opened so.";
        let (neither, text) = (Masked(ACCESS_MODE, ACCESS_MODE), "flags & O_ACCMODE == O_ACCMODE");
        #[cfg(target_arch = "x86_64")]
        self.refuse(("open", libc::SYS_open), &[test(1, neither, text)], applies, why);
        self.refuse(("openat", libc::SYS_openat), &[test(2, neither, text)], applies, why);
    }

    fn ipc(&mut self) {
        let why = "Without an IPC namespace these reach segments, semaphores and queues of the user's other programs, and what a killed program made stays. PostgreSQL and `fakeroot` need them.";
        for call in calls![
            SYS_shmget,
            SYS_shmat,
            SYS_shmctl,
            SYS_semget,
            SYS_semop,
            SYS_semtimedop,
            SYS_semctl,
            SYS_msgget,
            SYS_msgsnd,
            SYS_msgrcv,
            SYS_msgctl,
            SYS_mq_open,
            SYS_mq_unlink,
        ] {
            self.add(*call, &[], Answer::Missing, Applies::HostPids, why);
        }
    }

    fn priorities(&mut self) {
        let [setpriority, ioprio_set] = calls![SYS_setpriority, SYS_ioprio_set];
        let why = "A group or a user can include processes outside, and the supervisor.";
        self.refuse(*setpriority, &[test(0, Differs(0), "which != PRIO_PROCESS")], Applies::Everywhere, why);
        self.refuse(
            *ioprio_set,
            &[test(0, Differs(1), "which != IOPRIO_WHO_PROCESS")],
            Applies::Everywhere,
            why,
        );
        let threads = "Without a pid namespace the number can be any process of the same user. Threads name each other this way (`pthread_setaffinity_np`), and only the supervisor can tell which they are.";
        let first =
            "The first process of the namespace ends the tree at its deadline and is not to be slowed down.";
        let by_pid =
            calls![SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr, SYS_sched_setaffinity];
        for (call, argument) in
            by_pid.iter().map(|call| (*call, 0)).chain([(*setpriority, 1), (*ioprio_set, 1)])
        {
            self.refuse(call, &[test(argument, Equal(1), "pid == 1")], Applies::OwnPids, first);
            let other = test(argument, Differs(0), "pid != 0");
            self.add(call, &[other], Answer::Asked, Applies::HostPids, threads);
        }
    }

    fn limits(&mut self) {
        let [io_setup, fcntl] = calls![SYS_io_setup, SYS_fcntl];
        let why = "The machine has a fixed number of these for all its processes. Programs fall back to other ways to read and write.";
        self.add(*io_setup, &[], Answer::Missing, Applies::Everywhere, why);
        let why = "A lease delays a process outside that opens the file for writing.";
        self.refuse(*fcntl, &[test(1, Equal(1024), "cmd == F_SETLEASE")], Applies::Everywhere, why);
        let [prctl, prlimit, setrlimit] = calls![SYS_prctl, SYS_prlimit64, SYS_setrlimit];
        let hides = [test(0, Equal(4), "option == PR_SET_DUMPABLE"), test(1, Equal(0), "arg2 == 0")];
        let why = "The descriptors of a process that is not dumpable, and so the memory behind them, could not be counted. Programs that ask for it expect success.";
        self.add(*prctl, &hides, Answer::Pretended, Applies::Everywhere, why);
        let why = "A child may change its own limits, but not those of the supervisor or of other processes.";
        self.refuse(*prlimit, &[test(0, Differs(0), "pid != 0")], Applies::Everywhere, why);
        let core = |argument| test(argument, Equal(RLIMIT_CORE), "resource == RLIMIT_CORE");
        let why = "At a limit of 1 the kernel starts no program for a core dump; at 0 it does. Programs that lower the limit expect success.";
        self.add(*setrlimit, &[core(0)], Answer::Pretended, Applies::Everywhere, why);
        let no_old = [test(3, Equal(0), "old_limit == NULL"), upper(3, Equal(0), "")];
        self.add(*prlimit, &[core(1), no_old[0], no_old[1]], Answer::Pretended, Applies::Everywhere, why);
        let new = "new_limit != NULL";
        for given in [test(2, Differs(0), new), upper(2, Differs(0), new)] {
            self.refuse(
                *prlimit,
                &[core(1), given],
                Applies::Everywhere,
                "The same, where the old limit is asked for at once.",
            );
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test reads and writes a page of the repository")]
mod documents;
