//! Checks arguments against a server's schema before a call: required properties, plain types,
//! enums and unknown properties.
//!
//! The server validates its arguments itself; this gives the model the same messages as for
//! built-in tools. Whatever this does not understand is left to the server.

use serde_json::{Map, Value};

/// Checks `arguments`; the error names the first mismatch.
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
            Some(property) => check_property(name, property, value)?,
            None if is_closed => return Err(format!("unexpected property {name:?}")),
            None => {}
        }
    }
    Ok(())
}

fn check_property(name: &str, property: &Value, value: &Value) -> Result<(), String> {
    let wanted: Vec<&str> = match property.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !wanted.is_empty() && !wanted.iter().any(|kind| has_type(kind, value)) {
        return Err(format!("property {name:?}: expected {}", wanted.join(" or ")));
    }
    match property.get("enum").and_then(Value::as_array) {
        Some(listed) if !listed.contains(value) => {
            Err(format!("property {name:?}: not one of the listed values"))
        }
        _ => Ok(()),
    }
}

/// Unknown types are left to the server.
fn has_type(kind: &str, value: &Value) -> bool {
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
