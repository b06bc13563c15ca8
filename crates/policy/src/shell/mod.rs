//! The guard's reader: shell text in, a tree of what it would run out.
//!
//! Invariant: whatever is accepted is understood; everything else is refused by name and place.
