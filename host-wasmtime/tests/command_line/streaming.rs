//! Streams: record by record, closed pipes, and flat memory.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::run::{Folder, USERS};

fn start(folder: &Folder, arguments: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .current_dir(folder.path("."))
        .arg("enrich")
        .args(arguments.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command line runs")
}

#[track_caller]
fn end_of(mut child: Child) -> (Option<i32>, String) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().unwrap() {
            let mut stderr = String::new();
            child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            return (status.code(), stderr);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("it did not end");
}

#[test]
fn each_record_comes_out_before_the_next_goes_in() {
    for format in ["ndjson", "csv"] {
        let folder = Folder::with(&[("users.csv", USERS)]);
        let mut child = start(&folder, &format!("- --in-format {format} --key id --lookup csv:users.csv"));
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        if format == "csv" {
            input.write_all(b"id\n").unwrap();
        }
        for id in 1..=3 {
            let line = if format == "csv" { format!("{id}\n") } else { format!("{{\"id\":{id}}}\n") };
            input.write_all(line.as_bytes()).unwrap();
            input.flush().unwrap();
            let mut joined = String::new();
            output.read_line(&mut joined).unwrap();
            assert!(joined.contains(&format!("\"lookup\":{{\"id\":\"{id}\"")), "{format}: {joined}");
        }
        drop(input);
        assert_eq!(end_of(child), (Some(0), String::new()));
    }
}

#[test]
fn a_closed_pipe_ends_the_run_quietly_though_input_goes_on() {
    let folder = Folder::with(&[("users.csv", USERS)]);
    let mut child = start(&folder, "- --key id --lookup csv:users.csv");
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(b"{\"id\":1}\n").unwrap();
    let mut first = String::new();
    output.read_line(&mut first).unwrap();
    drop(output);
    // As `tail -f | lookaside | head -1`: the next record finds the pipe closed.
    input.write_all(b"{\"id\":2}\n").unwrap();
    assert_eq!(end_of(child), (Some(0), String::new()));
    drop(input);
}

#[test]
fn a_closed_pipe_ends_a_busy_run_quietly() {
    let folder = Folder::with(&[("users.csv", USERS), ("in.ndjson", &"{\"id\":1}\n".repeat(200_000))]);
    let mut child = start(&folder, "in.ndjson --key id --lookup csv:users.csv");
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    output.read_line(&mut first).unwrap();
    drop(output);
    assert_eq!(end_of(child), (Some(0), String::new()));
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_input() {
    let folder = Folder::with(&[("users.csv", USERS)]);
    let line = format!("{{\"id\":1,\"text\":\"{}\"}}\n", "x".repeat(1_000));
    let peak = |records: usize| {
        std::fs::write(folder.path("in.ndjson"), line.repeat(records)).unwrap();
        let child = start(&folder, "in.ndjson --key id --lookup csv:users.csv -o out.ndjson --order unordered");
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0;
        let mut child = child;
        while child.try_wait().unwrap().is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
            peak = peak.max(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0));
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(end_of(child).0, Some(0));
        peak
    };
    // 20 MB and 200 MB of input: what is held has a bound of its own.
    let (small, large) = (peak(20_000), peak(200_000));
    assert!(large < small + 30_000, "{small} kB for the small input, {large} kB for the large one");
}

#[cfg(unix)]
#[test]
fn a_signal_asks_why_the_run_stands_still() {
    let folder = Folder::with(&[("users.csv", USERS)]);
    let mut child = start(&folder, "- --key id --lookup csv:users.csv --lookup-latency 60s");
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"id\":1}\n").unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    std::thread::sleep(Duration::from_millis(500));
    assert!(Command::new("sh").args(["-c", &format!("kill -USR1 {}", child.id())]).status().unwrap().success());
    let mut told = String::new();
    errors.read_line(&mut told).unwrap();
    assert_eq!(told, "lookaside: 1 in flight, oldest first:\n");
    told.clear();
    errors.read_line(&mut told).unwrap();
    assert!(told.starts_with("  record [1] waits for its lookup's answer, "), "{told}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_stall_is_explained_when_asked_for() {
    let folder = Folder::with(&[("users.csv", USERS)]);
    let mut child = start(&folder, "- --key id --lookup csv:users.csv --lookup-latency 60s --explain-stalls 200ms");
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"id\":1}\n").unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains("waits for its lookup's answer") {
        assert_ne!(errors.read_line(&mut told).unwrap(), 0, "{told}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
