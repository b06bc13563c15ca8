//! `GET /`: the console, a static page without secrets; it asks for the token and keeps it in the
//! tab. Its Content-Security-Policy allows exactly its own script, style and origin.

use super::response::{self, HttpResponse};
use data_encoding::BASE64;
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
pub(super) fn page() -> HttpResponse {
    let mut response = response::full(StatusCode::OK, "text/html; charset=utf-8", PAGE);
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(content_security_policy()) {
        headers.insert(http::header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

fn content_security_policy() -> &'static str {
    static POLICY: OnceLock<String> = OnceLock::new();
    POLICY.get_or_init(|| {
        let (script, style) = (csp_hash(SCRIPT), csp_hash(STYLE));
        format!(
            "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self'; \
             img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
             require-trusted-types-for 'script'"
        )
    })
}

/// The hash of an inline element's text, as CSP spells it.
fn csp_hash(text: &str) -> String {
    BASE64.encode(&Sha256::digest(text))
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
        assert!(content_security_policy().contains("default-src 'none'"));
    }
}
