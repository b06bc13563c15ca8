//! Pages of a listing: where the next one begins, in a form that nobody is meant to read.
//!
//! Invariant: a cursor that was not handed out for this listing is an error, never a guess.

use rmcp::model::{ListToolsResult, Tool};
use sha2::{Digest, Sha256};

/// How many tools a page has: more than there are, since many clients read the first page alone.
pub(super) const PAGE: usize = 64;

/// The page of `size` tools that `cursor` points to, the first without one; `None` for a cursor that does not belong here.
pub(super) fn page(offered: &[&Tool], cursor: Option<&str>, size: usize) -> Option<ListToolsResult> {
    let names: Vec<&str> = offered.iter().map(|tool| &*tool.name).collect();
    let begin = cursor.map_or(Some(0), |cursor| read(&names, cursor))?;
    let tools = offered.iter().skip(begin).take(size).map(|tool| (*tool).clone()).collect();
    let mut page = ListToolsResult::with_all_items(tools);
    let next = begin + size;
    page.next_cursor = (next < names.len()).then(|| write(&names, next));
    Some(page)
}

/// The cursor for what begins at `offset` of a listing with these names.
fn write(names: &[&str], offset: usize) -> String {
    format!("{offset:x}.{}", mark(names, offset))
}

/// Where a cursor points in a listing with these names.
fn read(names: &[&str], cursor: &str) -> Option<usize> {
    let (offset, _) = cursor.split_once('.')?;
    let offset = usize::from_str_radix(offset, 16).ok()?;
    (offset < names.len() && cursor == write(names, offset)).then_some(offset)
}

/// Binds a cursor to its listing: in a changed listing the same number means something else.
fn mark(names: &[&str], offset: usize) -> String {
    let mut hash = Sha256::new();
    for name in names {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
    }
    hash.update((offset as u64).to_le_bytes());
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::catalogue;
    use super::*;
    use crate::tools::Registry;
    use picoclaw_policy::config::Config;
    use picoclaw_sandbox::Redactor;

    #[test]
    fn the_pages_of_a_listing_are_all_of_it_in_order_and_then_there_is_no_more() {
        let all = catalogue::all(&Registry::new(&Config::default().tools, Redactor::default()));
        let (offered, fewer): (Vec<&Tool>, Vec<&Tool>) = (all.iter().collect(), all.iter().skip(1).collect());
        assert_eq!(offered.len(), 9);
        for (why, size, want) in [
            ("a tool a page", 1, vec![1; 9]),
            ("the last page is short", 4, vec![4, 4, 1]),
            ("the last page is full", 3, vec![3, 3, 3]),
            ("exactly one page", 9, vec![9]),
            ("as it is served", PAGE, vec![9]),
        ] {
            let (mut pages, mut seen, mut cursor) = (Vec::new(), Vec::new(), None::<String>);
            loop {
                let page = page(&offered, cursor.as_deref(), size).unwrap();
                assert_eq!(
                    Some(&page),
                    super::page(&offered, cursor.as_deref(), size).as_ref(),
                    "{why}: again"
                );
                pages.push(page.tools.len());
                seen.extend(page.tools);
                cursor = page.next_cursor;
                let Some(next) = &cursor else { break };
                assert!(super::page(&fewer, Some(next), size).is_none(), "{why}: the listing has changed");
            }
            assert_eq!((pages, &seen), (want, &all), "{why}");
        }
        let nothing = page(&[], None, 4).unwrap();
        assert!(nothing.tools.is_empty() && nothing.next_cursor.is_none());
    }

    #[test]
    fn a_cursor_means_its_own_listing_or_nothing() {
        let (names, others) = (["a", "b", "c"], ["a", "b", "d"]);
        let second = write(&names, 2);
        for (why, cursor, want) in [
            ("as it was handed out", second.as_str(), Some(2)),
            ("of another listing", &write(&others, 2), None),
            ("beyond the end", &write(&names, 3), None),
            ("another number with the same mark", &second.replacen('2', "1", 1), None),
            ("written otherwise", &format!("0{second}"), None),
            ("no cursor at all", "2", None),
            ("nothing", "", None),
        ] {
            assert_eq!(read(&names, cursor), want, "{why}: `{cursor}`");
        }
    }
}
