//! The schema as a JSON Schema document, for editors.

use super::schema::{DefaultValue, Key, KeySupport, ROOT, Shape};
use serde_json::{Map, Value, json};

/// The schema of the configuration file.
pub fn schema() -> Value {
    let mut root = object_schema(ROOT);
    if let Value::Object(fields) = &mut root {
        fields.shift_insert(0, "$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        fields.shift_insert(1, "title".to_owned(), json!("picoclaw configuration"));
    }
    root
}

fn object_schema(keys: &[Key]) -> Value {
    let mut properties = Map::new();
    for key in keys {
        properties.insert(key.name.to_owned(), property_schema(key));
        for alias in key.aliases.names() {
            let mut spelled = property_schema(key);
            spelled["description"] = json!(format!("Another spelling of `{}`.", key.name));
            properties.insert((*alias).to_owned(), spelled);
        }
    }
    json!({
        "type": "object",
        "properties": properties,
        "patternProperties": { "^_comment": {} },
        "additionalProperties": false,
    })
}

fn property_schema(key: &Key) -> Value {
    let mut value = shape_schema(&key.shape);
    value["description"] = match key.serving {
        KeySupport::Served => json!(key.doc),
        KeySupport::Foreign => json!(format!("Accepted and not served: {}.", key.doc)),
    };
    match key.default {
        DefaultValue::Unset => {}
        DefaultValue::Flag(flag) => value["default"] = json!(flag),
        DefaultValue::Whole(number) => value["default"] = json!(number),
        DefaultValue::Text(text) => value["default"] = json!(text),
        DefaultValue::Texts(texts) => value["default"] = json!(texts),
    }
    value
}

fn shape_schema(shape: &Shape) -> Value {
    match shape {
        Shape::Flag => json!({ "type": ["boolean", "null"] }),
        Shape::Whole(least, most) => {
            json!({ "type": ["integer", "null"], "minimum": least, "maximum": most })
        }
        Shape::Number(least, most) => {
            json!({ "type": ["number", "null"], "minimum": least, "maximum": most })
        }
        Shape::Text | Shape::Path | Shape::Program | Shape::Address => json!({ "type": ["string", "null"] }),
        Shape::Choice(words) => json!({ "enum": with_null(words) }),
        Shape::FlagOrChoice(words) => {
            json!({ "anyOf": [{ "type": ["boolean", "null"] }, { "enum": words }] })
        }
        Shape::Word(words) => json!({ "type": ["string", "null"], "examples": words }),
        Shape::Network | Shape::Host => json!({ "type": "string", "minLength": 1 }),
        Shape::Pattern => json!({ "type": "string", "format": "regex", "minLength": 1 }),
        Shape::Secret => json!({ "type": ["string", "null"], "writeOnly": true }),
        Shape::Variable => json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }),
        Shape::Toolchains => json!({ "type": ["string", "array", "null"], "items": { "type": "string" } }),
        Shape::List(inner) => json!({ "type": ["array", "null"], "items": self::shape_schema(inner) }),
        Shape::Map(inner) => map_schema(self::shape_schema(inner)),
        Shape::Environment => map_schema(json!({ "type": "string" })),
        Shape::Section(keys) => object_schema(keys),
        Shape::ChoiceOr(words, keys) => {
            json!({ "anyOf": [{ "enum": with_null(words) }, object_schema(keys)] })
        }
        Shape::TextOr(keys) => json!({ "anyOf": [{ "type": ["string", "null"] }, object_schema(keys)] }),
        Shape::Any => json!({}),
    }
}

fn map_schema(value: Value) -> Value {
    json!({ "type": ["object", "null"], "patternProperties": { "^_comment": {} }, "additionalProperties": value })
}

fn with_null(words: &[&str]) -> Vec<Value> {
    words.iter().map(|word| json!(word)).chain([Value::Null]).collect()
}
