//! What must be there before anything is built.

use crate::shell::{Failure, output_of, run, run_with};

/// The targets that the component and the web package are built for.
const TARGETS: [&str; 1] = ["wasm32-wasip2"];

/// The version of cargo-deny that the rules in deny.toml are written for.
const CARGO_DENY: &str = "0.20.2";

/// Installs the Rust targets that are missing.
pub(crate) fn targets() -> Result<(), Failure> {
    let (installed, _) = output_of("rustup", &["target", "list", "--installed"])?;
    for target in TARGETS {
        if !installed.lines().any(|line| line == target) {
            eprintln!("installing the Rust target {target}");
            run("rustup", &["target", "add", target])?;
        }
    }
    Ok(())
}

/// Installs the parts of the toolchain that the checks need and that are missing.
pub(crate) fn components() -> Result<(), Failure> {
    let (installed, _) = output_of("rustup", &["component", "list", "--installed"])?;
    for component in ["rustfmt", "clippy"] {
        if !installed.lines().any(|line| line.starts_with(component)) {
            run("rustup", &["component", "add", component])?;
        }
    }
    Ok(())
}

/// The path of cargo-deny, installed into the target folder where it is missing.
pub(crate) fn cargo_deny() -> Result<String, Failure> {
    let root = crate::shell::project().join("target").join("tools");
    let program = root.join("bin").join("cargo-deny").display().to_string();
    let expected = format!("cargo-deny {CARGO_DENY}");
    if output_of(&program, &["--version"]).is_ok_and(|(version, _)| version.trim() == expected) {
        return Ok(program);
    }
    eprintln!("installing {expected}, once");
    let root = root.display().to_string();
    run_with("cargo", &["install", "cargo-deny", "--version", CARGO_DENY, "--locked", "--root", &root], |command| {
        // Optimising a tool that runs for a second takes longer than it saves.
        command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0").env("CARGO_PROFILE_RELEASE_LTO", "off")
    })?;
    Ok(program)
}
