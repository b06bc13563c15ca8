//! The system calls that a caged child may not make.
//!
//! One program with four answers: foreign architectures are killed; numbers beyond the newest known one and `clone3`
//! (whose flags a filter cannot read) do not exist; what reaches beyond a cage is not permitted; the rest is allowed.
//!
//! Invariant: the program refuses by number and by the lower 32 bits of an argument, which are all the kernel reads.

use picoclaw_sys::linux::{Filter, Instruction};

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
pub(super) fn program() -> Option<Filter> {
    Filter::new(&instructions()?)
}

/// What the program does with a number; each is a few instructions at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Allow,
    Refuse,
    Missing,
    NoNamespaces,
    NoTyping,
    KnownFamilies,
}

impl Answer {
    const ALL: [Self; 6] =
        [Self::Allow, Self::Refuse, Self::Missing, Self::NoNamespaces, Self::NoTyping, Self::KnownFamilies];

    fn instructions(self) -> Vec<Instruction> {
        let refuse = (RETURN, 0, 0, errno(libc::EPERM));
        let allow = (RETURN, 0, 0, ALLOW);
        match self {
            Self::Allow => vec![allow],
            Self::Refuse => vec![refuse],
            Self::Missing => vec![(RETURN, 0, 0, errno(libc::ENOSYS))],
            Self::NoNamespaces => vec![argument(0), (JUMP_IF_ANY_BIT, 0, 1, NAMESPACES), refuse, allow],
            Self::NoTyping => {
                let [one, two, three] = TERMINAL_COMMANDS;
                let tests = [(JUMP_IF_EQUAL, 2, 0, one), (JUMP_IF_EQUAL, 1, 0, two)];
                [&[argument(1)], &tests[..], &[(JUMP_IF_EQUAL, 0, 1, three), refuse, allow]].concat()
            }
            Self::KnownFamilies => {
                let known = FAMILIES.iter().zip((1..=FAMILIES.len() as u8).rev());
                let tests = known.map(|(family, past)| (JUMP_IF_EQUAL, past, 0, *family));
                let unknown = (RETURN, 0, 0, errno(libc::EAFNOSUPPORT));
                [argument(0)].into_iter().chain(tests).chain([unknown, allow]).collect()
            }
        }
    }
}

/// The answer to each number, the last one to all beyond the newest.
static ANSWERS: [Answer; NEWEST as usize + 2] = {
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
    table[NEWEST as usize + 1] = Answer::Missing;
    table
};

/// Loads the lower half of an argument.
fn argument(which: u32) -> Instruction {
    (LOAD, 0, 0, 16 + 8 * which + if cfg!(target_endian = "big") { 4 } else { 0 })
}

/// A tree over the numbers, then the answers: the kernel tries the program on every number there is when it is installed,
/// so a short way to each answer makes each start of a child cheaper. `None` when a jump would be too far.
fn instructions() -> Option<Vec<Instruction>> {
    let mut program: Vec<Instruction> = vec![
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_IF_EQUAL, 1, 0, NATIVE),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
    ];
    let mut ranges: Vec<(u32, Answer)> = Vec::new();
    for (number, answer) in (0..).zip(&ANSWERS) {
        if ranges.last().is_none_or(|(_, last)| last != answer) {
            ranges.push((number, *answer));
        }
    }
    let mut tree = Vec::new();
    grow(&mut tree, &ranges);
    let mut answers = Vec::new();
    let mut begins = Vec::new();
    for answer in Answer::ALL {
        begins.push((answer, tree.len() + answers.len()));
        answers.extend(answer.instructions());
    }
    let distance = |from: usize, to: &Goal| {
        let to = match to {
            Goal::Node(at) => *at,
            Goal::Answer(answer) => begins.iter().find(|(known, _)| known == answer)?.1,
        };
        u8::try_from(to.checked_sub(from + 1)?).ok()
    };
    for (at, node) in tree.iter().enumerate() {
        program.push((JUMP_IF_AT_LEAST, distance(at, &node.above)?, distance(at, &node.below)?, node.least));
    }
    program.extend(answers);
    Some(program)
}

/// One question of the tree: whether a number is at least this.
struct Node {
    least: u32,
    above: Goal,
    below: Goal,
}

/// Where an answer to that leads.
#[derive(Clone, Copy)]
enum Goal {
    Node(usize),
    Answer(Answer),
}

/// Adds the nodes that tell `ranges` apart, the first of them first.
fn grow(tree: &mut Vec<Node>, ranges: &[(u32, Answer)]) -> Goal {
    let (below, above) = ranges.split_at(ranges.len() / 2);
    let [(least, answer), ..] = above else { return Goal::Answer(Answer::Refuse) };
    if below.is_empty() {
        return Goal::Answer(*answer);
    }
    let at = tree.len();
    tree.push(Node { least: *least, above: Goal::Node(at), below: Goal::Node(at) });
    let goals = (grow(tree, below), grow(tree, above));
    if let Some(node) = tree.get_mut(at) {
        (node.below, node.above) = goals;
    }
    Goal::Node(at)
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
        let (program, mut at, mut loaded) = (instructions().unwrap(), 0, 0);
        loop {
            let (code, yes, no, k) = program[at];
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
            ("a socket to the hypervisor", libc::SYS_socket, [40, 0], errno(libc::EAFNOSUPPORT)),
        ] {
            assert_eq!(answer(NATIVE, number as u32, arguments), want, "{why}");
        }
        assert_eq!(answer(0x4000_0003, 1, [0, 0]), KILL, "another architecture");
        for number in 0..=i64::from(NEWEST) {
            let special =
                [libc::SYS_clone, libc::SYS_clone3, libc::SYS_unshare, libc::SYS_ioctl, libc::SYS_socket];
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
