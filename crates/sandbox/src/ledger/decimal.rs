//! Numbers as they are written in the ledger, without a detour over `fmt`: this is on the way of every call.
//!
//! Invariant: the spelling is the one that `Display` has.

/// The digits of one number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decimal {
    digits: [u8; 20],
    from: usize,
}

impl Decimal {
    pub(super) fn of(mut number: u64) -> Self {
        let mut written = Self { digits: [b'0'; 20], from: 20 };
        for digit in written.digits.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            written.from -= 1;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        written
    }

    pub(super) fn digits(&self) -> &[u8] {
        self.digits.get(self.from..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_spelled_as_everywhere() {
        for number in [0, 1, 9, 10, 99, 100, 4_294_967_296, u64::MAX - 1, u64::MAX] {
            assert_eq!(Decimal::of(number).digits(), number.to_string().as_bytes());
        }
    }
}
