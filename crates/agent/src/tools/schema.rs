//! The parameters of a tool as data: the JSON Schema for the model, and the check of arguments,
//! from one table.

use serde_json::{Map, Value, json};

/// One parameter of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Type,
    /// Whether a call must have it.
    pub need: Need,
    /// What it means, for the model.
    pub about: &'static str,
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A string.
    Text,
    /// A non-negative integer.
    Count,
    /// A boolean; also `"true"` and `"false"`, as models of older tools write them.
    Flag,
}

/// Whether a parameter is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Required.
    Required,
    /// Optional.
    Optional,
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Count => "integer",
            Self::Flag => "boolean",
        }
    }
}

/// The JSON Schema of a parameter list.
pub(crate) fn json_schema(parameters: &[Parameter]) -> Value {
    let properties: Map<String, Value> = parameters
        .iter()
        .map(|p| {
            let mut property = json!({"type": p.kind.name(), "description": p.about});
            if p.kind == Type::Count {
                property["minimum"] = json!(0);
            }
            (p.name.to_owned(), property)
        })
        .collect();
    let required: Vec<_> = parameters.iter().filter(|p| p.need == Need::Required).map(|p| p.name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Checks arguments against a parameter list; the error names the first that does not match.
pub(super) fn check(parameters: &[Parameter], arguments: &Value) -> Result<(), String> {
    let Some(given) = arguments.as_object() else {
        return Err(format!("expected an object, got {}", kind_of(arguments)));
    };
    for name in given.keys() {
        if !parameters.iter().any(|p| p.name == name) {
            return Err(format!("unexpected property {name:?}"));
        }
    }
    for parameter in parameters {
        match given.get(parameter.name) {
            None if parameter.need == Need::Required => {
                return Err(format!("missing required property {:?}", parameter.name));
            }
            None => {}
            Some(value) => check_type(parameter, value)?,
        }
    }
    Ok(())
}

fn check_type(parameter: &Parameter, value: &Value) -> Result<(), String> {
    let fine = match parameter.kind {
        Type::Text => value.is_string(),
        Type::Count => count(value).is_some(),
        Type::Flag => flag(value).is_some(),
    };
    if fine {
        return Ok(());
    }
    let got = match value {
        Value::Number(n) if parameter.kind == Type::Count && n.is_f64() => "a fraction",
        Value::Number(_) if parameter.kind == Type::Count => "a negative number",
        other => kind_of(other),
    };
    Err(format!("property {:?}: expected {}, got {got}", parameter.name, parameter.kind.name()))
}

/// A non-negative integer, also when it is written as `3.0`.
pub(super) fn count(value: &Value) -> Option<u64> {
    if let Some(n) = value.as_u64() {
        return Some(n);
    }
    // Up to 2^53 every integer has a float of its own.
    let float = value.as_f64().filter(|f| f.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(f))?;
    Some(float as u64)
}

/// A boolean, also when it is written as a string.
pub(super) fn flag(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: &[Parameter] = &[
        Parameter { name: "path", kind: Type::Text, need: Need::Required, about: "" },
        Parameter { name: "offset", kind: Type::Count, need: Need::Optional, about: "" },
        Parameter { name: "overwrite", kind: Type::Flag, need: Need::Optional, about: "" },
    ];

    #[test]
    fn arguments_fit_the_schema_or_the_misfit_is_named() {
        for (why, arguments, want) in [
            ("all there", json!({"path": "a", "offset": 3, "overwrite": true}), Ok(())),
            ("a whole float is a number", json!({"path": "a", "offset": 3.0}), Ok(())),
            ("required", json!({}), Err("missing required property \"path\"")),
            ("unknown", json!({"path": "a", "pth": 1}), Err("unexpected property \"pth\"")),
            ("type", json!({"path": 1}), Err("property \"path\": expected string, got number")),
            (
                "fraction",
                json!({"path": "a", "offset": 1.5}),
                Err("property \"offset\": expected integer, got a fraction"),
            ),
            (
                "below zero",
                json!({"path": "a", "offset": -1}),
                Err("property \"offset\": expected integer, got a negative number"),
            ),
            (
                "null is not left out",
                json!({"path": null}),
                Err("property \"path\": expected string, got null"),
            ),
            ("no object", json!([1]), Err("expected an object, got array")),
        ] {
            assert_eq!(check(PARAMETERS, &arguments), want.map_err(str::to_owned), "{why}: {arguments}");
        }
    }
}
