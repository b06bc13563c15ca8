//! Compiles the rules of a seccomp filter.
//!
//! Foreign architectures are killed. Numbers beyond the newest known one fail with ENOSYS. What no
//! rule of [`seccomp_rules`](super::seccomp_rules) answers is allowed.

use super::seccomp_rules::{Answer, Compare, FilterScope, Half, NEWEST, Pids, Rule, Sockets, Test, rules};
use crate::isolate::error::IsolateError;
use crate::isolate::linux::kernel_error;
use picoclaw_sys::linux::{Instruction, SeccompFilter, Step};
use rustix::process::Resource;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const JUMP_IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Offsets in `struct seccomp_data`.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
/// SECCOMP_RET_USER_NOTIF.
const ASK: u32 = 0x7fc0_0000;
const fn errno(value: i32) -> u32 {
    0x0005_0000 | value as u32
}

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;

/// At this limit the kernel starts no program that `core_pattern` names for a core dump (at 0 it
/// does), and no core file is written.
pub(super) const NO_CORE_HANDLER: Step = Step::Rlimit(Resource::Core, 1);

/// A thread of a real-time class runs before every ordinary one, and some hosts let their users
/// have them.
pub(super) const NO_REAL_TIME: Step = Step::Rlimit(Resource::Rtprio, 0);

/// The filter of a child with a pid namespace of its own, whose processes may trace each other if
/// `debug`.
pub(super) fn caged_program(debug: bool) -> Result<SeccompFilter, IsolateError> {
    compile(FilterScope { debug, ..scope(Pids::Own, Sockets::ALL) }, errno(libc::EPERM))
}

/// The step that installs the filter of a child without a pid namespace, which asks the supervisor.
/// `landlock` is the ABI version that holds its files.
pub(super) fn asking_step(sockets: Sockets, landlock: Option<u32>) -> Result<Step, IsolateError> {
    let no_truncate_right = landlock.is_some_and(|abi| abi < 3);
    let scope = FilterScope { no_truncate_right, ..scope(Pids::Host, sockets) };
    let (asking, refusing) = (compile(scope, ASK)?, compile(scope, errno(libc::EPERM))?);
    Ok(Step::SeccompAsking(Arc::new(asking), Arc::new(refusing)))
}

fn scope(pids: Pids, sockets: Sockets) -> FilterScope {
    let root = rustix::process::geteuid().is_root();
    FilterScope { root, pids, sockets, debug: false, no_truncate_right: false }
}

fn compile(scope: FilterScope, asked: u32) -> Result<SeccompFilter, IsolateError> {
    SeccompFilter::new(&instructions(scope, asked))
        .ok_or_else(|| kernel_error("write the system call filter")(io::ErrorKind::InvalidData.into()))
}

/// The program of a scope; `asked` is what it returns where the supervisor is asked.
fn instructions(scope: FilterScope, asked: u32) -> Vec<Instruction> {
    let mut program = vec![
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_IF_EQUAL, 1, 0, NATIVE),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_IF_AT_LEAST, 0, 1, NEWEST + 1),
        (RETURN, 0, 0, errno(libc::ENOSYS)),
    ];
    let mut by_number: BTreeMap<i64, Vec<Rule>> = BTreeMap::new();
    for rule in rules().into_iter().filter(|rule| rule.is_for(scope)) {
        by_number.entry(rule.number).or_default().push(rule);
    }
    // Calls whose arguments are looked at come first: the kernel remembers which others are always
    // allowed and does not run the filter for them.
    let (whole, by_argument): (Vec<_>, Vec<_>) =
        by_number.iter().partition(|(_, rules)| rules.iter().any(|rule| rule.when.is_empty()));
    for (number, rules) in by_argument.into_iter().chain(whole) {
        let mut body: Vec<Instruction> = rules.iter().flat_map(|rule| compile_rule(rule, asked)).collect();
        body.push((RETURN, 0, 0, ALLOW));
        program.push((JUMP_IF_EQUAL, 0, body.len() as u8, *number as u32));
        program.append(&mut body);
    }
    program.push((RETURN, 0, 0, ALLOW));
    program
}

/// A rule for a call that has its number: returns the answer, or continues behind it.
fn compile_rule(rule: &Rule, asked: u32) -> Vec<Instruction> {
    let length = rule.when.iter().map(|test| instructions_of(test).len()).sum::<usize>() + 1;
    let mut code = Vec::with_capacity(length);
    for test in &rule.when {
        code.extend(instructions_of(test));
        let behind_the_rule = (length - code.len()) as u8;
        if let Some((_, yes, no, _)) = code.last_mut() {
            match test.compare {
                Compare::Differs(_) => *yes = behind_the_rule,
                Compare::AnyBit(_) | Compare::Equal(_) | Compare::Masked(..) => *no = behind_the_rule,
            }
        }
    }
    let returned = match rule.answer {
        Answer::Refused => errno(libc::EPERM),
        Answer::Missing => errno(libc::ENOSYS),
        Answer::NoSuchFamily => errno(libc::EAFNOSUPPORT),
        Answer::Pretended => errno(0),
        Answer::Asked => asked,
    };
    code.push((RETURN, 0, 0, returned));
    code
}

/// The instructions of a test, the last of which is a jump.
fn instructions_of(test: &Test) -> Vec<Instruction> {
    let is_second_word = (test.half == Half::Upper) != cfg!(target_endian = "big");
    let at = ARGUMENTS_AT + 8 * test.argument + if is_second_word { 4 } else { 0 };
    let load = (LOAD, 0, 0, at);
    match test.compare {
        Compare::AnyBit(bits) => vec![load, (JUMP_IF_ANY_BIT, 0, 0, bits)],
        Compare::Equal(value) | Compare::Differs(value) => vec![load, (JUMP_IF_EQUAL, 0, 0, value)],
        Compare::Masked(mask, value) => vec![load, (AND, 0, 0, mask), (JUMP_IF_EQUAL, 0, 0, value)],
    }
}

#[cfg(test)]
mod tests;
