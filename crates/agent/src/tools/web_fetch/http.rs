//! As much HTTP/1.1 as one request on one connection needs.
//!
//! No pipelining, no trailers, no decompression, no cookies: what is not here cannot go wrong.
//!
//! Invariant: an answer's head and body are bounded before they are read.

use super::error::FetchError;
use picoclaw_policy::network::WebAddress;
use std::io::{self, BufRead, Read};

/// The longest head of an answer, interim answers included.
const LONGEST_HEAD: u64 = 64 << 10;

/// Most header lines in a head.
const MOST_HEADERS: usize = 128;

/// Most interim answers before the real one.
const MOST_INTERIM: usize = 8;

/// The longest line that announces a chunk.
const LONGEST_CHUNK_LINE: u64 = 256;

/// The request: no cookie, no credentials, no referrer.
pub(super) fn request(address: &WebAddress) -> String {
    format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: picoclaw/{}\r\n\
         Accept: text/html, application/json, text/*;q=0.9, */*;q=0.1\r\nAccept-Encoding: identity\r\n\
         Connection: close\r\n\r\n",
        address.path_and_query(),
        address.authority(),
        env!("CARGO_PKG_VERSION"),
    )
}

/// The head of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    headers: Vec<(String, Vec<u8>)>,
}

/// How far a body reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Nothing,
    Exactly(u64),
    Chunks,
    ToTheEnd,
}

impl Head {
    /// Reads the head of the real answer, past interim ones.
    pub(super) fn read(from: &mut impl BufRead) -> Result<Self, FetchError> {
        let mut left = LONGEST_HEAD;
        for _ in 0..=MOST_INTERIM {
            let head = Self::parse(&lines(from, &mut left)?)?;
            match head.status {
                101 => return Err(FetchError::NotHttp("it switches to another protocol")),
                100..=199 => {}
                _ => return Ok(head),
            }
        }
        Err(FetchError::NotHttp("too many interim answers"))
    }

    fn parse(text: &[u8]) -> Result<Self, FetchError> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(text) {
            Ok(httparse::Status::Complete(_)) => {}
            Err(httparse::Error::TooManyHeaders) => return Err(FetchError::NotHttp("too many headers")),
            _ => return Err(FetchError::NotHttp("its head is malformed")),
        }
        let status = response.code.filter(|code| (100..600).contains(code));
        let status = status.ok_or(FetchError::NotHttp("its status is malformed"))?;
        let own = |header: &httparse::Header<'_>| (header.name.to_ascii_lowercase(), header.value.to_vec());
        Ok(Self { status, headers: response.headers.iter().map(own).collect() })
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.headers.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_slice())
    }

    /// Whether there is such a header.
    pub(super) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// A header that is text, the first of its name.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.all(name).next().and_then(|value| std::str::from_utf8(value).ok()).map(str::trim)
    }

    /// Reads the body, if it is not compressed and not larger than `limit`.
    pub(super) fn body(&self, from: &mut impl BufRead, limit: u64) -> Result<Vec<u8>, FetchError> {
        if let Some(coding) = self.text("content-encoding").filter(|c| !c.eq_ignore_ascii_case("identity")) {
            return Err(FetchError::Compressed(shown(coding)));
        }
        match self.framing()? {
            Framing::Nothing => Ok(Vec::new()),
            Framing::Exactly(length) if length > limit => Err(FetchError::TooLarge(limit)),
            Framing::Exactly(length) => {
                let mut body = Vec::new();
                from.take(length).read_to_end(&mut body)?;
                if (body.len() as u64) < length { Err(FetchError::CutOff) } else { Ok(body) }
            }
            Framing::Chunks => chunks(from, limit),
            Framing::ToTheEnd => to_the_end(from, limit),
        }
    }

    fn framing(&self) -> Result<Framing, FetchError> {
        if matches!(self.status, 204 | 304) {
            return Ok(Framing::Nothing);
        }
        let codings: Vec<_> = self.all("transfer-encoding").collect();
        if !codings.is_empty() {
            let is_chunked = codings.len() == 1 && codings[0].trim_ascii().eq_ignore_ascii_case(b"chunked");
            return if is_chunked {
                Ok(Framing::Chunks)
            } else {
                Err(FetchError::NotHttp("its transfer encoding is not known"))
            };
        }
        let mut lengths =
            self.all("content-length").flat_map(|value| value.split(|b| *b == b',')).map(length);
        let Some(first) = lengths.next() else { return Ok(Framing::ToTheEnd) };
        let malformed = FetchError::NotHttp("its length is malformed");
        match first {
            Some(length) if lengths.all(|other| other == first) => Ok(Framing::Exactly(length)),
            _ => Err(malformed),
        }
    }
}

/// Something a server wrote, fit to be told: short, and printable.
pub(super) fn shown(text: &str) -> String {
    picoclaw_sandbox::printable(&text.chars().take(64).collect::<String>()).into_owned()
}

/// Digits alone; a sign or a space inside would be read differently by others.
fn length(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// The lines of a head, up to the empty one.
fn lines(from: &mut impl BufRead, left: &mut u64) -> Result<Vec<u8>, FetchError> {
    let mut head = Vec::new();
    loop {
        let start = head.len();
        let read = from.by_ref().take(*left).read_until(b'\n', &mut head)? as u64;
        *left -= read;
        match head.get(start..).unwrap_or_default() {
            b"\r\n" | b"\n" => return Ok(head),
            line if line.ends_with(b"\n") => {}
            _ if *left == 0 => return Err(FetchError::NotHttp("its head is too long")),
            _ if head.is_empty() => return Err(FetchError::CutOff),
            _ => return Err(FetchError::NotHttp("its head has no end")),
        }
    }
}

fn to_the_end(from: &mut impl BufRead, limit: u64) -> Result<Vec<u8>, FetchError> {
    let mut body = Vec::new();
    match from.take(limit.saturating_add(1)).read_to_end(&mut body) {
        Ok(_) => {}
        // Many servers hang up without the goodbye that TLS asks for; this body had no announced end either.
        Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => {}
        Err(why) => return Err(why.into()),
    }
    if body.len() as u64 > limit { Err(FetchError::TooLarge(limit)) } else { Ok(body) }
}

fn chunks(from: &mut impl BufRead, limit: u64) -> Result<Vec<u8>, FetchError> {
    const MALFORMED: FetchError = FetchError::NotHttp("a chunk is malformed");
    let mut body: Vec<u8> = Vec::new();
    loop {
        let mut line = Vec::new();
        from.by_ref().take(LONGEST_CHUNK_LINE).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(FetchError::CutOff);
        }
        let digits = line.strip_suffix(b"\n").ok_or(MALFORMED)?;
        let digits = digits.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
        let size = chunk_size(digits).ok_or(MALFORMED)?;
        if size == 0 {
            return Ok(body);
        }
        if size > limit.saturating_sub(body.len() as u64) {
            return Err(FetchError::TooLarge(limit));
        }
        let before = body.len() as u64;
        from.by_ref().take(size).read_to_end(&mut body)?;
        if body.len() as u64 - before < size {
            return Err(FetchError::CutOff);
        }
        let mut end = Vec::new();
        from.by_ref().take(2).read_until(b'\n', &mut end)?;
        match end.as_slice() {
            b"\r\n" | b"\n" => {}
            b"" => return Err(FetchError::CutOff),
            _ => return Err(MALFORMED),
        }
    }
}

fn chunk_size(digits: &[u8]) -> Option<u64> {
    let plain = (1..=16).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
    plain
        .then(|| std::str::from_utf8(digits).ok())
        .flatten()
        .and_then(|hex| u64::from_str_radix(hex, 16).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &[u8], limit: u64) -> Result<(u16, String), String> {
        let mut from = text;
        let head = Head::read(&mut from).map_err(|why| why.to_string())?;
        let body = head.body(&mut from, limit).map_err(|why| why.to_string())?;
        Ok((head.status, String::from_utf8(body).unwrap()))
    }

    #[test]
    fn an_answer_is_read_to_its_end_and_no_further() {
        for (why, text, want) in [
            ("a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", Ok((200, "hi"))),
            (
                "more than was announced",
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi, and more",
                Ok((200, "hi")),
            ),
            ("less", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", Err("the answer was cut off")),
            ("to the end", "HTTP/1.0 404 Not Found\r\n\r\ngone", Ok((404, "gone"))),
            ("bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", Ok((200, "hi"))),
            (
                "chunks",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;x=y\r\n, y\r\n0\r\n\r\n",
                Ok((200, "hi, y")),
            ),
            (
                "chunks win over a length",
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
                Ok((200, "hi")),
            ),
            (
                "chunks without an end",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
                Err("the answer was cut off"),
            ),
            (
                "a chunk cut off",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhi",
                Err("the answer was cut off"),
            ),
            (
                "a chunk of nonsense",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nhi\r\n",
                Err("the answer is not HTTP: a chunk is malformed"),
            ),
            (
                "a chunk too large for any number",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhi",
                Err("failed to read response: size exceeded 100 bytes limit"),
            ),
            (
                "a chunk that is longer than it says",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nhi\r\n",
                Err("the answer is not HTTP: a chunk is malformed"),
            ),
            (
                "another transfer encoding",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                Err("the answer is not HTTP: its transfer encoding is not known"),
            ),
            (
                "interim answers",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n",
                Ok((204, "")),
            ),
            (
                "another protocol",
                "HTTP/1.1 101 Switching\r\n\r\n",
                Err("the answer is not HTTP: it switches to another protocol"),
            ),
            (
                "two lengths that agree",
                "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nhi",
                Ok((200, "hi")),
            ),
            (
                "two that do not",
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!",
                Err("the answer is not HTTP: its length is malformed"),
            ),
            (
                "a signed length",
                "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi",
                Err("the answer is not HTTP: its length is malformed"),
            ),
            (
                "a length beyond the limit, before a byte is read",
                "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",
                Err("failed to read response: size exceeded 100 bytes limit"),
            ),
            (
                "compressed",
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
                Err("the answer is compressed (`gzip`), which was not asked for and is not read"),
            ),
            ("nothing", "", Err("the answer was cut off")),
            (
                "no head",
                "220 mail.example ESMTP\r\n\r\n",
                Err("the answer is not HTTP: its head is malformed"),
            ),
            (
                "half a head",
                "HTTP/1.1 200 OK\r\nContent-Le",
                Err("the answer is not HTTP: its head has no end"),
            ),
        ] {
            let want = want.map(|(status, body)| (status, body.to_owned())).map_err(str::to_owned);
            assert_eq!(answer(text.as_bytes(), 100), want, "{why}");
        }
    }

    #[test]
    fn every_part_of_an_answer_is_bounded() {
        let too_large = Err("failed to read response: size exceeded 100 bytes limit".to_owned());
        let long = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(101));
        assert_eq!(answer(long.as_bytes(), 100), too_large, "a body without a length");
        let many =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", "2\r\nxx\r\n".repeat(60));
        assert_eq!(answer(many.as_bytes(), 100), too_large, "many small chunks");
        let head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(70_000));
        assert_eq!(
            answer(head.as_bytes(), 100),
            Err("the answer is not HTTP: its head is too long".to_owned())
        );
        let headers = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(200));
        assert_eq!(
            answer(headers.as_bytes(), 100),
            Err("the answer is not HTTP: too many headers".to_owned())
        );
        let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(20);
        assert_eq!(
            answer(interim.as_bytes(), 100),
            Err("the answer is not HTTP: too many interim answers".to_owned())
        );
        let line =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;{}\r\nhi", "x".repeat(300));
        assert_eq!(
            answer(line.as_bytes(), 100),
            Err("the answer is not HTTP: a chunk is malformed".to_owned())
        );
    }

    #[test]
    fn a_request_says_what_it_wants_and_who_nobody_is() {
        let request = request(&WebAddress::parse("http://a.example:8080/b c?d#e").unwrap());
        assert!(request.starts_with("GET /b%20c?d HTTP/1.1\r\nHost: a.example:8080\r\n"), "{request}");
        for absent in ["Cookie", "Authorization", "Referer", "gzip"] {
            assert!(!request.contains(absent), "{absent}");
        }
        assert_eq!(request.matches("\r\n\r\n").count(), 1);
    }
}
