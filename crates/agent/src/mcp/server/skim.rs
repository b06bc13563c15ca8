//! Reading over a message that is too long to be held, for the one thing needed: under which name to refuse it.
//!
//! Invariant: memory does not grow with the message; a name that is not certain is none.

use rmcp::model::RequestId;

/// Longer names and keys are not kept.
const MOST: usize = 256;

/// Reads over one object, byte by byte.
#[derive(Debug, Default)]
pub(super) struct Skim {
    depth: u64,
    /// Inside a string, and whether the next byte is escaped.
    string: Option<bool>,
    /// Behind the colon of a member of the outermost object.
    is_value: bool,
    /// What stands at this place of the outermost object, as it is written.
    token: Vec<u8>,
    key: Vec<u8>,
    id: Option<Vec<u8>>,
    has_method: bool,
}

impl Skim {
    /// Reads on.
    pub(super) fn over(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The name of the request that was read, if it was one and had one.
    pub(super) fn id(self) -> Option<RequestId> {
        let id = self.id.filter(|_| self.has_method)?;
        serde_json::from_slice(&id).ok()
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
                    self.member_ends();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && !self.is_value => {
                self.key = std::mem::take(&mut self.token);
                self.has_method |= self.key == b"\"method\"";
                self.is_value = true;
            }
            b',' if self.depth == 1 => self.member_ends(),
            byte if byte.is_ascii_whitespace() => {}
            other => self.keep(other),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < MOST {
            self.token.push(byte);
        }
    }

    fn member_ends(&mut self) {
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
            ("at the end", r#"{"method":"m","params":{"id":1,"a":["}"]},"id":"x"}"#, Some("x")),
            ("with white space", "{ \"id\" : \"x y\" , \"method\" : \"m\" }", Some("x y")),
            ("not the one of a parameter", r#"{"method":"m","params":{"id":1}}"#, None),
            ("not the one in a text", r#"{"method":"m","params":"\",\"id\":1,\""}"#, None),
            ("an answer has none to refuse", r#"{"id":7,"result":{}}"#, None),
            ("an object is no name", r#"{"id":{},"method":"m"}"#, None),
            ("cut off", r#"{"method":"m","id":1"#, None),
            ("no object", "xxxx", None),
        ] {
            for size in [1, 3, text.len()] {
                let mut skim = Skim::default();
                text.as_bytes().chunks(size).for_each(|chunk| skim.over(chunk));
                assert_eq!(skim.id().map(|id| id.to_string()).as_deref(), want, "{why}: {text}");
            }
        }
    }
}
