//! Finds the id of a request that is too long to be held in memory, so that it can be refused by
//! id.

/// Longer keys and ids are cut, and so match nothing.
const MAX_TOKEN_BYTES: usize = 256;

/// Scans one JSON object as it passes, in constant memory.
#[derive(Debug, Default)]
pub(crate) struct OversizedId {
    depth: u64,
    /// Inside a string: whether the next byte is escaped.
    string: Option<bool>,
    /// After the colon of a member of the outermost object.
    is_value: bool,
    /// The current key or scalar value of the outermost object, as written.
    token: Vec<u8>,
    key: Vec<u8>,
    id: Option<Vec<u8>>,
    has_method: bool,
}

/// What the beginning of a message that is too long shows of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OversizedMessage {
    /// The response to the request with this id, as JSON text.
    Response(String),
    /// A request or a notification, or no message at all: no request waits for it.
    Unanswering,
    /// Neither is to be seen.
    Unknown,
}

impl OversizedMessage {
    pub(crate) fn of(head: &[u8]) -> Self {
        if head.trim_ascii_start().first().is_some_and(|byte| *byte != b'{') {
            return Self::Unanswering;
        }
        let mut scan = OversizedId::default();
        scan.push(head);
        let id = scan.id.and_then(|id| String::from_utf8(id).ok());
        match id.filter(|id| super::Id::parse(id).is_some()) {
            _ if scan.has_method => Self::Unanswering,
            Some(id) => Self::Response(id),
            None => Self::Unknown,
        }
    }
}

impl OversizedId {
    /// Scans the next bytes of the message.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The JSON text of the id, if the message was a request with one.
    pub(crate) fn finish(self) -> Option<String> {
        let id = self.id.filter(|id| self.has_method && !id.is_empty())?;
        String::from_utf8(id).ok()
    }

    fn step(&mut self, byte: u8) {
        if let Some(is_escaped) = self.string {
            self.keep(byte);
            self.string = match byte {
                b'"' if !is_escaped => None,
                b'\\' => Some(!is_escaped),
                _ => Some(false),
            };
            return;
        }
        match byte {
            b'"' => {
                self.keep(byte);
                self.string = Some(false);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_member();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && !self.is_value => {
                self.key = std::mem::take(&mut self.token);
                self.has_method |= self.key == b"\"method\"";
                self.is_value = true;
            }
            b',' if self.depth == 1 => self.end_member(),
            byte if byte.is_ascii_whitespace() => {}
            other => self.keep(other),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < MAX_TOKEN_BYTES {
            self.token.push(byte);
        }
    }

    fn end_member(&mut self) {
        let value = std::mem::take(&mut self.token);
        if self.is_value && self.key == b"\"id\"" {
            self.id = Some(value);
        }
        self.is_value = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_known_by_its_own_id_wherever_it_stands() {
        for (why, text, want) in [
            ("in front", r#"{"id":7,"method":"m","params":{}}"#, Some("7")),
            ("at the end", r#"{"method":"m","params":{"id":1,"a":["}"]},"id":"x"}"#, Some("\"x\"")),
            ("with white space", "{ \"id\" : \"x y\" , \"method\" : \"m\" }", Some("\"x y\"")),
            ("not the one of a parameter", r#"{"method":"m","params":{"id":1}}"#, None),
            ("not the one in a text", r#"{"method":"m","params":"\",\"id\":1,\""}"#, None),
            ("an answer has none to refuse", r#"{"id":7,"result":{}}"#, None),
            ("an object has no text of its own", r#"{"id":{},"method":"m"}"#, None),
            ("cut off", r#"{"method":"m","id":1"#, None),
            ("no object", "xxxx", None),
        ] {
            for size in [1, 3, text.len()] {
                let mut scan = OversizedId::default();
                text.as_bytes().chunks(size).for_each(|chunk| scan.push(chunk));
                assert_eq!(scan.finish().as_deref(), want, "{why}: {text}");
            }
        }
    }
}
