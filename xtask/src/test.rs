//! `cargo xtask test`: everything that must hold.

use std::time::Instant;

use crate::{
    instructions, reference, services, setup,
    shell::{Failure, run, run_built, run_with},
    web,
};

/// One thing to check, and its name.
type Check = (&'static str, fn() -> Result<(), Failure>);

const CHECKS: &[Check] = &[
    ("format", || run("cargo", &["fmt", "--all", "--check"])),
    ("lints", lints),
    ("documentation", documentation),
    ("licences and sources of dependencies", dependencies),
    ("the web package is built", web::build),
    ("tests", || run("cargo", &["test", "--release", "--workspace"])),
    ("scenarios on the core", || run_built("scenarios", &["--host", "native"])),
    ("scenarios on the component in wasmtime", || run_built("scenarios", &["--host", "wasmtime"])),
    ("scenarios on the naive model", || run_built("scenarios", &["--host", "model"])),
    ("the web package, in Node and in Chromium", web::test),
    ("scenarios on the component in Node", || run_built("scenarios", &["--host", "node"])),
    ("scenarios on the component in Chromium", || run_built("scenarios", &["--host", "chromium"])),
    ("made-up runs of the component in Node against the core", || {
        run_built("sim", &["--seeds", "100", "--host", "node", "--against", "native"])
    }),
    ("made-up runs of the component in Chromium against the core", || {
        run_built("sim", &["--seeds", "20", "--host", "chromium", "--against", "native"])
    }),
    ("scenarios on Flink's classes", reference::run_where_possible),
    ("instructions a record", instructions::check),
    ("every interleaving of a few records", || run_built("interleavings", &[])),
    ("made-up runs of the core against the model", || {
        run_built("sim", &["--seeds", "20000", "--host", "native", "--against", "model"])
    }),
    ("made-up runs of the component against the core", || {
        run_built("sim", &["--seeds", "2000", "--host", "wasmtime", "--against", "native"])
    }),
];

/// Sets up, and runs the checks until one fails.
pub(crate) fn run_all() -> Result<(), Failure> {
    setup::targets()?;
    setup::components()?;
    // First, so that what has to be installed shows at once.
    let _running = services::Running::start()?;
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
    )?;
    let web = ["clippy", "--profile", "web", "--package", "lookaside-web", "--target", "wasm32-unknown-unknown"];
    run("cargo", &[&web[..], &["--target-dir", "target/guest", "--", "-D", "warnings"]].concat())
}

fn documentation() -> Result<(), Failure> {
    let packages = ["--package", "lookaside-core", "--package", "lookaside-feeder", "--package", "lookaside"];
    let line = [&["doc", "--release", "--no-deps", "--lib"][..], &packages].concat();
    run_with("cargo", &line, |command| command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Advisories need a database from outside, so they are a command of their own: see CONTRIBUTING.md.
fn dependencies() -> Result<(), Failure> {
    run(&setup::cargo_deny()?, &["--all-features", "check", "bans", "licenses", "sources"])
}
