//! The package for browsers and Node: built from the same component as every other host's.

use std::path::{Path, PathBuf};

use wasm_bindgen_cli_support::Bindgen;

use crate::{
    setup,
    shell::{self, Failure, project, run_in},
};

/// What is to be done.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only build the package; serve nothing.
    #[arg(long)]
    build: bool,
    /// The port of 127.0.0.1 at which the page is served.
    #[arg(long, default_value_t = PORT)]
    port: u16,
}

/// Where the page is served.
pub(crate) const PORT: u16 = 4173;

/// Builds the package, and serves the page until it is ended from outside.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    build()?;
    if arguments.build {
        return Ok(());
    }
    let web = project().join("web");
    run_in(&web, "npx", &["vite", "build", "demo", "--logLevel", "warn"])?;
    let port = arguments.port.to_string();
    eprintln!("serving the page at http://127.0.0.1:{port}/ (Ctrl-C ends it)");
    run_in(&web, "npx", &["vite", "preview", "demo", "--port", &port, "--strictPort", "--logLevel", "warn"])
}

/// Tests the package that [`build`] has built, in Node and in Chromium.
pub(crate) fn test() -> Result<(), Failure> {
    setup::chromium()?;
    let web = project().join("web");
    run_in(&web, "npx", &["tsc", "--noEmit", "--project", "tests"])?;
    run_in(
        &web,
        "node",
        &[
            "--test",
            "--test-reporter=spec",
            "tests/operator.test.mjs",
            "tests/package.test.mjs",
            "tests/chromium.test.mjs",
            "tests/vite.test.mjs",
            "tests/demo.test.mjs",
        ],
    )
}

/// Builds everything that is generated in `web/package/wasm`.
pub(crate) fn build() -> Result<(), Failure> {
    setup::targets()?;
    let web = project().join("web");
    // npm writes the one when it has installed what the other says.
    let (installed, wanted) = (web.join("node_modules").join(".package-lock.json"), web.join("package-lock.json"));
    let written = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    if written(&installed) < written(&wanted) {
        eprintln!("installing what the package is built with");
        run_in(&web, "npm", &["ci", "--no-audit", "--no-fund"])?;
    }
    // The host builds the component, which is the one that wasmtime runs; as the tests build it, so that nothing is built twice.
    shell::run("cargo", &["test", "--quiet", "--release", "--workspace", "--no-run", "--test", "smoke"])?;
    let host = ["build", "--quiet", "--package", "lookaside-web", "--target", "wasm32-unknown-unknown"];
    shell::run("cargo", &[&host[..], &["--profile", "web", "--target-dir", "target/guest"]].concat())?;

    let folder = web.join("package").join("wasm");
    std::fs::create_dir_all(&folder)?;
    bind(&built("wasm32-unknown-unknown/web/lookaside_web.wasm"), &folder)?;
    let component = built("wasm32-wasip2/guest/lookaside_component.wasm").display().to_string();
    let script = folder.join("lookaside.js");
    let folder = folder.display().to_string();
    let line = ["jco", "transpile", &component, "--instantiation", "async", "--name", "lookaside", "--quiet"];
    run_in(&web, "npx", &[&line[..], &["--no-typescript", "--out-dir", &folder]].concat())?;
    // Vite warns of a module of Node's that it finds; what would load it is never called, since modules.js compiles.
    let text = std::fs::read_to_string(&script)?;
    let (found, quiet) = ("import('node:fs/promises')", "import(/* @vite-ignore */ 'node:fs/promises')");
    match text.contains(found) {
        true => Ok(std::fs::write(&script, text.replace(found, quiet))?),
        false => Err(Failure::Unexpected(format!("{}: jco no longer writes {found}; take this out", script.display()))),
    }
}

fn built(path: &str) -> PathBuf {
    project().join("target").join("guest").join(path)
}

/// Writes the host's module and the JavaScript that it is used by.
fn bind(module: &Path, folder: &Path) -> Result<(), Failure> {
    let made = (|| {
        let mut bindgen = Bindgen::new();
        bindgen.input_path(module).typescript(false).omit_default_module_path(true).web(true)?;
        bindgen.generate(folder)
    })();
    made.map_err(|error| Failure::Unexpected(format!("binding {}: {error:#}", module.display())))
}
