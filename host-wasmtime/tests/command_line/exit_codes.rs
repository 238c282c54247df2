//! How runs end: the documented codes, and nothing lost without a word.

use crate::run::{Folder, USERS};

fn folder() -> Folder {
    Folder::with(&[
        ("users.csv", USERS),
        ("in.ndjson", "{\"id\":1}\n"),
        ("in.odd", "{\"id\":1}\n"),
        ("half.gz", "\u{1f}no gzip"),
    ])
}

#[test]
fn the_help_has_examples_and_the_codes() {
    let folder = folder();
    let output = folder.command().args(["enrich", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for text in ["Examples:", "lookaside enrich flights.json --key origin", "Exit codes:", "--on-bad-record"] {
        assert!(help.contains(text), "{text}");
    }
    let version = folder.command().arg("--version").output().unwrap();
    assert_eq!(String::from_utf8(version.stdout).unwrap(), format!("lookaside {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_command_line_that_makes_no_sense_ends_with_2() {
    let folder = folder();
    let table = "--key id --lookup csv:users.csv";
    for arguments in [
        "in.ndjson",
        "in.ndjson --key id",
        "in.ndjson --lookup csv:users.csv",
        &format!("in.odd {table}"),
        &format!("in.ndjson {table} --order sorted"),
        &format!("in.ndjson {table} --capacity 0"),
        &format!("in.ndjson {table} --capacity 16777216"),
        &format!("in.ndjson {table} --timeout 0s"),
        &format!("in.ndjson {table} --timeout soon"),
        &format!("in.ndjson {table} --max-bytes 0"),
        &format!("in.ndjson {table} --retry-multiplier 0.5"),
        &format!("in.ndjson {table} --on-missing retry"),
        &format!("in.ndjson {table} --lookup-latency 9ms..5ms"),
        &format!("in.ndjson {table} --watermark-delay 5s"),
        &format!("in.ndjson {table} --event-time t --event-time-format yyyy"),
        &format!("in.ndjson {table} --out-format xml"),
        &format!("in.ndjson {table} -o in.ndjson"),
        &format!("in.ndjson {table} -q -v"),
        &format!("in.ndjson {table} --no-such-flag"),
    ] {
        let run = folder.enrich(arguments);
        assert_eq!(run.stdout, "", "{arguments}");
        assert!(!run.failed(2).is_empty(), "{arguments}");
    }
    assert_eq!(folder.read("in.ndjson"), "{\"id\":1}\n", "the input is not emptied");
}

#[test]
fn a_file_that_cannot_be_used_ends_with_3() {
    let folder = folder();
    for (arguments, expected) in [
        ("missing.ndjson --key id --lookup csv:users.csv", "cannot read missing.ndjson: No such file"),
        ("in.ndjson --key id --lookup csv:missing.csv", "cannot read the table missing.csv"),
        (
            "in.ndjson --key id --lookup csv:users.csv -o missing/out.ndjson",
            "cannot write missing/out.ndjson: No such file",
        ),
        ("in.ndjson --key id --lookup csv:users.csv --component users.csv", "users.csv is not a WebAssembly component"),
        (
            "in.ndjson --key id --lookup csv:users.csv --component missing.wasm",
            "cannot read the component missing.wasm: No such file",
        ),
        ("half.gz --in-format ndjson --key id --lookup csv:users.csv", "cannot read half.gz"),
        (". --in-format ndjson --key id --lookup csv:users.csv", "cannot read .: Is a directory"),
    ] {
        let error = folder.enrich(arguments).failed(3);
        assert!(error.contains(expected), "{arguments}: {error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_with_3() {
    let folder = folder();
    let error = folder.enrich("in.ndjson --key id --lookup csv:users.csv -o /dev/full").failed(3);
    assert!(error.contains("cannot write /dev/full: No space left on device"), "{error}");
    let many = "{\"id\":1}\n".repeat(100_000);
    let error = folder.enrich_with_input("- --key id --lookup csv:users.csv -o /dev/full", many).failed(3);
    assert!(error.contains("No space left on device"), "{error}");
}

#[test]
fn data_alone_is_on_stdout_and_quiet_is_quiet() {
    let folder = folder();
    let run = folder.enrich("in.ndjson --key id --lookup csv:users.csv -q");
    assert_eq!(run.stderr, "");
    run.ended(0);
    let run = folder.enrich("in.ndjson --key id --lookup csv:users.csv -v");
    assert!(run.stderr.contains("3 rows in users.csv"), "{}", run.stderr);
    assert_eq!(run.ended(0).lines().count(), 1);
}

#[test]
fn another_component_runs_in_place_of_the_bundled_one() {
    let folder = folder();
    std::fs::write(folder.path("other.wasm"), lookaside::OperatorComponent::bundled_bytes()).unwrap();
    assert!(folder.enrich("in.ndjson --key id --lookup csv:users.csv --component other.wasm").ended(0).contains("Ann"));
}
