//! The bench program runs and finds every row; its figures mean nothing here.

use std::process::Command;

#[test]
fn the_backends_are_measured() {
    let output = Command::new(env!("CARGO_BIN_EXE_lookaside-bench"))
        .args(["backends", "--scale", "0.001", "sqlite", "http"])
        .output()
        .expect("it runs");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(table.lines().count(), 6, "{table}");
}
