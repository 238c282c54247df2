//! Input that is not what it should be.

use crate::run::{Folder, USERS};

const TABLE: &str = "--key id --lookup csv:users.csv";

fn folder() -> Folder {
    Folder::with(&[
        ("users.csv", USERS),
        ("bad.ndjson", "{\"id\":1}\n\n{\"id\":\n{\"id\":2}\n[]\n7\n{\"id\":3}\n"),
        ("bad.json", "[{\"id\":1},\n{\"id\" 1},\n\"x\",{\"id\":2}]"),
        ("broken.json", "[{\"id\":1},\n{\"id\":2}\n{\"id\":3}]"),
        ("bad.csv", "id,x\n1,a\n2\n3,b,c\n2,d\n"),
    ])
}

#[test]
fn a_bad_record_ends_the_run_after_those_before_it() {
    let folder = folder();
    for (file, place) in [
        ("bad.ndjson", "bad.ndjson:3: a JSON object was expected"),
        ("bad.json", "bad.json:2: a JSON object was expected"),
        ("bad.csv", "bad.csv:3: 1 values where the header has 2"),
    ] {
        let run = folder.enrich(&format!("{file} {TABLE}"));
        assert_eq!(run.stdout.lines().count(), 1, "{file}");
        let error = run.failed(3);
        assert!(error.contains(place) && error.contains("--on-bad-record skip"), "{file}: {error}");
    }
}

#[test]
fn bad_records_are_passed_over_and_counted() {
    let folder = folder();
    for (file, good, bad) in [("bad.ndjson", 3, 3), ("bad.json", 2, 2), ("bad.csv", 2, 2)] {
        let run = folder.enrich(&format!("{file} {TABLE} --on-bad-record skip --stats json"));
        assert_eq!((run.counter("records-written"), run.counter("records-skipped")), (good, bad), "{file}");
        run.ended(1);
    }
    let run = folder.enrich(&format!("bad.ndjson {TABLE} --on-bad-record skip -v"));
    assert!(run.stderr.contains("skipped line 5"), "{}", run.stderr);
}

#[test]
fn odd_bytes_are_bad_records() {
    let folder = folder();
    for bytes in [&b"{\"id\":\"\xff\"}"[..], b"\x00", b"{\"id\":1}x", b"\"{}\"", b"nul"] {
        let run = folder.enrich_with_input(&format!("- {TABLE}"), bytes);
        run.failed(3);
    }
    let run = folder.enrich_with_input(&format!("- {TABLE} --in-format csv"), &b"id,x\n1,\xff\n"[..]);
    assert!(run.failed(3).contains("it is not UTF-8"));
}

#[test]
fn what_cannot_be_told_apart_ends_the_run_even_when_skipping() {
    let folder = folder();
    let run = folder.enrich(&format!("broken.json {TABLE} --on-bad-record skip"));
    // The second and third element have no comma between them: as one text they are no object.
    assert_eq!(run.code, Some(1));
    let error = folder.enrich(&format!("bad.csv --in-format json {TABLE} --on-bad-record skip")).failed(3);
    let expected = "bad.csv:1: `[` or `{`, which begin an array of records or one, was expected and there is `i`";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn an_event_time_must_be_one() {
    let folder = folder();
    let event_time = "- --key id --lookup csv:users.csv --event-time t";
    let error = folder.enrich_with_input(event_time, "{\"id\":1,\"t\":5}\n{\"id\":1}\n").failed(3);
    assert!(error.contains("standard input:2: it has no event time in `t`"), "{error}");
    let error = folder.enrich_with_input(event_time, "{\"id\":1,\"t\":\"noon\"}\n").failed(3);
    assert!(error.contains("the event time in `t`: `noon` is no RFC 3339 time"), "{error}");
    let output = (folder.command())
        .args(["enrich", "--key", "id", "--lookup", "csv:users.csv", "--event-time", "t"])
        .args(["--event-time-format", "%Y/%m/%d %H:%M"])
        .write_stdin("{\"id\":1,\"t\":\"2001-01-14\"}")
        .output();
    let error = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(error.contains("`2001-01-14` does not fit %Y/%m/%d"), "{error}");
}
