//! Builds the seccomp filter of a cage.
//!
//! Foreign architectures are killed. `clone3`, whose flags a filter cannot read, and numbers beyond
//! the newest known one fail with ENOSYS. What reaches beyond the cage fails with EPERM. Everything
//! else is allowed.
//!
//! Invariant: arguments are compared by their lower 32 bits, which are all that the kernel uses of
//! them; a 64-bit comparison could be bypassed through the upper half.

use picoclaw_sys::linux::{Instruction, SeccompFilter};

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const JUMP_IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Offsets in `struct seccomp_data`.
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

/// The newest system call that was reviewed: `removexattrat`. The x32 ABI begins at 2³⁰.
const NEWEST: u32 = 466;

/// The CLONE_NEW* flags.
const NAMESPACES: u32 =
    0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000 | 0x80;

/// Refused whatever their arguments are.
const REFUSED: &[i64] = &[
    // Mounts: the file tree of a cage is complete.
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
    // Subsystems with a history of vulnerabilities.
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

/// TIOCSTI, TIOCLINUX and TIOCCONS: they inject input, or take over the console.
const REFUSED_IOCTLS: [u32; 3] = [0x5412, 0x541c, 0x541d];

/// The socket families that a network namespace confines: AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6,
/// AF_NETLINK.
const ALLOWED_FAMILIES: [u32; 5] = [0, 1, 2, 10, 16];

/// The filter of every cage.
pub(super) fn program() -> Option<SeccompFilter> {
    SeccompFilter::new(&instructions())
}

fn instructions() -> Vec<Instruction> {
    let mut program = vec![
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_IF_EQUAL, 1, 0, NATIVE),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_IF_AT_LEAST, 0, 1, NEWEST + 1),
        (RETURN, 0, 0, errno(libc::ENOSYS)),
    ];
    let denied = (RETURN, 0, 0, errno(libc::EPERM));
    let missing = (RETURN, 0, 0, errno(libc::ENOSYS));
    for number in REFUSED {
        program.extend([(JUMP_IF_EQUAL, 0, 1, *number as u32), denied]);
    }
    program.extend([(JUMP_IF_EQUAL, 0, 1, libc::SYS_clone3 as u32), missing]);
    for number in [libc::SYS_clone, libc::SYS_unshare] {
        argument_rule(&mut program, number, 0, &[(JUMP_IF_ANY_BIT, 0, 1, NAMESPACES), denied]);
    }
    for command in REFUSED_IOCTLS {
        argument_rule(&mut program, libc::SYS_ioctl, 1, &[(JUMP_IF_EQUAL, 0, 1, command), denied]);
    }
    let allowed = |family| [(JUMP_IF_EQUAL, 0, 1, family), (RETURN, 0, 0, ALLOW)];
    let mut families: Vec<_> = ALLOWED_FAMILIES.into_iter().flat_map(allowed).collect();
    families.push((RETURN, 0, 0, errno(libc::EAFNOSUPPORT)));
    argument_rule(&mut program, libc::SYS_socket, 0, &families);
    // A child may change its own limits, but not those of the supervisor.
    argument_rule(&mut program, libc::SYS_prlimit64, 0, &[(JUMP_IF_EQUAL, 1, 0, 0), denied]);
    program.push((RETURN, 0, 0, ALLOW));
    program
}

/// Adds a rule that looks at one argument of a system call. A rule that ends without a return leads
/// to the next one, so the number is loaded again.
fn argument_rule(program: &mut Vec<Instruction>, number: i64, argument: u32, then: &[Instruction]) {
    program.push((JUMP_IF_EQUAL, 0, then.len() as u8 + 2, number as u32));
    program.push((LOAD, 0, 0, lower_half(argument)));
    program.extend_from_slice(then);
    program.push((LOAD, 0, 0, NUMBER_AT));
}

/// The offset of the lower half of an argument.
const fn lower_half(argument: u32) -> u32 {
    16 + 8 * argument + if cfg!(target_endian = "big") { 4 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_valid() {
        assert!(program().is_some());
    }

    /// Interprets the program for one system call, as the kernel does.
    fn answer(architecture: u32, number: u32, arguments: [u64; 2]) -> u32 {
        let program = instructions();
        let words = [number, architecture, 0, 0, arguments[0] as u32, 0, arguments[1] as u32, 0];
        let (mut at, mut loaded) = (0, 0);
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
            ("an unknown call", 467, [0, 0], missing),
            ("the x32 variant of a refused call", 0x4000_0000 + libc::SYS_ptrace, [0, 0], missing),
            ("a thread", libc::SYS_clone, [0x3d_0f00, 0], ALLOW),
            ("a user namespace by clone", libc::SYS_clone, [0x1000_0000, 0], denied),
            ("a user namespace by unshare", libc::SYS_unshare, [0x1000_0000, 0], denied),
            ("files of its own", libc::SYS_unshare, [0x400, 0], ALLOW),
            ("the size of a terminal", libc::SYS_ioctl, [0, 0x5413], ALLOW),
            ("injected terminal input", libc::SYS_ioctl, [0, 0x5412], denied),
            (
                "the same, with upper bits that the kernel drops",
                libc::SYS_ioctl,
                [0, 0xdead_0000_5412],
                denied,
            ),
            ("a local socket", libc::SYS_socket, [1, 0], ALLOW),
            ("limits of its own", libc::SYS_prlimit64, [0, 7], ALLOW),
            ("limits of its supervisor", libc::SYS_prlimit64, [1, 7], denied),
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
