//! Canonical JSON text: values have the same text exactly if they differ at most in the order of
//! their members.

use serde_json::Value;

/// `value` with the members of every object sorted by name, without white space.
pub fn canonical_json(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_one_spelling() {
        for (why, one, other, same) in [
            (
                "the order of members means nothing",
                r#"{"b":1,"a":{"d":2,"c":3}}"#,
                r#"{"a":{"c":3,"d":2},"b":1}"#,
                true,
            ),
            ("space means nothing", "{ \"a\" : [ 1, 2 ] }", r#"{"a":[1,2]}"#, true),
            ("an escape is its character", r#"{"a":"\u0041"}"#, r#"{"a":"A"}"#, true),
            ("the order of items does", "[1,2]", "[2,1]", false),
            ("a number is no text", r#"{"a":1}"#, r#"{"a":"1"}"#, false),
            ("case is kept", r#"{"A":1}"#, r#"{"a":1}"#, false),
            ("nothing is not absent", r#"{"a":null}"#, "{}", false),
            ("quotes cannot close a text", r#"{"a":"x\",\"b\":\"y"}"#, r#"{"a":"x","b":"y"}"#, false),
        ] {
            let spelled = |text: &str| canonical_json(&serde_json::from_str(text).unwrap());
            assert_eq!(spelled(one) == spelled(other), same, "{why}: {one} and {other}");
        }
    }
}
