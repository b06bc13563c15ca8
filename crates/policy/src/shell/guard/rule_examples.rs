//! Runs the examples of the rules through the whole guard.

use super::context::{Confinement, GuardContext, NoFileSystem};
use super::guard::Guard;
use super::rules::{FAMILIES, Rule};
use crate::path::CleanPath;
use crate::path_rules::{PathRules, RuleFault};
use crate::policy::Reach;
use crate::shell::Dialect;
use crate::zone::{Protected, Zones};
use std::path::Path;
use std::sync::OnceLock;

/// The first example that contradicts its rule. Computed once: it is the same for every
/// configuration.
pub(super) fn first_broken() -> Option<RuleFault> {
    static BROKEN: OnceLock<Option<RuleFault>> = OnceLock::new();
    // The examples are lines for POSIX shells, in a place that Windows does not have.
    let cwd = CleanPath::absolute(Path::new("/workspace"))?;
    BROKEN.get_or_init(|| FAMILIES.iter().copied().flatten().find_map(|rule| check_rule(rule, &cwd))).clone()
}

fn check_rule(rule: &Rule, cwd: &CleanPath) -> Option<RuleFault> {
    let missing = (rule.stops.is_empty() || rule.spares.is_empty()).then_some("it has no example");
    let missed = rule
        .stops
        .iter()
        .find(|example| !triggers(rule, example, cwd))
        .map(|_| "it does not stop what it should");
    let struck = rule
        .spares
        .iter()
        .find(|example| triggers(rule, example, cwd))
        .map(|_| "it does not spare what it should");
    let why = missing.or(missed).or(struck)?;
    Some(RuleFault {
        pattern: rule.name.to_owned(),
        why: format!("{why}: {:?} / {:?}", rule.stops, rule.spares),
    })
}

fn triggers(rule: &Rule, example: &str, cwd: &CleanPath) -> bool {
    let zones = Zones { workspace: vec![cwd.clone()], protected: Protected::default() };
    let rules = PathRules::default();
    let context = GuardContext {
        zones: &zones,
        read_rules: &rules,
        write_rules: &rules,
        reach: Reach::Workspace,
        confinement: Confinement::Nothing,
        cwd,
        home: None,
        own: &[],
        script_is_input: false,
        dialect: Dialect::Bash,
        file_system: &NoFileSystem,
    };
    let judgement = Guard::smart().judge(example, &context);
    judgement.finding.iter().chain(&judgement.others).any(|finding| finding.rule == rule.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_as_good_as_its_examples() {
        let cwd = CleanPath::absolute(Path::new("/workspace")).unwrap();
        for rule in FAMILIES.iter().copied().flatten() {
            assert_eq!(check_rule(rule, &cwd), None, "{}: {}", rule.name, rule.why);
        }
    }
}
