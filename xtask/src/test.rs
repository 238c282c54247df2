//! `cargo xtask test`: everything that must hold.

use std::time::Instant;

use crate::{
    reference, scenarios, setup,
    shell::{Failure, run, run_with},
    sim,
};

/// One thing to check, and its name.
type Check = (&'static str, fn() -> Result<(), Failure>);

const CHECKS: &[Check] = &[
    ("format", || run("cargo", &["fmt", "--all", "--check"])),
    ("lints", lints),
    ("documentation", documentation),
    ("licences and sources of dependencies", dependencies),
    ("tests", || run("cargo", &["test", "--release", "--workspace"])),
    ("scenarios on the core", || on_host("native")),
    ("scenarios on the component in wasmtime", || on_host("wasmtime")),
    ("scenarios on the naive model", || on_host("model")),
    ("scenarios on Flink's classes", reference::run_where_possible),
    ("made-up runs of the core against the model", || sim::seeds(20_000, "native", "model")),
    ("made-up runs of the component against the core", || sim::seeds(2_000, "wasmtime", "native")),
];

/// Sets up, and runs the checks until one fails.
pub(crate) fn run_all() -> Result<(), Failure> {
    setup::targets()?;
    setup::components()?;
    let start = Instant::now();
    for (name, check) in CHECKS {
        let begun = Instant::now();
        eprintln!("== {name}");
        check()?;
        eprintln!("== {name}: passed in {} s", begun.elapsed().as_secs());
    }
    eprintln!("== all passed in {} s", start.elapsed().as_secs());
    Ok(())
}

/// The component is a crate of its target alone.
fn lints() -> Result<(), Failure> {
    run("cargo", &["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    let component = [
        "clippy",
        "--profile",
        "guest",
        "--package",
        "lookaside-component",
        "--package",
        "fixed-table",
        "--package",
        "recorder",
    ];
    run(
        "cargo",
        &[&component[..], &["--target", "wasm32-wasip2", "--target-dir", "target/guest", "--", "-D", "warnings"]]
            .concat(),
    )
}

fn documentation() -> Result<(), Failure> {
    let packages = ["--package", "lookaside-core", "--package", "lookaside"];
    let line = [&["doc", "--release", "--no-deps", "--lib"][..], &packages].concat();
    run_with("cargo", &line, |command| command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Advisories need a database from outside, so they are a command of their own: see CONTRIBUTING.md.
fn dependencies() -> Result<(), Failure> {
    run(&setup::cargo_deny()?, &["--all-features", "check", "bans", "licenses", "sources"])
}

fn on_host(host: &str) -> Result<(), Failure> {
    scenarios::run(&scenarios::Arguments { host: host.to_owned(), files: Vec::new() })
}
