//! Builds the component, so that a plain `cargo build` brings it along.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

const TARGET: &str = "wasm32-wasip2";

fn main() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for input in ["guest", "wit", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(input).display());
    }
    if !has_target() {
        println!(
            "cargo::error=the component needs the Rust target {TARGET}; run `rustup target add {TARGET}`, then build again"
        );
        return;
    }
    match build_component(&workspace) {
        Ok(component) => println!("cargo::rustc-env=LOOKASIDE_COMPONENT={}", component.display()),
        Err(message) => println!("cargo::error={message}"),
    }
}

/// Whether the standard library of the component's target is installed.
fn has_target() -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// Runs cargo for the component, in a target folder of its own: the one of this build is locked.
fn build_component(workspace: &Path) -> Result<PathBuf, String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    // OUT_DIR is TARGET/PROFILE/build/PACKAGE/out.
    let target_folder = out.ancestors().nth(4).unwrap_or(&out).join("guest");
    let cargo_home = env::var("CARGO_HOME").or_else(|_| env::var("HOME").map(|home| format!("{home}/.cargo")));
    let remap = |from: &str, to: &str| format!("--remap-path-prefix={from}={to}");
    // No path of the building machine gets into the component, so that equal sources give equal bytes.
    let flags = [
        // The operator's parts are not copied into each place that calls them: most of them run once for a
        // group of records.
        "-Cllvm-args=-inline-threshold=25".to_owned(),
        remap(&format!("{}/registry/src", cargo_home.unwrap_or_default()), "crates"),
        remap(&workspace.canonicalize().map_err(|error| error.to_string())?.display().to_string(), "lookaside"),
    ];
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(workspace)
        .args(["build", "--profile", "guest", "--package", "lookaside-component", "--target", TARGET, "--target-dir"])
        .arg(&target_folder)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .status()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if !status.success() {
        return Err(format!("the component in guest/component did not build: {status}"));
    }
    Ok(target_folder.join(TARGET).join("guest").join("lookaside_component.wasm"))
}
