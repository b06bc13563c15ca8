//! A server's own schema: what is checked of it before a call goes out.
//!
//! The server checks its arguments itself. This much is checked here so that a model hears of a slip at once, in the same
//! words as for our own tools: required properties, plain types, listed values, properties that nobody knows.
//!
//! Invariant: a schema that says nothing lets everything through; one that cannot be read refuses nothing by guessing.

use serde_json::{Map, Value};

/// Checks `arguments`; the text names the first thing that does not fit.
pub(super) fn check(schema: &Value, arguments: &Map<String, Value>) -> Result<(), String> {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !arguments.contains_key(name) {
            return Err(format!("missing required property {name:?}"));
        }
    }
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in arguments {
        match properties.get(name) {
            Some(property) => fits(name, property, value)?,
            None if is_closed => return Err(format!("unexpected property {name:?}")),
            None => {}
        }
    }
    Ok(())
}

fn fits(name: &str, property: &Value, value: &Value) -> Result<(), String> {
    let wanted: Vec<&str> = match property.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !wanted.is_empty() && !wanted.iter().any(|kind| is(kind, value)) {
        return Err(format!("property {name:?}: expected {}", wanted.join(" or ")));
    }
    match property.get("enum").and_then(Value::as_array) {
        Some(listed) if !listed.contains(value) => {
            Err(format!("property {name:?}: not one of the listed values"))
        }
        _ => Ok(()),
    }
}

/// An unknown kind is the server's to judge.
fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|f| f.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_schema_says_is_checked_and_nothing_else() {
        let schema = json!({"properties": {"path": {"type": "string"}, "n": {"type": ["integer", "null"]},
            "mode": {"enum": ["a", "b"]}, "odd": {"type": "matrix"}}, "required": ["path"], "additionalProperties": false});
        for (why, arguments, want) in [
            ("all there", json!({"path": "x", "n": 3, "mode": "a", "odd": []}), None),
            ("required", json!({}), Some("missing required property \"path\"")),
            ("a type", json!({"path": 1}), Some("property \"path\": expected string")),
            ("one of several types", json!({"path": "x", "n": null}), None),
            (
                "none of them",
                json!({"path": "x", "n": "3"}),
                Some("property \"n\": expected integer or null"),
            ),
            (
                "a listed value",
                json!({"path": "x", "mode": "c"}),
                Some("property \"mode\": not one of the listed values"),
            ),
            ("unknown", json!({"path": "x", "y": 1}), Some("unexpected property \"y\"")),
        ] {
            let got = check(&schema, arguments.as_object().unwrap());
            assert_eq!(got.err().as_deref(), want, "{why}: {arguments}");
        }
        assert_eq!(check(&json!({}), json!({"anything": 1}).as_object().unwrap()), Ok(()), "an open schema");
        assert_eq!(
            check(&json!([]), json!({"anything": 1}).as_object().unwrap()),
            Ok(()),
            "a schema that is none"
        );
    }
}
