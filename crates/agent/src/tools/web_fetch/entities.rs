//! Character references: `&amp;`, `&#233;`, `&#xe9;`.
//!
//! Invariant: what is no reference stays as it is.

use super::charset::western;

/// The names that pages use; the rest of the standard's two thousand stays as it is written.
const NAMES: &[(&str, &str)] = &[
    ("AMP", "&"),
    ("Aacute", "Á"),
    ("Agrave", "À"),
    ("Auml", "Ä"),
    ("Ccedil", "Ç"),
    ("Eacute", "É"),
    ("GT", ">"),
    ("LT", "<"),
    ("Ntilde", "Ñ"),
    ("Oslash", "Ø"),
    ("Ouml", "Ö"),
    ("QUOT", "\""),
    ("Uuml", "Ü"),
    ("aacute", "á"),
    ("acirc", "â"),
    ("acute", "´"),
    ("aelig", "æ"),
    ("agrave", "à"),
    ("alpha", "α"),
    ("amp", "&"),
    ("apos", "'"),
    ("aring", "å"),
    ("atilde", "ã"),
    ("auml", "ä"),
    ("bdquo", "„"),
    ("beta", "β"),
    ("bull", "•"),
    ("ccedil", "ç"),
    ("cent", "¢"),
    ("check", "✓"),
    ("colon", ":"),
    ("comma", ","),
    ("copy", "©"),
    ("dagger", "†"),
    ("darr", "↓"),
    ("deg", "°"),
    ("delta", "δ"),
    ("divide", "÷"),
    ("eacute", "é"),
    ("ecirc", "ê"),
    ("egrave", "è"),
    ("emsp", " "),
    ("ensp", " "),
    ("equals", "="),
    ("euml", "ë"),
    ("euro", "€"),
    ("frac12", "½"),
    ("ge", "≥"),
    ("gt", ">"),
    ("hArr", "⇔"),
    ("harr", "↔"),
    ("hellip", "…"),
    ("iacute", "í"),
    ("icirc", "î"),
    ("iexcl", "¡"),
    ("infin", "∞"),
    ("iquest", "¿"),
    ("iuml", "ï"),
    ("lambda", "λ"),
    ("laquo", "«"),
    ("larr", "←"),
    ("lbrace", "{"),
    ("lbrack", "["),
    ("ldquo", "“"),
    ("le", "≤"),
    ("lpar", "("),
    ("lsaquo", "‹"),
    ("lsquo", "‘"),
    ("lt", "<"),
    ("mdash", "—"),
    ("micro", "µ"),
    ("middot", "·"),
    ("minus", "−"),
    ("mu", "μ"),
    ("nbsp", " "),
    ("ndash", "–"),
    ("ne", "≠"),
    ("not", "¬"),
    ("ntilde", "ñ"),
    ("num", "#"),
    ("oacute", "ó"),
    ("ocirc", "ô"),
    ("oelig", "œ"),
    ("ordm", "º"),
    ("oslash", "ø"),
    ("otilde", "õ"),
    ("ouml", "ö"),
    ("para", "¶"),
    ("percnt", "%"),
    ("period", "."),
    ("pi", "π"),
    ("plus", "+"),
    ("plusmn", "±"),
    ("pound", "£"),
    ("quot", "\""),
    ("rArr", "⇒"),
    ("raquo", "»"),
    ("rarr", "→"),
    ("rbrace", "}"),
    ("rbrack", "]"),
    ("rdquo", "”"),
    ("reg", "®"),
    ("rpar", ")"),
    ("rsaquo", "›"),
    ("rsquo", "’"),
    ("sect", "§"),
    ("semi", ";"),
    ("shy", ""),
    ("sol", "/"),
    ("sup2", "²"),
    ("szlig", "ß"),
    ("thinsp", " "),
    ("times", "×"),
    ("trade", "™"),
    ("uacute", "ú"),
    ("uarr", "↑"),
    ("ugrave", "ù"),
    ("uuml", "ü"),
    ("yen", "¥"),
    ("zwj", "\u{200d}"),
    ("zwnj", "\u{200c}"),
];

/// The longest reference that is looked at, without its `&`.
const LONGEST: usize = 12;

/// `text` with its references replaced.
pub(super) fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        match reference(tail, &mut out) {
            Some(length) => rest = &tail[length..],
            None => {
                out.push('&');
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Adds what the reference at the beginning of `tail` stands for; its length with the semicolon.
fn reference(tail: &str, out: &mut String) -> Option<usize> {
    let end = tail.bytes().take(LONGEST).position(|b| b == b';')?;
    let name = tail.get(..end)?;
    match name.strip_prefix('#') {
        Some(number) => out.push(numbered(number)?),
        None => {
            let at = NAMES.binary_search_by_key(&name, |(name, _)| name).ok()?;
            out.push_str(NAMES.get(at)?.1);
        }
    }
    Some(end + 1)
}

fn numbered(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => u32::from_str_radix(hex, 16).ok()?,
        None if number.bytes().all(|b| b.is_ascii_digit()) => number.parse().ok()?,
        _ => return None,
    };
    Some(match u8::try_from(code) {
        Ok(0) => '\u{fffd}',
        // Pages mean windows-1252 there, as browsers know.
        Ok(byte @ 0x80..=0x9f) => western(byte),
        _ => char::from_u32(code).unwrap_or('\u{fffd}'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_and_all_else_stays() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0), "searched by halves");
        for (text, want) in [
            ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
            ("&#233;&#xE9;&#x1F600;", "éé😀"),
            ("&#0;&#xD800;&#1114112;", "\u{fffd}\u{fffd}\u{fffd}"),
            ("&#150;", "–"),
            ("a & b &; &nope; &#; &#x; &#-1; &amp", "a & b &; &nope; &#; &#x; &#-1; &amp"),
            ("&é;&&&amp;", "&é;&&&"),
        ] {
            assert_eq!(decode(text), want, "{text}");
        }
    }
}
