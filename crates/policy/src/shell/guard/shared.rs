//! Collections that many states share, and that most states never have anything in.
//!
//! Invariant: an empty one costs no memory, a shared one no copy before it is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::rc::Rc;

/// A collection that is copied when it is changed, and not before.
#[derive(Debug)]
pub(super) struct Shared<T>(Option<Rc<T>>);

/// What an empty one looks like.
pub(super) trait Empty: Clone + Default + 'static {
    /// The empty collection.
    const EMPTY: &'static Self;
}

impl<K: Clone + 'static, V: Clone + 'static> Empty for BTreeMap<K, V> {
    const EMPTY: &'static Self = &Self::new();
}

impl<K: Clone + 'static> Empty for BTreeSet<K> {
    const EMPTY: &'static Self = &Self::new();
}

impl<T: Empty> Shared<T> {
    /// The collection, to be changed.
    pub(super) fn change(&mut self) -> &mut T {
        Rc::make_mut(self.0.get_or_insert_with(Rc::default))
    }

    /// Whether both are one and the same; two that are not may still be equal.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Rc::ptr_eq(own, other),
            (None, None) => true,
            _ => false,
        }
    }
}

impl<T: Empty> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> From<T> for Shared<T> {
    fn from(all: T) -> Self {
        Self(Some(Rc::new(all)))
    }
}

impl<T: Empty + PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.is(other) || **self == **other
    }
}
