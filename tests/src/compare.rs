//! One plan on two hosts, step by step, and the shortest plan that still tells them apart.

use std::fmt;

use crate::{host::HostKind, laws::Laws, plan::Plan, run::Run, scenario::Command};

/// Where a plan went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Which command, from 0.
    pub step: usize,
    /// What went wrong.
    pub what: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.step + 1, self.what)
    }
}

/// Runs a plan on `tested` and, where there is one, on `reference`; gives what came of each command.
///
/// After each command the hosts must also agree on everything that can be seen of them: counters,
/// timers, cache, and what is in flight. The laws are checked on `tested`.
///
/// # Errors
///
/// The first step that goes wrong.
pub fn compare(plan: &Plan, tested: HostKind, reference: Option<HostKind>) -> Result<Vec<String>, Divergence> {
    let settings = plan.settings();
    let open =
        |kind| Run::open(&settings, kind).map_err(|refusal| Divergence { step: 0, what: format!("{refusal:?}") });
    let mut run = open(tested)?;
    let mut other = reference.map(open).transpose()?;
    let mut laws = Laws::new(plan);
    let mut outcomes = Vec::with_capacity(plan.commands.len());
    for (step, command) in plan.commands.iter().enumerate() {
        let wrong = |what| Divergence { step, what };
        let came = run.step(command);
        let state = run.step(&Command::State);
        if let Some(other) = &mut other {
            let expected = other.step(command);
            if came != expected {
                return Err(wrong(format!("`{command}` gave {came}\nand the other host {expected}")));
            }
            for look in [Command::State, Command::Cache, Command::Inspect] {
                let (seen, expected) = (run.step(&look), other.step(&look));
                if seen != expected {
                    return Err(wrong(format!(
                        "after `{command}`, {look} is {seen}\nand in the other host {expected}"
                    )));
                }
            }
            let (seen, expected) = (run.stats(), other.stats());
            if seen != expected {
                return Err(wrong(format!(
                    "after `{command}` the counters are {seen:?}\nand in the other host {expected:?}"
                )));
            }
        }
        laws.observe(command, &came, &run.stats(), &state).map_err(|law| wrong(format!("after `{command}`: {law}")))?;
        outcomes.push(came);
    }
    Ok(outcomes)
}

/// A plan as short as it gets while `fails` still holds of it: commands are left out, many at a
/// time first and one by one last.
#[must_use]
pub fn shortest(plan: &Plan, fails: impl Fn(&Plan) -> bool) -> Plan {
    let mut plan = plan.clone();
    let mut width = plan.commands.len().div_ceil(2);
    while width > 0 {
        let mut start = 0;
        let mut changed = false;
        while start < plan.commands.len() {
            let mut shorter = plan.clone();
            shorter.commands.drain(start..(start + width).min(plan.commands.len()));
            if fails(&shorter) {
                plan = shorter;
                changed = true;
            } else {
                start += width;
            }
        }
        if !changed || width > 1 {
            width = if width == 1 { 0 } else { width.div_ceil(2).min(width - 1) };
        }
    }
    plan
}

/// A plan as a scenario, with what the reference says of each command, to be put into a file.
#[must_use]
pub fn as_scenario(plan: &Plan, id: &str, why: &str, reference: HostKind) -> String {
    let mut text =
        format!("```scenario\nid: {id}\nwhy: {why}\nset: {}\nflink: read\nsrc: a simulated run\nscript:\n", plan.set);
    if let Ok(mut run) = Run::open(&plan.settings(), reference) {
        for command in &plan.commands {
            let came = run.step(command);
            text.push_str(&format!("{command} -> {came}\n"));
        }
    }
    text.push_str("```\n");
    text
}
