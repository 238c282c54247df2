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

#[test]
fn the_operator_is_measured() {
    let output = Command::new(env!("CARGO_BIN_EXE_lookaside-bench"))
        .args(["operator", "--scale", "0.001", "--reps", "1", "--without-node", "w1", "w2", "w3"])
        .output()
        .expect("it runs");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(table.lines().count(), 2 + 21, "{table}");
}

#[test]
fn instances_are_measured() {
    let output = Command::new(env!("CARGO_BIN_EXE_lookaside-bench"))
        .args(["instances", "--operators", "10", "--records", "5000"])
        .output()
        .expect("it runs");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{lines}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(lines.lines().count(), 3, "{lines}");
}

#[test]
fn the_plots_are_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    // It is made where it is not there.
    let plots = folder.path().join("plots");
    let output = Command::new(env!("CARGO_BIN_EXE_lookaside-bench"))
        .args(["sweep", "--scale", "0.001", "--out"])
        .arg(&plots)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for file in ["cost-by-batch.svg", "cost-by-payload.svg", "cost-by-capacity.svg"] {
        let plot = std::fs::read_to_string(plots.join(file)).expect("it is drawn");
        assert!(plot.contains("component in wasmtime"), "{file}");
    }
}

#[test]
fn one_measurement_is_a_line_of_json() {
    let output = Command::new(env!("CARGO_BIN_EXE_lookaside-bench"))
        .args(
            "--peer project --workload w2 --mode unordered --capacity 100 --records 2000 --warmup 500 --reps 2"
                .split(' '),
        )
        .args("--watermark-every 100 --timeout-ms 1000 --payload own --redis-port 1".split(' '))
        .output()
        .expect("it runs");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{lines}{}", String::from_utf8_lossy(&output.stderr));
    for (line, repetition) in lines.lines().zip(1..) {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!((&line["rep"], &line["records"]), (&repetition.into(), &2_000.into()));
        assert!(line["cpu_us_per_record"].as_f64().is_some_and(|cost| cost > 0.0), "{line}");
    }
    assert_eq!(lines.lines().count(), 2);
}
