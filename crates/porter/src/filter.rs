//! The system call filter where the engine takes none of ours (Kubernetes).
//!
//! [`filter`](lazaret_protocol::filter) says how a porter is told. The filter is the profile of
//! sessions (`crates/runtime/seccomp/profile.json`), without any socket but Unix ones: a pod always
//! has a network interface, and without a socket no process can use it. io_uring, by which a
//! process could make a socket past the filter, is in no profile, and calls of another architecture
//! kill the process.
//!
//! Every process that the porter starts inherits the filter. Until it is installed, the agent must
//! not attach to a porter that the engine has just started: images hold the porter without a right
//! to read it, so the kernel makes it undumpable when it begins (`would_dump` in `fs/exec.c`). PID 1
//! undoes that for itself, to be looked at: it can do no more then than the agent.

use std::collections::BTreeMap;

use lazaret_protocol::filter::{UNIX_SOCKETS, VARIABLE};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};
use serde::Deserialize;
use syscalls::Sysno;

/// The profile, in the format of Docker and Podman.
const PROFILE: &str = include_str!("../../runtime/seccomp/profile.json");

/// Why there is no filter.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterError {
    /// The environment asks for one that does not exist.
    #[error("{VARIABLE}: there is no filter `{asked}`")]
    Unknown { asked: String },
    /// The profile makes no sense.
    #[error("the profile: {0}")]
    Profile(#[from] serde_json::Error),
    /// The profile has a rule that is unknown here.
    #[error("the profile: {0}")]
    Rule(String),
    /// The filter can't be made.
    #[error("{0}")]
    Compile(#[from] seccompiler::BackendError),
    /// The kernel does not take it.
    #[error("{0}")]
    Install(#[from] seccompiler::Error),
}

#[derive(Debug, Deserialize)]
struct Profile {
    syscalls: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    names: Vec<String>,
    action: String,
    errno_ret: Option<u32>,
    args: Vec<Condition>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    index: u8,
    value: u64,
    value_two: u64,
    op: String,
}

/// Rules by the number of a call; a call without rules matches always.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Installs the filter, if the environment asks for one.
///
/// # Errors
/// See [`FilterError`]: nothing else may be done then.
pub(crate) fn install() -> Result<(), FilterError> {
    let mut variables = std::env::vars_os();
    if let Some((_, asked)) = variables.find(|(name, _)| name == VARIABLE) {
        if asked != UNIX_SOCKETS {
            return Err(FilterError::Unknown {
                asked: lazaret_tree::escape(asked.as_encoded_bytes()),
            });
        }
        for program in programs()? {
            apply_filter(&program)?;
        }
    }
    Ok(())
}

/// Returns the filters: one that allows what the profile allows, and one for each error that the
/// profile answers instead of EPERM. The kernel takes the strictest answer (`man 2 seccomp`).
fn programs() -> Result<Vec<BpfProgram>, FilterError> {
    let profile: Profile = serde_json::from_str(PROFILE)?;
    let mut allowed = Rules::new();
    let mut refused: BTreeMap<u32, Rules> = BTreeMap::new();
    for rule in &profile.syscalls {
        if is_other_socket(rule) {
            continue;
        }
        // A call that another architecture has is in no table of this one.
        let numbers = rule.names.iter().filter_map(|name| name.parse().ok());
        for number in numbers.map(|call: Sysno| i64::from(call.id())) {
            match (&*rule.action, rule.errno_ret) {
                ("SCMP_ACT_ALLOW", None) => rule.add_to(&mut allowed, number)?,
                ("SCMP_ACT_ERRNO", Some(errno)) => {
                    rule.add_to(refused.entry(errno).or_default(), number)?;
                    rule.add_to(&mut allowed, number)?;
                }
                (action, _) => return Err(FilterError::Rule(action.to_owned())),
            }
        }
    }
    let not_permitted = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let mut programs = vec![compile(allowed, not_permitted, SeccompAction::Allow)?];
    for (errno, rules) in refused {
        let answer = SeccompAction::Errno(errno);
        programs.push(compile(rules, SeccompAction::Allow, answer)?);
    }
    Ok(programs)
}

fn compile(
    rules: Rules,
    otherwise: SeccompAction,
    matching: SeccompAction,
) -> Result<BpfProgram, FilterError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, otherwise, matching, arch)?;
    Ok(filter.try_into()?)
}

/// Whether a rule is about sockets of another family than AF_UNIX.
fn is_other_socket(rule: &Rule) -> bool {
    let makes_sockets = (rule.names.iter()).any(|name| name == "socket" || name == "socketpair");
    let unix = u64::from(libc::AF_UNIX.unsigned_abs());
    makes_sockets
        && !(rule.args.iter()).any(|condition| {
            condition.index == 0 && condition.op == "SCMP_CMP_EQ" && condition.value == unix
        })
}

impl Rule {
    fn add_to(&self, rules: &mut Rules, number: i64) -> Result<(), FilterError> {
        let rules = rules.entry(number).or_default();
        if !self.args.is_empty() {
            let conditions = self.args.iter().map(Condition::compile);
            rules.push(SeccompRule::new(conditions.collect::<Result<_, _>>()?)?);
        }
        Ok(())
    }
}

impl Condition {
    fn compile(&self) -> Result<SeccompCondition, FilterError> {
        let (operator, value) = match &*self.op {
            "SCMP_CMP_EQ" => (SeccompCmpOp::Eq, self.value),
            "SCMP_CMP_MASKED_EQ" => (SeccompCmpOp::MaskedEq(self.value), self.value_two),
            other => return Err(FilterError::Rule(other.to_owned())),
        };
        let length = SeccompCmpArgLen::Qword;
        Ok(SeccompCondition::new(self.index, length, operator, value)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn con_18_the_only_rules_for_sockets_name_unix_ones() {
        let profile: Profile = serde_json::from_str(PROFILE).expect("JSON");
        let makes = |rule: &&Rule| rule.names.iter().any(|name| name.starts_with("socket"));
        let kept: Vec<_> = (profile.syscalls.iter().filter(makes))
            .filter(|rule| !is_other_socket(rule))
            .map(|rule| (&*rule.names[0], rule.args[0].value))
            .collect();
        assert_eq!(kept, [("socket", 1), ("socketpair", 1)]);
    }

    #[test]
    fn every_rule_of_the_profile_has_a_filter() {
        // What is allowed, and the error of clone3.
        assert_eq!(programs().expect("filters").len(), 2);
    }

    #[test]
    fn most_names_are_calls_of_this_architecture() {
        let profile: Profile = serde_json::from_str(PROFILE).expect("JSON");
        let names = profile.syscalls.iter().flat_map(|rule| &rule.names);
        let unknown: Vec<_> = names
            .filter(|name| name.parse::<Sysno>().is_err())
            .collect();
        if cfg!(target_arch = "x86_64") {
            assert_eq!(unknown, [""; 0]);
        }
    }
}
