//! The secrets file's layer. It can set secrets and nothing else.

use super::check::{Checker, push_step};
use super::document::{Entry, Node, Value};
use super::fault::Problem;
use super::schema::{Key, KeySupport, ROOT, Shape};
use super::secret::NOT_HERE;
use super::suggest::suggest;

/// Sections of the original's secrets file that have another path in the configuration.
const MOVED: &[&str] = &["web", "skills"];

/// Applies the secrets file to `root`, and returns the secrets in it that are not used here.
pub(crate) fn apply(root: &mut Node, secrets: &Node, checker: &mut Checker<'_>) -> Vec<String> {
    let mut unused = Vec::new();
    if !matches!(secrets.value, Value::Map(_)) {
        checker.report_wrong_type(
            &secrets.origin,
            "",
            "a mapping",
            secrets.kind(),
            "names and values, one a line",
        );
        return unused;
    }
    for entry in secrets.entries() {
        match entry.name.as_str() {
            "model_list" => apply_models(root, &entry.node, &mut unused, checker),
            name if MOVED.contains(&name) => collect_texts(&entry.node, &mut unused),
            _ => merge(root, entry, ROOT, &mut String::new(), &mut unused, checker),
        }
    }
    unused
}

/// `model_list.<name>`, or `model_list.<name>:<index>` if several entries share a name.
fn apply_models(root: &mut Node, secrets: &Node, unused: &mut Vec<String>, checker: &mut Checker<'_>) {
    for secret in secrets.entries() {
        let place = format!("model_list.{}", secret.name);
        if !matches!(secret.node.value, Value::Map(_) | Value::Null) {
            checker.report_wrong_type(
                &secret.node.origin,
                &place,
                "a mapping",
                secret.node.kind(),
                "`api_keys:` stands below the name",
            );
            continue;
        }
        for field in secret.node.entries().iter().filter(|field| !field.node.is_null()) {
            match field.name.as_str() {
                "api_keys" | "api_key" => {}
                // The original has this switch here as well; it hides an entry from its menus.
                "enabled" => continue,
                _ => {
                    let hint = "an entry has `api_keys`, and everything else belongs in the configuration";
                    checker.report(
                        &field.origin,
                        &format!("{place}.{}", field.name),
                        Problem::UnknownKey,
                        hint,
                    );
                    continue;
                }
            }
            match find_model(root, &secret.name) {
                Some(model) => replace_keys(model, as_list(&field.node)),
                None => {
                    collect_texts(&field.node, unused);
                    checker
                        .report_notice(&secret.origin, format!("`{place}` names no model of `model_list`"));
                }
            }
        }
    }
}

/// Replaces the keys of a model by those of the secrets file.
fn replace_keys(model: &mut Node, keys: Node) {
    let origin = keys.origin.clone();
    let none = Node::new(Value::Null, origin.clone());
    for (name, node) in [("api_keys", keys), ("api_key", none)] {
        if let Some(slot) = model.slot(name, &origin) {
            *slot = node;
        }
    }
}

fn find_model<'a>(root: &'a mut Node, name: &str) -> Option<&'a mut Node> {
    let Value::Map(sections) = &mut root.value else { return None };
    let list = sections.iter_mut().find(|section| section.name == "model_list")?;
    let Value::List(models) = &mut list.node.value else { return None };
    let is = |model: &Node, name: &str| model.get("model_name").and_then(Node::text) == Some(name);
    if let Some(at) = models.iter().position(|model| is(model, name)) {
        return models.get_mut(at);
    }
    let (name, which) = name.rsplit_once(':')?;
    let which = which.parse().ok()?;
    models.iter_mut().filter(|model| is(model, name)).nth(which)
}

fn merge(
    target: &mut Node,
    secret: &Entry,
    keys: &'static [Key],
    path: &mut String,
    unused: &mut Vec<String>,
    checker: &mut Checker<'_>,
) {
    let length = path.len();
    push_step(path, &secret.name);
    match keys
        .iter()
        .find(|key| key.name == secret.name || key.aliases.names().contains(&secret.name.as_str()))
    {
        None if checker.is_full() => {}
        None => checker.report(&secret.origin, path, Problem::UnknownKey, suggest(&secret.name, keys)),
        Some(_) if secret.node.is_null() => {}
        Some(key) if key.serving == KeySupport::Foreign => collect_texts(&secret.node, unused),
        Some(key) => {
            if let Some(slot) = target.slot(key.name, &secret.origin) {
                merge_value(slot, secret, &key.shape, path, unused, checker);
            }
        }
    }
    path.truncate(length);
}

fn merge_value(
    target: &mut Node,
    secret: &Entry,
    shape: &'static Shape,
    path: &mut String,
    unused: &mut Vec<String>,
    checker: &mut Checker<'_>,
) {
    let nested = matches!(shape, Shape::Section(_) | Shape::Map(_) | Shape::Environment);
    if nested && !matches!(secret.node.value, Value::Map(_)) {
        return checker.report_wrong_type(
            &secret.node.origin,
            path,
            "a mapping",
            secret.node.kind(),
            "names and values, one a line",
        );
    }
    match shape {
        Shape::Section(keys) => {
            for inner in secret.node.entries() {
                merge(target, inner, keys, path, unused, checker);
            }
        }
        Shape::Map(Shape::Section(keys)) => {
            for named in secret.node.entries() {
                let known = target.get(&named.name).is_some();
                let Some(slot) = target.slot(&named.name, &named.origin).filter(|_| known) else {
                    collect_texts(&named.node, unused);
                    checker.report_notice(
                        &named.origin,
                        format!("`{path}.{}` names nothing in the configuration", named.name),
                    );
                    continue;
                };
                let length = path.len();
                push_step(path, &named.name);
                for inner in named.node.entries() {
                    merge(slot, inner, keys, path, unused, checker);
                }
                path.truncate(length);
            }
        }
        Shape::Environment => {
            for variable in secret.node.entries() {
                if let Some(slot) = target.slot(&variable.name, &variable.origin) {
                    *slot = variable.node.clone();
                }
            }
        }
        Shape::Secret => *target = secret.node.clone(),
        Shape::List(Shape::Secret) => *target = as_list(&secret.node),
        _ => {
            let problem = Problem::Refused("only secrets stand in this file".to_owned());
            checker.report(&secret.origin, path, problem, "move it into the configuration");
        }
    }
}

/// A single key need not be in a list.
fn as_list(node: &Node) -> Node {
    match &node.value {
        Value::List(_) => node.clone(),
        _ => Node::new(Value::List(vec![node.clone()]), node.origin.clone()),
    }
}

/// Collects every text of a tree.
fn collect_texts(node: &Node, found: &mut Vec<String>) {
    match &node.value {
        Value::Text(text) if text != NOT_HERE => found.push(text.clone()),
        Value::List(items) => items.iter().for_each(|item| collect_texts(item, found)),
        Value::Map(entries) => entries.iter().for_each(|entry| collect_texts(&entry.node, found)),
        _ => {}
    }
}
