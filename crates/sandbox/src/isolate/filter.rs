//! The system calls that a caged child may not make.
//!
//! One program with four answers: foreign architectures are killed; numbers beyond the newest known one and `clone3`
//! (whose flags a filter cannot read) do not exist; what reaches beyond a cage is not permitted; the rest is allowed.
//!
//! Invariant: the program refuses by number and by the lower 32 bits of an argument, which are all the kernel reads.

use picoclaw_sys::linux::{Filter, Instruction};

const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_GREATER: u16 = 0x25;
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
    Filter::new(&instructions())
}

fn instructions() -> Vec<Instruction> {
    let mut program: Vec<Instruction> = vec![
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_IF_EQUAL, 1, 0, NATIVE),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_IF_GREATER, 0, 1, NEWEST),
        (RETURN, 0, 0, errno(libc::ENOSYS)),
    ];
    refuse_when(&mut program, libc::SYS_clone3, errno(libc::ENOSYS));
    refuse_all(&mut program, REFUSED);
    let namespaces = [(JUMP_IF_ANY_BIT, 0, 1, NAMESPACES), (RETURN, 0, 0, errno(libc::EPERM))];
    on_argument(&mut program, libc::SYS_clone, 0, &namespaces);
    on_argument(&mut program, libc::SYS_unshare, 0, &namespaces);
    let mut commands = Vec::new();
    for command in TERMINAL_COMMANDS {
        commands.extend([(JUMP_IF_EQUAL, 0, 1, command), (RETURN, 0, 0, errno(libc::EPERM))]);
    }
    on_argument(&mut program, libc::SYS_ioctl, 1, &commands);
    let mut families = Vec::new();
    for family in FAMILIES {
        families.extend([(JUMP_IF_EQUAL, 0, 1, family), (RETURN, 0, 0, ALLOW)]);
    }
    families.push((RETURN, 0, 0, errno(libc::EAFNOSUPPORT)));
    on_argument(&mut program, libc::SYS_socket, 0, &families);
    program.push((RETURN, 0, 0, ALLOW));
    program
}

fn refuse_when(program: &mut Vec<Instruction>, number: i64, answer: u32) {
    program.extend([(JUMP_IF_EQUAL, 0, 1, number as u32), (RETURN, 0, 0, answer)]);
}

/// Refuses each of `numbers`. In blocks of rising numbers, so that any other number passes most of them in one jump:
/// the kernel tries the program on every number there is when it is installed, and again at every call.
fn refuse_all(program: &mut Vec<Instruction>, numbers: &[i64]) {
    const BLOCK: usize = 8;
    let mut sorted: Vec<u32> = numbers.iter().map(|number| *number as u32).collect();
    sorted.sort_unstable();
    for block in sorted.chunks(BLOCK) {
        let (length, highest) = (block.len() as u8, block.last().copied().unwrap_or(0));
        program.push((JUMP_IF_GREATER, length + 2, 0, highest));
        for (at, number) in (0..length).zip(block) {
            program.push((JUMP_IF_EQUAL, length - at, 0, *number));
        }
        program.extend([(JUMP, 0, 0, 1), (RETURN, 0, 0, errno(libc::EPERM))]);
    }
}

/// For one system call, looks at the lower half of an argument, and allows what `checks` does not answer.
fn on_argument(program: &mut Vec<Instruction>, number: i64, argument: u32, checks: &[Instruction]) {
    let past = u8::try_from(checks.len() + 2).unwrap_or(u8::MAX);
    let lower_half = 16 + 8 * argument + if cfg!(target_endian = "big") { 4 } else { 0 };
    program.extend([(JUMP_IF_EQUAL, 0, past, number as u32), (LOAD, 0, 0, lower_half)]);
    program.extend_from_slice(checks);
    program.push((RETURN, 0, 0, ALLOW));
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
        let (program, mut at, mut loaded) = (instructions(), 0, 0);
        loop {
            let (code, yes, no, k) = program[at];
            let jump = |taken: bool| usize::from(if taken { yes } else { no });
            at += 1 + match code {
                LOAD => {
                    loaded = words[k as usize / 4];
                    0
                }
                JUMP => k as usize,
                JUMP_IF_EQUAL => jump(loaded == k),
                JUMP_IF_GREATER => jump(loaded > k),
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
