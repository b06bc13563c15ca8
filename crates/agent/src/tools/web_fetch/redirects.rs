//! Redirects: bounded in number, and never from https to http.

use picoclaw_policy::network::{ConnectIntent, Scheme, WebAddress};

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// The hops so far.
#[derive(Debug, Default)]
pub(super) struct Redirects(usize);

/// Why a redirect is not followed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RedirectError {
    #[error("stopped after {MAX_REDIRECTS} redirects")]
    TooMany,
    #[error("redirected from https to `{0}`, which is not followed")]
    Downgrade(WebAddress),
}

impl RedirectError {
    pub(super) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Downgrade(_) => Some("fetch that address by itself if an unencrypted page is meant"),
            Self::TooMany => None,
        }
    }
}

impl Redirects {
    /// The next request. The policy judges it like any other, also a location that is not an
    /// address.
    pub(super) fn follow(
        &mut self,
        from: &WebAddress,
        location: &str,
    ) -> Result<ConnectIntent, RedirectError> {
        self.0 += 1;
        if self.0 > MAX_REDIRECTS {
            return Err(RedirectError::TooMany);
        }
        let next = ConnectIntent::redirect(from, location);
        match &next.asked {
            Ok(to) if from.scheme() == Scheme::Https && to.scheme() == Scheme::Http => {
                Err(RedirectError::Downgrade(to.clone()))
            }
            _ => Ok(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_followed_within_bounds() {
        let https = WebAddress::parse("https://a.example/b").unwrap();
        let mut redirects = Redirects::default();
        let next = redirects.follow(&https, "/c").unwrap();
        assert_eq!(next.to_string(), "connect https://a.example/c");
        let clear = WebAddress::parse("http://a.example/c").unwrap();
        assert_eq!(
            redirects.follow(&https, "http://a.example/c"),
            Err(RedirectError::Downgrade(clear.clone()))
        );
        let strange = redirects.follow(&https, "ftp://me:pw@a.example/").unwrap();
        assert_eq!(strange.to_string(), "connect ftp://***@a.example/", "left to the policy check");
        assert!(redirects.follow(&clear, "https://a.example/").unwrap().asked.is_ok());
        assert!(redirects.follow(&clear, "/d").is_ok());
        assert_eq!(redirects.follow(&clear, "/e"), Err(RedirectError::TooMany));
    }
}
