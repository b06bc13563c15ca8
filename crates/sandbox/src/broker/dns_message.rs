//! The part of DNS that a name server without zones needs: one question, one address (RFC 1035).

use std::net::Ipv4Addr;

/// The longest query that is read. Without EDNS a message has 512 bytes at most.
pub(super) const MAX_QUERY: usize = 512;

const HEADER: usize = 12;
const MAX_NAME: usize = 253;
const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;
const CLASS_INTERNET: u16 = 1;
/// How long an answer may be kept, in seconds: the address stays for as long as the network does.
const TTL: u32 = 60;

/// A query with one question.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Query<'m> {
    /// In lower case, without the dot of the root.
    pub(super) name: String,
    /// What is asked for.
    pub(super) asked: Asked,
    id: [u8; 2],
    is_recursive: bool,
    question: &'m [u8],
}

/// What a query asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// Anything else.
    Other,
}

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// This address.
    Address(Ipv4Addr),
    /// The name exists, and has nothing of what is asked for.
    Nothing,
    /// There is no such name.
    NoSuchName,
    /// It cannot be said now.
    Failed,
}

impl<'m> Query<'m> {
    /// Parses a message; `None` unless it is a query of one question about a host name.
    pub(super) fn parse(message: &'m [u8]) -> Option<Self> {
        let [id_high, id_low, flags, _, 0, 1, ..] = *message.get(..HEADER)? else { return None };
        let (is_query, operation) = (flags & 0x80 == 0, flags >> 3 & 0xf);
        if !is_query || operation != 0 {
            return None;
        }
        let mut name = String::new();
        let mut at = HEADER;
        loop {
            let length = usize::from(*message.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            // A pointer has its two highest bits set; a question needs none.
            let label = message.get(at..at + length).filter(|_| length < 0x40)?;
            if name.len() + length > MAX_NAME {
                return None;
            }
            if !name.is_empty() {
                name.push('.');
            }
            // No host has another character in its name, and no entry a `?`.
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            let shown = |byte: &u8| if is_plain(*byte) { byte.to_ascii_lowercase().into() } else { '?' };
            name.extend(label.iter().map(shown));
            at += length;
        }
        let [kind_high, kind_low, class_high, class_low] = *message.get(at..at + 4)? else { return None };
        let asked =
            match (u16::from_be_bytes([class_high, class_low]), u16::from_be_bytes([kind_high, kind_low])) {
                (CLASS_INTERNET, TYPE_A) => Asked::Ipv4,
                (CLASS_INTERNET, TYPE_AAAA) => Asked::Ipv6,
                _ => Asked::Other,
            };
        let question = message.get(HEADER..at + 4)?;
        Some(Self { name, asked, id: [id_high, id_low], is_recursive: flags & 1 == 1, question })
    }

    /// The message that answers it.
    pub(super) fn answer(&self, answer: Answer) -> Vec<u8> {
        let code = match answer {
            Answer::Address(_) | Answer::Nothing => 0,
            Answer::Failed => 2,
            Answer::NoSuchName => 3,
        };
        let count = u8::from(matches!(answer, Answer::Address(_)));
        let mut message = self.id.to_vec();
        // A response, recursion as it was desired, and available.
        message.extend([0x80 | u8::from(self.is_recursive), 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0]);
        message.extend(self.question);
        if let Answer::Address(address) = answer {
            // The name is that of the question.
            message.extend([0xc0, HEADER as u8]);
            message.extend(TYPE_A.to_be_bytes());
            message.extend(CLASS_INTERNET.to_be_bytes());
            message.extend(TTL.to_be_bytes());
            message.extend([0, 4]);
            message.extend(address.octets());
        }
        message
    }
}

/// The answer to a message that is no such query; nothing to one that is shorter than a header.
pub(super) fn format_error(message: &[u8]) -> Vec<u8> {
    match message.get(..HEADER) {
        Some([high, low, flags, ..]) if flags & 0x80 == 0 => {
            [&[*high, *low, 0x80 | flags & 0x79, 0x81], &[0; 8][..]].concat()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut message = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            message.push(label.len() as u8);
            message.extend(label.bytes());
        }
        message.push(0);
        message.extend(kind.to_be_bytes());
        message.extend([0, 1]);
        message
    }

    #[test]
    fn a_question_is_read_and_answered() {
        let message = query("Api.Example.com", TYPE_A);
        let parsed = Query::parse(&message).unwrap();
        assert_eq!((parsed.name.as_str(), parsed.asked), ("api.example.com", Asked::Ipv4));
        let answer = parsed.answer(Answer::Address(Ipv4Addr::new(198, 18, 0, 2)));
        assert_eq!(answer[..12], [0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(answer[12..message.len()], message[12..], "the question is repeated as it was");
        assert_eq!(answer[message.len()..], [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 18, 0, 2]);
        for (answer, code) in [(Answer::Nothing, 0), (Answer::NoSuchName, 3), (Answer::Failed, 2)] {
            let message = parsed.answer(answer);
            assert_eq!((message[3] & 0xf, message[7]), (code, 0), "{answer:?}");
        }
        assert_eq!(Query::parse(&query("a.example", TYPE_AAAA)).unwrap().asked, Asked::Ipv6);
        assert_eq!(Query::parse(&query("a.example", 65)).unwrap().asked, Asked::Other);
    }

    #[test]
    fn what_is_no_question_about_a_host_is_not_answered() {
        let good = query("a.example", TYPE_A);
        let changed = |at: usize, byte: u8| {
            let mut message = good.clone();
            message[at] = byte;
            message
        };
        for (why, message) in [
            ("nothing", Vec::new()),
            ("a response", changed(2, 0x81)),
            ("another operation", changed(2, 0x28)),
            ("two questions", changed(5, 2)),
            ("no question", changed(5, 0)),
            ("a pointer", changed(12, 0xc0)),
            ("a label beyond the end", changed(12, 60)),
            ("the end of the question is missing", good[..good.len() - 1].to_vec()),
            ("a name that is too long", query(&["a".repeat(63).as_str(); 5].join("."), TYPE_A)),
        ] {
            assert_eq!(Query::parse(&message), None, "{why}");
        }
    }

    #[test]
    fn other_characters_make_a_name_that_no_host_has() {
        for byte in [7, b'.', b'*', b' ', 0xe9] {
            let mut message = query("a.example", TYPE_A);
            message[15] = byte;
            assert_eq!(Query::parse(&message).unwrap().name, "a.?xample", "{byte}");
        }
        let mut two = query("a.example", TYPE_A);
        two[5] = 2;
        assert_eq!(format_error(&two), [0x12, 0x34, 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(format_error(&two[..11]).is_empty(), "not even a header");
        two[2] = 0x81;
        assert!(format_error(&two).is_empty(), "an answer has none");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_question_or_none(message in prop::collection::vec(any::<u8>(), 0..MAX_QUERY)) {
            if let Some(query) = Query::parse(&message) {
                prop_assert!(query.name.len() <= MAX_NAME + 63);
                prop_assert!(query.answer(Answer::NoSuchName).len() <= message.len());
            }
        }
    }
}
