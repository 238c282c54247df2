//! `lookaside lookups`: what can be looked up in.

use std::io::{self, Write};

use super::{
    arguments::LookupsArguments,
    exit::{CliError, ExitStatus},
};
use crate::lookup::{LookupKind, Setting, lookups};

/// Lists the kinds of backends with their settings.
pub(super) fn run(arguments: &LookupsArguments) -> Result<ExitStatus, CliError> {
    let kinds = match &arguments.scheme {
        None => lookups().iter().collect::<Vec<_>>(),
        Some(scheme) => lookups().iter().filter(|kind| kind.schemes.contains(&scheme.as_str())).collect(),
    };
    if let (Some(scheme), true) = (&arguments.scheme, kinds.is_empty()) {
        let schemes: Vec<&str> = lookups().iter().flat_map(|kind| kind.schemes).copied().collect();
        return Err(CliError::usage(format!("`{scheme}` is no backend"), format!("there are {}", schemes.join(", "))));
    }
    match write_all(&kinds, &mut io::stdout().lock()) {
        // Whoever reads may have seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::environment(
            format!("cannot write standard output: {error}"),
            "check where it goes, and run again",
        )),
        _ => Ok(ExitStatus::Done),
    }
}

fn write_all(kinds: &[&LookupKind], out: &mut impl Write) -> io::Result<()> {
    for kind in kinds {
        writeln!(out, "{}", kind.address)?;
        writeln!(out, "    {} ({})", kind.meaning, kind.schemes.join(", "))?;
        let settings: Vec<&Setting> = kind.settings.iter().copied().flatten().collect();
        let given = |setting: &Setting| format!("{}={}", setting.name, setting.value);
        for setting in settings {
            writeln!(out, "      {}", given(setting))?;
            writeln!(out, "          {} [{}]", setting.meaning, setting.default)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "Values are percent-encoded where they have & or %. Secrets stand in the environment or in files:")?;
    writeln!(
        out,
        "    redis://user:${{env:REDIS_PASSWORD}}@host, https://host/{{key}}#header=Authorization: Bearer ${{file:token}}"
    )
}
