//! The system calls that a caged child may not make.
//!
//! One program with four answers: foreign architectures are killed; numbers beyond the newest known one and `clone3`
//! (whose flags a filter cannot read) do not exist; what reaches beyond a cage is not permitted; the rest is allowed.
//!
//! Invariant: the program refuses by number and by the lower 32 bits of an argument, which are all the kernel reads.

use picoclaw_sys::linux::{Instruction, SeccompFilter};

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const JUMP_IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const fn errno(value: i32) -> u32 {
    0x0005_0000 | value as u32
}

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;

/// The newest system call that was looked at: `removexattrat`. The x32 variant begins at 2³⁰, far beyond.
const NEWEST: u32 = 466;

const NAMESPACES: u32 =
    0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000 | 0x80;

/// Refused whatever their arguments.
const REFUSED: &[i64] = &[
    // File trees: a caged child lives in one that is finished.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // Other processes and other namespaces.
    libc::SYS_setns,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Parts of the kernel with a history.
    libc::SYS_bpf,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_syslog,
    libc::SYS_acct,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_clock_settime,
    libc::SYS_settimeofday,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
];

/// Terminal commands that type on somebody's behalf, or take the console.
const TERMINAL_COMMANDS: [u32; 3] = [0x5412, 0x541c, 0x541d];

/// Socket families that a network namespace keeps: local, IPv4, IPv6 and the kernel's own routing.
const FAMILIES: [u32; 5] = [0, 1, 2, 10, 16];

/// The filter for every caged child.
pub(super) fn program() -> Option<SeccompFilter> {
    SeccompFilter::new(&PROGRAM)
}

/// What the program does with a number; each is a few instructions at its end, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Allow,
    Refuse,
    Missing,
    NoNamespaces,
    NoTyping,
    KnownFamilies,
    OwnLimits,
}

const REFUSE: Instruction = (RETURN, 0, 0, errno(libc::EPERM));
const PERMIT: Instruction = (RETURN, 0, 0, ALLOW);

/// The answers in the order of [`Answer`], and where each begins.
const ANSWERING: [Instruction; 25] = {
    let ([one, two, three], [none, unix, ipv4, ipv6, netlink]) = (TERMINAL_COMMANDS, FAMILIES);
    [
        PERMIT,
        REFUSE,
        (RETURN, 0, 0, errno(libc::ENOSYS)),
        argument(0),
        (JUMP_IF_ANY_BIT, 0, 1, NAMESPACES),
        REFUSE,
        PERMIT,
        argument(1),
        (JUMP_IF_EQUAL, 2, 0, one),
        (JUMP_IF_EQUAL, 1, 0, two),
        (JUMP_IF_EQUAL, 0, 1, three),
        REFUSE,
        PERMIT,
        argument(0),
        (JUMP_IF_EQUAL, 5, 0, none),
        (JUMP_IF_EQUAL, 4, 0, unix),
        (JUMP_IF_EQUAL, 3, 0, ipv4),
        (JUMP_IF_EQUAL, 2, 0, ipv6),
        (JUMP_IF_EQUAL, 1, 0, netlink),
        (RETURN, 0, 0, errno(libc::EAFNOSUPPORT)),
        PERMIT,
        argument(0),
        (JUMP_IF_EQUAL, 1, 0, 0),
        REFUSE,
        PERMIT,
    ]
};

impl Answer {
    const fn begins(self) -> usize {
        match self {
            Self::Allow => 0,
            Self::Refuse => 1,
            Self::Missing => 2,
            Self::NoNamespaces => 3,
            Self::NoTyping => 7,
            Self::KnownFamilies => 13,
            Self::OwnLimits => 21,
        }
    }
}

/// The answer to each number, the last one to all beyond the newest.
const ANSWERS: [Answer; NEWEST as usize + 2] = {
    let mut table = [Answer::Allow; NEWEST as usize + 2];
    let mut at = 0;
    while at < REFUSED.len() {
        table[REFUSED[at] as usize] = Answer::Refuse;
        at += 1;
    }
    table[libc::SYS_clone3 as usize] = Answer::Missing;
    table[libc::SYS_clone as usize] = Answer::NoNamespaces;
    table[libc::SYS_unshare as usize] = Answer::NoNamespaces;
    table[libc::SYS_ioctl as usize] = Answer::NoTyping;
    table[libc::SYS_socket as usize] = Answer::KnownFamilies;
    // Of others, the keeper among them: without descriptors it could not watch over anybody.
    table[libc::SYS_prlimit64 as usize] = Answer::OwnLimits;
    table[NEWEST as usize + 1] = Answer::Missing;
    table
};

/// Loads the lower half of an argument.
const fn argument(which: u32) -> Instruction {
    (LOAD, 0, 0, 16 + 8 * which + if cfg!(target_endian = "big") { 4 } else { 0 })
}

/// How many numbers begin a range of one answer.
const RANGES: usize = {
    let (mut ranges, mut at) = (1, 1);
    while at < ANSWERS.len() {
        ranges += (ANSWERS[at] as u8 != ANSWERS[at - 1] as u8) as usize;
        at += 1;
    }
    ranges
};

/// Where those ranges begin.
const BEGINNINGS: [usize; RANGES] = {
    let mut beginnings = [0; RANGES];
    let (mut range, mut at) = (1, 1);
    while at < ANSWERS.len() {
        if ANSWERS[at] as u8 != ANSWERS[at - 1] as u8 {
            beginnings[range] = at;
            range += 1;
        }
        at += 1;
    }
    beginnings
};

/// What comes before the tree.
const FIRST: [Instruction; 4] = [
    (LOAD, 0, 0, ARCHITECTURE_AT),
    (JUMP_IF_EQUAL, 1, 0, NATIVE),
    (RETURN, 0, 0, KILL),
    (LOAD, 0, 0, NUMBER_AT),
];

/// Questions that tell as many ranges apart.
const NODES: usize = RANGES - 1;
const LENGTH: usize = FIRST.len() + NODES + ANSWERING.len();

/// A tree over the numbers, then the answers: the kernel tries the program on every number there is when it is installed,
/// so a short way to each answer makes each start of a child cheaper. Written while this is compiled, which stops where a
/// jump would be too far.
static PROGRAM: [Instruction; LENGTH] = {
    let mut program = [PERMIT; LENGTH];
    let mut at = 0;
    while at < FIRST.len() {
        program[at] = FIRST[at];
        at += 1;
    }
    grow(&mut program, 0, (0, RANGES));
    at = 0;
    while at < ANSWERING.len() {
        program[FIRST.len() + NODES + at] = ANSWERING[at];
        at += 1;
    }
    program
};

/// Writes the nodes that tell `ranges` apart, at `node` and after it.
const fn grow(program: &mut [Instruction; LENGTH], node: usize, ranges: (usize, usize)) {
    let (from, to) = ranges;
    if to - from < 2 {
        return;
    }
    let middle = from + (to - from) / 2;
    // As many nodes as ranges but one: those below come first.
    let (below, above) = (node + 1, node + middle - from);
    let goals = (distance(node, above, (middle, to)), distance(node, below, (from, middle)));
    program[FIRST.len() + node] = (JUMP_IF_AT_LEAST, goals.0, goals.1, BEGINNINGS[middle] as u32);
    grow(program, below, (from, middle));
    grow(program, above, (middle, to));
}

/// How far from `node` the nodes for `ranges` are, which begin at `first`, or the answer where there is only one.
const fn distance(node: usize, first: usize, ranges: (usize, usize)) -> u8 {
    let (from, to) = ranges;
    let goal = if to - from > 1 { first } else { NODES + ANSWERS[BEGINNINGS[from]].begins() };
    let far = goal - node - 1;
    assert!(far <= u8::MAX as usize, "a jump of the filter is too far");
    far as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_one_the_kernel_takes() {
        assert!(program().is_some());
    }

    /// Runs the program as the kernel would, on one system call.
    fn answer(architecture: u32, number: u32, arguments: [u64; 2]) -> u32 {
        let words = [number, architecture, 0, 0, arguments[0] as u32, 0, arguments[1] as u32, 0];
        let (mut at, mut loaded) = (0, 0);
        loop {
            let (code, yes, no, k) = PROGRAM[at];
            let jump = |taken: bool| usize::from(if taken { yes } else { no });
            at += 1 + match code {
                LOAD => {
                    loaded = words[k as usize / 4];
                    0
                }
                JUMP_IF_EQUAL => jump(loaded == k),
                JUMP_IF_AT_LEAST => jump(loaded >= k),
                JUMP_IF_ANY_BIT => jump(loaded & k != 0),
                _ => return k,
            };
        }
    }

    #[test]
    fn every_call_gets_its_answer() {
        let (denied, missing) = (errno(libc::EPERM), errno(libc::ENOSYS));
        for (why, number, arguments, want) in [
            ("an ordinary call", libc::SYS_read, [0, 0], ALLOW),
            ("a new program", libc::SYS_execve, [0, 0], ALLOW),
            ("a mount", libc::SYS_mount, [0, 0], denied),
            ("a mount, the new way", libc::SYS_open_tree, [0, 0], denied),
            ("a look into another process", libc::SYS_ptrace, [0, 0], denied),
            ("clone3 hides its flags", libc::SYS_clone3, [0, 0], missing),
            ("a call nobody knows yet", 467, [0, 0], missing),
            ("the x32 variant of a refused call", 0x4000_0000 + libc::SYS_ptrace, [0, 0], missing),
            ("a thread", libc::SYS_clone, [0x3d_0f00, 0], ALLOW),
            ("a user namespace by clone", libc::SYS_clone, [0x1000_0000, 0], denied),
            ("a user namespace by unshare", libc::SYS_unshare, [0x1000_0000, 0], denied),
            ("files of its own", libc::SYS_unshare, [0x400, 0], ALLOW),
            ("the size of a terminal", libc::SYS_ioctl, [0, 0x5413], ALLOW),
            ("typing for somebody", libc::SYS_ioctl, [0, 0x5412], denied),
            (
                "the same, with upper bits that the kernel drops",
                libc::SYS_ioctl,
                [0, 0xdead_0000_5412],
                denied,
            ),
            ("a local socket", libc::SYS_socket, [1, 0], ALLOW),
            ("limits of its own", libc::SYS_prlimit64, [0, 7], ALLOW),
            ("limits of its keeper", libc::SYS_prlimit64, [1, 7], denied),
            ("a socket to the hypervisor", libc::SYS_socket, [40, 0], errno(libc::EAFNOSUPPORT)),
        ] {
            assert_eq!(answer(NATIVE, number as u32, arguments), want, "{why}");
        }
        assert_eq!(answer(0x4000_0003, 1, [0, 0]), KILL, "another architecture");
        for number in 0..=i64::from(NEWEST) {
            let special = [
                libc::SYS_clone,
                libc::SYS_clone3,
                libc::SYS_unshare,
                libc::SYS_ioctl,
                libc::SYS_socket,
                libc::SYS_prlimit64,
            ];
            if !special.contains(&number) {
                let want = if REFUSED.contains(&number) { denied } else { ALLOW };
                assert_eq!(answer(NATIVE, number as u32, [0, 0]), want, "{number}");
            }
        }
    }

    #[test]
    fn no_refused_number_lies_beyond_the_newest() {
        for number in REFUSED {
            assert!((0..=i64::from(NEWEST)).contains(number), "{number}");
        }
    }
}
