//! What must be there before anything is built.

use crate::shell::{Failure, output_of, run, run_with};

/// The targets that the component and the web package are built for.
const TARGETS: [&str; 2] = ["wasm32-unknown-unknown", "wasm32-wasip2"];

/// The version of cargo-deny that the rules in deny.toml are written for.
const CARGO_DENY: &str = "0.20.2";

/// The version of the runner that belongs to the crate in `tests/Cargo.toml`.
const GUNGRAUN: &str = "0.20.0";

/// The version of cargo-fuzz that the targets in `fuzz/` are written for.
const CARGO_FUZZ: &str = "0.13.2";

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

/// Installs Debian's Chromium where none is there.
pub(crate) fn chromium() -> Result<(), Failure> {
    package("chromium", "chromium")
}

/// Installs the program that counts instructions where it is not there.
pub(crate) fn valgrind() -> Result<(), Failure> {
    package("valgrind", "valgrind")
}

/// Installs a package of Debian's where `program` is not there.
fn package(program: &str, package: &str) -> Result<(), Failure> {
    if output_of(program, &["--version"]).is_ok() {
        return Ok(());
    }
    eprintln!("installing {package}");
    let install = ["install", "-y", "-q", "--no-install-recommends", package];
    // The lists of packages may be old, or not there at all.
    let installed = apt_get(&install).or_else(|_| apt_get(&["update", "-q"]).and_then(|()| apt_get(&install)));
    installed.map_err(|failure| {
        let line = format!("apt-get {}", install.join(" "));
        Failure::Unexpected(format!("{failure}; run `{line}` as root, then try again"))
    })
}

/// Runs apt-get as root, through sudo where we are not root.
fn apt_get(arguments: &[&str]) -> Result<(), Failure> {
    let is_root = output_of("id", &["-u"]).is_ok_and(|(id, _)| id.trim() == "0");
    match is_root {
        true => run("apt-get", arguments),
        false => run("sudo", &[&["apt-get"], arguments].concat()),
    }
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
    tool("cargo-deny", CARGO_DENY)
}

/// The path of cargo-fuzz, installed into the target folder where it is missing.
pub(crate) fn cargo_fuzz() -> Result<String, Failure> {
    tool("cargo-fuzz", CARGO_FUZZ)
}

/// The path of the program that counts instructions, installed into the target folder where it is missing.
pub(crate) fn gungraun_runner() -> Result<String, Failure> {
    tool("gungraun-runner", GUNGRAUN)
}

/// The path of a tool in that version, installed into the target folder where it is missing.
fn tool(name: &str, version: &str) -> Result<String, Failure> {
    let root = crate::shell::project().join("target").join("tools");
    let program = root.join("bin").join(name).display().to_string();
    let expected = format!("{name} {version}");
    if output_of(&program, &["--version"]).is_ok_and(|(found, _)| found.trim() == expected) {
        return Ok(program);
    }
    eprintln!("installing {expected}, once");
    let root = root.display().to_string();
    run_with("cargo", &["install", name, "--version", version, "--locked", "--root", &root], |command| {
        // Optimising a tool that runs for a second takes longer than it saves.
        command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0").env("CARGO_PROFILE_RELEASE_LTO", "off")
    })?;
    Ok(program)
}
