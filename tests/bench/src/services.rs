//! The addresses of the servers that `cargo xtask services start` started.

use anyhow::Context;

/// The value of `variable` in the environment of the server `name`.
pub(crate) fn address(name: &str, variable: &str) -> anyhow::Result<String> {
    let file = format!("{}/../../target/services/{name}/env", env!("CARGO_MANIFEST_DIR"));
    let environment = std::fs::read_to_string(file).context("start the servers with `cargo xtask services start`")?;
    let value = environment.lines().find_map(|line| line.strip_prefix(variable)?.strip_prefix('='));
    Ok(value.with_context(|| format!("no {variable} in {environment}"))?.to_owned())
}
