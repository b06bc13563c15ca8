//! Copying and comparing memory: what every program does most, and the C library of the static one does plainly.
//!
//! Musl compares byte by byte, and copies with an instruction that takes longer to begin than most copies take. What is copied
//! or compared here is short for the most part: names, paths, words. So up to 128 bytes are read whole before any is
//! written, in pieces that overlap in the middle; that way it does not matter whether the two places overlap either.
//!
//! Invariant: exactly the bytes that were named are read and written, and in the static program these stand in for
//! the C library's own.

std::arch::global_asm!(
    ".pushsection .text.picoclaw_memory, \"ax\", @progbits",
    // rdi: where to, rsi: from where, rdx: how many; answers rdi.
    ".globl picoclaw_copy",
    ".type picoclaw_copy, @function",
    ".p2align 4",
    "picoclaw_copy:",
    "mov rax, rdi",
    "cmp rdx, 16",
    "jb 20f",
    "cmp rdx, 32",
    "ja 12f",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + rdx - 16]",
    "movups [rdi], xmm0",
    "movups [rdi + rdx - 16], xmm1",
    "ret",
    "12:",
    "cmp rdx, 128",
    "ja 30f",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + 16]",
    "movups xmm2, [rsi + rdx - 32]",
    "movups xmm3, [rsi + rdx - 16]",
    "cmp rdx, 64",
    "jbe 13f",
    "movups xmm4, [rsi + 32]",
    "movups xmm5, [rsi + 48]",
    "movups xmm6, [rsi + rdx - 64]",
    "movups xmm7, [rsi + rdx - 48]",
    "movups [rdi + 32], xmm4",
    "movups [rdi + 48], xmm5",
    "movups [rdi + rdx - 64], xmm6",
    "movups [rdi + rdx - 48], xmm7",
    "13:",
    "movups [rdi], xmm0",
    "movups [rdi + 16], xmm1",
    "movups [rdi + rdx - 32], xmm2",
    "movups [rdi + rdx - 16], xmm3",
    "ret",
    "20:",
    "cmp edx, 8",
    "jb 21f",
    "mov rcx, [rsi]",
    "mov r8, [rsi + rdx - 8]",
    "mov [rdi], rcx",
    "mov [rdi + rdx - 8], r8",
    "ret",
    "21:",
    "cmp edx, 4",
    "jb 22f",
    "mov ecx, [rsi]",
    "mov r8d, [rsi + rdx - 4]",
    "mov [rdi], ecx",
    "mov [rdi + rdx - 4], r8d",
    "ret",
    "22:",
    "test edx, edx",
    "jz 23f",
    "movzx ecx, byte ptr [rsi]",
    "movzx r8d, byte ptr [rsi + rdx - 1]",
    "shr edx, 1",
    "movzx r9d, byte ptr [rsi + rdx]",
    "mov [rdi + rdx], r9b",
    "adc edx, edx",
    "mov [rdi], cl",
    "mov [rdi + rdx - 1], r8b",
    "23:",
    "ret",
    // More: forwards in one instruction, unless that would write over what is still to be read.
    "30:",
    "mov r8, rdi",
    "sub r8, rsi",
    "cmp r8, rdx",
    "jb 31f",
    "movups xmm0, [rsi + rdx - 16]",
    "lea r8, [rdi + rdx - 16]",
    "mov rcx, rdx",
    "shr rcx, 3",
    "rep movsq",
    "movups [r8], xmm0",
    "ret",
    // Backwards, 16 bytes at a time; the first 16 were read before.
    "31:",
    "movups xmm1, [rsi]",
    "32:",
    "movups xmm0, [rsi + rdx - 16]",
    "movups [rdi + rdx - 16], xmm0",
    "sub rdx, 16",
    "cmp rdx, 16",
    "ja 32b",
    "movups [rdi], xmm1",
    "ret",
    ".size picoclaw_copy, . - picoclaw_copy",
    // rdi, rsi: the two places, rdx: how many; answers how the first two bytes that differ compare.
    ".globl picoclaw_compare",
    ".type picoclaw_compare, @function",
    ".p2align 4",
    "picoclaw_compare:",
    "cmp rdx, 16",
    "jb 45f",
    "40:",
    "movups xmm0, [rdi]",
    "movups xmm1, [rsi]",
    "pcmpeqb xmm0, xmm1",
    "pmovmskb eax, xmm0",
    "sub eax, 0xffff",
    "jnz 44f",
    "add rdi, 16",
    "add rsi, 16",
    "sub rdx, 16",
    "cmp rdx, 16",
    "jae 40b",
    "test rdx, rdx",
    "jz 43f",
    // The rest, together with what was found equal before it.
    "lea rdi, [rdi + rdx - 16]",
    "lea rsi, [rsi + rdx - 16]",
    "mov edx, 16",
    "jmp 40b",
    "43:",
    "xor eax, eax",
    "ret",
    "44:",
    "bsf eax, eax",
    "movzx ecx, byte ptr [rsi + rax]",
    "movzx eax, byte ptr [rdi + rax]",
    "sub eax, ecx",
    "ret",
    "45:",
    "cmp edx, 8",
    "jb 46f",
    "mov rax, [rdi]",
    "mov rcx, [rsi]",
    "cmp rax, rcx",
    "jne 48f",
    "mov rax, [rdi + rdx - 8]",
    "mov rcx, [rsi + rdx - 8]",
    "cmp rax, rcx",
    "jne 48f",
    "xor eax, eax",
    "ret",
    "46:",
    "cmp edx, 4",
    "jb 47f",
    "mov eax, [rdi]",
    "mov ecx, [rsi]",
    "mov r8d, [rdi + rdx - 4]",
    "mov r9d, [rsi + rdx - 4]",
    "bswap eax",
    "bswap ecx",
    "bswap r8d",
    "bswap r9d",
    "shl rax, 32",
    "shl rcx, 32",
    "or rax, r8",
    "or rcx, r9",
    "cmp rax, rcx",
    "jmp 49f",
    "47:",
    "test edx, edx",
    "jz 43b",
    "movzx eax, byte ptr [rdi]",
    "movzx ecx, byte ptr [rsi]",
    "sub eax, ecx",
    "jnz 50f",
    "inc rdi",
    "inc rsi",
    "dec edx",
    "jmp 47b",
    "48:",
    "bswap rax",
    "bswap rcx",
    "cmp rax, rcx",
    "49:",
    "seta al",
    "sbb ecx, ecx",
    "movzx eax, al",
    "or eax, ecx",
    "50:",
    "ret",
    ".size picoclaw_compare, . - picoclaw_compare",
    ".popsection",
);

#[cfg(all(target_env = "musl", not(test)))]
std::arch::global_asm!(
    ".globl memcpy, memmove, memcmp, bcmp",
    ".set memcpy, picoclaw_copy",
    ".set memmove, picoclaw_copy",
    ".set memcmp, picoclaw_compare",
    ".set bcmp, picoclaw_compare",
);

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    unsafe extern "C" {
        fn picoclaw_copy(to: *mut u8, from: *const u8, count: usize) -> *mut u8;
        fn picoclaw_compare(one: *const u8, other: *const u8, count: usize) -> i32;
    }

    /// Every size around a change of method.
    fn sizes() -> impl Iterator<Item = usize> {
        (0..=300).chain([511, 512, 4095, 4096, 4097])
    }

    fn pattern(size: usize) -> Vec<u8> {
        (0..size).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    #[test]
    fn a_copy_is_the_bytes_and_nothing_beside() {
        for size in sizes() {
            for shift in [0, 1, 7] {
                let from = pattern(size + 16);
                let mut to = vec![0xEE; size + 32];
                // SAFETY: both places hold what is named.
                unsafe {
                    let place = to.as_mut_ptr().add(8 + shift);
                    let answer = picoclaw_copy(place, from.as_ptr().add(shift), size);
                    assert_eq!(answer, place, "answers where it copied to");
                }
                let (before, rest) = to.split_at(8 + shift);
                let (copied, after) = rest.split_at(size);
                assert_eq!(copied, &from[shift..shift + size], "{size} bytes, {shift} off");
                assert!(before.iter().chain(after).all(|byte| *byte == 0xEE), "{size} bytes: the neighbours");
            }
        }
    }

    #[test]
    fn places_may_overlap() {
        for size in sizes() {
            for (from, to) in [(0, 1), (1, 0), (0, 8), (8, 0), (0, 16), (16, 0), (0, 100), (100, 0), (5, 5)] {
                let mut place = pattern(size + 128);
                let mut right = place.clone();
                right.copy_within(from..from + size, to);
                // SAFETY: both places lie within the vector.
                unsafe {
                    let start = place.as_mut_ptr();
                    picoclaw_copy(start.add(to), start.add(from), size);
                }
                assert!(place == right, "{size} bytes from {from} to {to}");
            }
        }
    }

    #[test]
    fn a_comparison_goes_by_the_first_byte_that_differs() {
        for size in sizes() {
            let one = pattern(size + 1);
            for at in (0..size).filter(|at| size < 300 || at % 97 == 0 || at + 20 > size).chain([size]) {
                for (change, behind) in [(1u8, 0), (255, 255), (128, 3)] {
                    let mut other = one.clone();
                    other[at] = other[at].wrapping_add(change);
                    // What lies behind the first difference does not count, nor what lies behind the end.
                    other.iter_mut().skip(at + 1).for_each(|byte| *byte = byte.wrapping_add(behind));
                    // SAFETY: both vectors hold one byte more than is compared.
                    let told = unsafe { picoclaw_compare(one.as_ptr(), other.as_ptr(), size) };
                    let right = one[..size].cmp(&other[..size]);
                    assert_eq!(told.cmp(&0), right, "{size} bytes, byte {at} changed by {change}");
                    assert_eq!(right == Ordering::Equal, at == size);
                }
            }
        }
    }
}
