//! Pages of `tools/list`. A cursor is opaque and valid only for the listing that it was issued for.

use data_encoding::HEXLOWER;
use rmcp::model::{ListToolsResult, Tool};
use sha2::{Digest, Sha256};

/// Tools of a page: more than there are, since many clients read only the first page.
pub(super) const PAGE_SIZE: usize = 64;

/// The page at `cursor`, or the first one; `None` for a cursor of another listing.
pub(super) fn page(offered: &[&Tool], cursor: Option<&str>, size: usize) -> Option<ListToolsResult> {
    let names: Vec<&str> = offered.iter().map(|tool| &*tool.name).collect();
    let begin = cursor.map_or(Some(0), |cursor| parse_cursor(&names, cursor))?;
    let tools = offered.iter().skip(begin).take(size).map(|tool| (*tool).clone()).collect();
    let mut page = ListToolsResult::with_all_items(tools);
    let next = begin + size;
    page.next_cursor = (next < names.len()).then(|| cursor_at(&names, next));
    Some(page)
}

/// The cursor of the page at `offset`.
fn cursor_at(names: &[&str], offset: usize) -> String {
    format!("{offset:x}.{}", checksum(names, offset))
}

/// The offset of a cursor in a listing with these names.
fn parse_cursor(names: &[&str], cursor: &str) -> Option<usize> {
    let (offset, _) = cursor.split_once('.')?;
    let offset = usize::from_str_radix(offset, 16).ok()?;
    (offset < names.len() && cursor == cursor_at(names, offset)).then_some(offset)
}

/// Binds a cursor to its listing: in another one the same offset means another tool.
fn checksum(names: &[&str], offset: usize) -> String {
    let mut hash = Sha256::new();
    for name in names {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
    }
    hash.update((offset as u64).to_le_bytes());
    let mut hex = HEXLOWER.encode(&hash.finalize());
    hex.truncate(16);
    hex
}

#[cfg(test)]
mod tests {
    use super::super::tool_list::tool_list;
    use super::*;
    use crate::tools::Registry;
    use picoclaw_policy::config::Config;
    use picoclaw_sandbox::Redactor;

    #[test]
    fn the_pages_of_a_listing_are_all_of_it_in_order_and_then_there_is_no_more() {
        let all = tool_list(&Registry::new(&Config::default().tools, Redactor::default()));
        let (offered, fewer): (Vec<&Tool>, Vec<&Tool>) = (all.iter().collect(), all.iter().skip(1).collect());
        assert_eq!(offered.len(), 9);
        for (why, size, want) in [
            ("a tool a page", 1, vec![1; 9]),
            ("the last page is short", 4, vec![4, 4, 1]),
            ("the last page is full", 3, vec![3, 3, 3]),
            ("exactly one page", 9, vec![9]),
            ("as it is served", PAGE_SIZE, vec![9]),
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
        let second = cursor_at(&names, 2);
        for (why, cursor, want) in [
            ("as it was handed out", second.as_str(), Some(2)),
            ("of another listing", &cursor_at(&others, 2), None),
            ("beyond the end", &cursor_at(&names, 3), None),
            ("another number with the same mark", &second.replacen('2', "1", 1), None),
            ("written otherwise", &format!("0{second}"), None),
            ("no cursor at all", "2", None),
            ("nothing", "", None),
        ] {
            assert_eq!(parse_cursor(&names, cursor), want, "{why}: `{cursor}`");
        }
    }
}
