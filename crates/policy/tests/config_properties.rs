//! Properties of the configuration parser, as in the fuzz target `config`, with `serde_json` as a
//! reference.

#![expect(clippy::disallowed_methods, reason = "a test may look at the clock; policy may not")]

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};
use picoclaw_policy::config::{Layers, NoSecretSource, SourceLocation, Sources, merge_layers, schema};
use proptest::prelude::*;
use std::path::Path;

/// Loads a text; what comes back must hold whatever the text was.
fn load(text: &str, variables: &[(String, String)]) -> Result<(), Vec<picoclaw_policy::config::Fault>> {
    let sources = Sources { file: "config.json", text: Some(text), secrets: ".security.yml" };
    let layers = Layers { sources, secrets: None, variables, user_home: Some(Path::new("/home/user")) };
    match merge_layers(&layers, &NoSecretSource) {
        Ok(settled) => {
            assert!(!settled.show(&sources, Path::new("/h")).is_empty());
            assert!(!settled.config.agents.is_empty());
            Ok(())
        }
        Err(error) => {
            assert!(!error.faults.is_empty(), "an error without a fault");
            assert!(!error.to_string().contains('\u{1b}'), "an escape sequence reaches the terminal");
            for fault in &error.faults {
                if let SourceLocation::File { line, column, .. } = fault.location {
                    let lines = text.split('\n').count();
                    assert!((1..=lines).contains(&line) && column >= 1, "{fault}: no such place");
                }
            }
            Err(error.faults)
        }
    }
}

/// Fragments of documents.
fn pieces() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\\.",
        "\\b",
        "\\u00",
        "\\ud83d",
        "//",
        "/*",
        "*/",
        "\n",
        "\r\n",
        "\t",
        " ",
        "\u{feff}",
        "\u{0}",
        "é",
        "true",
        "null",
        "-1",
        "1e9",
        "0x1",
        "\"agents\"",
        "\"list\"",
        "\"agents\":{\"agents\":[",
        "\"id\":\"a\"",
        "\"tools\":{",
        "\"exec\":{",
        "\"custom_deny_patterns\":[",
        "\"(\"",
        "\"isolation\":{",
        "\"enabled\":",
        "\"expose_paths\":[{",
        "\"source\":\"/a\"",
        "\"mode\":\"ro\"",
        "\"version\":",
        "\"providers\":{",
        "\"model_list\":[{",
        "\"~x\"",
        "\"_comment\":",
        "\"channels\":",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

/// A JSON value that serde_json can write.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        (-1e9..1e9).prop_map(serde_json::Value::from),
        ".*".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(serde_json::Value::from),
            prop::collection::hash_map(".{0,8}", inner, 0..8)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_is_a_panic(text in ".*") {
        _ = load(&text, &[]);
    }

    #[test]
    fn no_near_miss_is_a_panic(text in pieces()) {
        _ = load(&text, &[]);
    }

    #[test]
    fn no_variable_is_a_panic(value in pieces(), which in 0_usize..6) {
        let name = [
            "PICOCLAW_TOOLS_ALLOW_READ_PATHS", "PICOCLAW_ISOLATION_EXPOSE_PATHS", "PICOCLAW_GATEWAY_PORT",
            "PICOCLAW_AGENTS_DEFAULTS_WORKSPACE", "PICOCLAW_AGENTS_LIST", "PICOCLAW_X",
        ][which];
        _ = load("{}", &[(name.to_owned(), value)]);
    }

    /// What another JSON parser accepts, this one accepts, inside a key with any value.
    #[test]
    fn json_is_json(value in json()) {
        let text = serde_json::json!({ "channels": value }).to_string();
        prop_assert!(load(&text, &[]).is_ok(), "{}", text);
    }

    /// Without its comments and trailing commas, a text that loads is JSON to another parser too.
    #[test]
    fn nothing_looser_than_json_with_comments(text in pieces()) {
        if load(&text, &[]).is_ok() {
            let json = plain_json(text.strip_prefix('\u{feff}').unwrap_or(&text));
            prop_assert!(json.is_empty() || serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{:?}", text);
        }
    }
}

/// The tokens of `text` without comments and trailing commas.
fn plain_json(text: &str) -> String {
    let mut scanner = Scanner::new(text, &ScannerOptions::default());
    let mut json = String::new();
    let mut comma = "";
    while let Ok(Some(token)) = scanner.scan() {
        match token {
            Token::CommentLine(_) | Token::CommentBlock(_) => continue,
            Token::Comma => comma = ",",
            token => {
                if !matches!(token, Token::CloseBrace | Token::CloseBracket) {
                    json.push_str(comma);
                }
                comma = "";
                json.push_str(&text[scanner.token_start()..scanner.token_end()]);
                json.push(' ');
            }
        }
    }
    json
}

#[test]
fn depth_does_not_reach_the_stack() {
    for (why, open, close) in [("arrays", "[", "]"), ("objects", "{\"a\":", "}")] {
        let text = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let faults = load(&text, &[]).unwrap_err();
        assert!(faults[0].to_string().contains("nested more than 64 levels"), "{why}: {}", faults[0]);
    }
    let fits = format!("{{\"channels\": {}1{}}}", "[".repeat(60), "]".repeat(60));
    assert!(load(&fits, &[]).is_ok(), "what stays within the bound loads");
}

#[test]
fn a_large_hostile_file_is_answered_quickly() {
    let keys: String = (0..40_000).map(|n| format!("\"k{n}\":1,")).collect();
    let escapes = "\\.".repeat(200_000);
    for (why, text) in [
        ("unknown keys", format!("{{{keys}}}")),
        ("bad escapes", format!("{{\"channels\": \"{escapes}\"}}")),
        ("one key many times", format!("{{{}}}", "\"channels\":{},".repeat(50_000))),
        ("comments", "/**/".repeat(200_000)),
        ("a long name", format!("{{\"{}\": 1}}", "x".repeat(900_000))),
    ] {
        let start = std::time::Instant::now();
        if let Err(faults) = load(&text, &[]) {
            assert!(faults.len() <= 20, "{why}: {} faults", faults.len());
        }
        // A quadratic algorithm needs minutes; the bound is loose because machines are slow.
        assert!(start.elapsed().as_secs() < 20, "{why}: {:?}", start.elapsed());
    }
}

#[test]
fn the_exported_schema_knows_every_key_that_is_shown() {
    let schema = schema();
    let sources = Sources { file: "", text: None, secrets: "" };
    let layers = Layers { sources, secrets: None, variables: &[], user_home: None };
    let rows = merge_layers(&layers, &NoSecretSource).unwrap().show(&sources, Path::new("/h"));
    assert!(rows.len() > 80, "{} rows", rows.len());
    for row in rows {
        let pointer: String = row.key.split('.').map(|name| format!("/properties/{name}")).collect();
        let property =
            schema.pointer(&pointer).unwrap_or_else(|| panic!("`{}` is not in the schema", row.key));
        if !row.value.is_null()
            && row.key != "agents.defaults.workspace"
            && !row.value.is_array()
            && !row.value.is_object()
        {
            assert_eq!(property["default"], row.value, "`{}`", row.key);
        }
    }
}
