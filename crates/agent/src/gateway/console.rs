//! `GET /`: the console, one page with everything in it.
//!
//! The page is the same for everybody and holds no secret: it asks for the token and keeps it in the tab.
//!
//! Invariant: the browser runs exactly the script and the style of this page, and talks to nobody but us.

use super::answer::{self, Answer};
use http::{HeaderValue, StatusCode};
use sha2::{Digest, Sha256};
use std::sync::OnceLock;

const STYLE: &str = include_str!("console/style.css");
const SCRIPT: &str = include_str!("console/script.js");
const PAGE: &str = concat!(
    include_str!("console/head.html"),
    "<style>",
    include_str!("console/style.css"),
    "</style>\n",
    include_str!("console/body.html"),
    "<script>",
    include_str!("console/script.js"),
    "</script>\n</body>\n</html>\n",
);

/// The page.
pub(super) fn page() -> Answer {
    let mut answer = answer::whole(StatusCode::OK, "text/html; charset=utf-8", PAGE);
    let headers = answer.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(policy()) {
        headers.insert(http::header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    answer
}

fn policy() -> &'static str {
    static POLICY: OnceLock<String> = OnceLock::new();
    POLICY.get_or_init(|| {
        let (script, style) = (hash_of(SCRIPT), hash_of(STYLE));
        format!(
            "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self'; \
             img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
             require-trusted-types-for 'script'"
        )
    })
}

/// The hash of what stands between a tag and its end, as browsers take it.
fn hash_of(inner: &str) -> String {
    base64(&Sha256::digest(inner.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let all =
            chunk.iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = DIGITS[(all >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_brings_everything_along_and_writes_no_markup() {
        assert_eq!(PAGE.matches("<script").count(), 1, "one script, whose hash is in the policy");
        assert_eq!(PAGE.matches("<style").count(), 1);
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "localStorage",
            "src=",
            "@import",
            "onclick=",
            "style=",
        ] {
            assert!(!PAGE.contains(word), "`{word}` has no business here");
        }
        assert!(!PAGE.contains("http://") && !PAGE.contains("https://"), "nothing is fetched from elsewhere");
        assert!(PAGE.contains("sessionStorage") && PAGE.contains("textContent"));
        assert!(policy().contains("default-src 'none'"));
    }

    #[test]
    fn hashes_are_written_as_browsers_read_them() {
        for (bytes, want) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), want);
        }
    }
}
