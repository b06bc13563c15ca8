//! The last long listing, for whoever asks again before anything has changed.
//!
//! Ten thousand names take the kernel longer than everything else that a call does. Who asks is judged, looks the path
//! up and opens the directory as always; all that is left out is naming the same entries again.
//!
//! Invariant: what is recalled is what reading the directory now would give, and at most [`MOST`] bytes are kept.

use super::edition::{self, Edition, Moment};
use super::list::{Kinds, Listed, Listing, Page, WINDOW, read};
use super::names::Names;
use rustix::io::Result;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// The least entries that are kept: fewer are read as quickly as they are recalled.
pub(super) const LEAST: usize = 256;

/// The most memory that names may take to be kept.
const MOST: usize = 1 << 20;

/// One listing that may be asked for again. It serves any number of threads.
#[derive(Debug, Default)]
pub struct Recall(Mutex<Option<Kept>>);

#[derive(Debug)]
struct Kept {
    edition: Edition,
    names: Arc<Names>,
    total: usize,
}

impl Recall {
    /// Lists a directory that was opened for this, from its beginning.
    pub(super) fn list(&self, dir: &OwnedFd, page: Page) -> Result<Listed> {
        if page.window() > WINDOW {
            return Ok(Listed::TooMany);
        }
        let edition = Edition::of(dir);
        if let Some(listing) = edition.and_then(|edition| self.recalled(edition, page)) {
            return Ok(Listed::Page(listing));
        }
        let now = Moment::now();
        let listed = read(dir.as_fd(), page)?;
        if let (Listed::Page(listing), Some(edition)) = (&listed, edition)
            && edition.is_settled(now)
            && Edition::of(dir) == Some(edition)
            && edition::are_told_apart(dir)
        {
            self.keep(edition, listing);
        }
        Ok(listed)
    }

    fn recalled(&self, edition: Edition, page: Page) -> Option<Listing> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What has changed does not change back: its memory is better used for what is read now.
        drop(known.take_if(|kept| kept.edition.is_another_of(&edition)));
        let kept = known.as_ref().filter(|kept| kept.edition == edition)?;
        let is_there = kept.names.len() == kept.total || page.window() <= kept.names.len();
        is_there.then(|| Listing {
            names: Arc::clone(&kept.names),
            page,
            total: kept.total,
            kinds: Kinds::Told,
        })
    }

    fn keep(&self, edition: Edition, listing: &Listing) {
        let is_worth_it = listing.names.len() >= LEAST && listing.names.weight() <= MOST;
        if is_worth_it && listing.kinds == Kinds::Told {
            let kept = Kept { edition, names: Arc::clone(&listing.names), total: listing.total };
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        }
    }
}
