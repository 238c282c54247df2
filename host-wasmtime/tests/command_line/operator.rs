//! Order, capacity, timeouts, policies and counters.

use crate::run::{Folder, USERS};

fn folder() -> Folder {
    Folder::with(&[("users.csv", USERS), ("codes.csv", "code,name\nA1,Axe\n")])
}

fn ids(count: u32) -> String {
    (0..count).map(|id| format!("{{\"id\":{id},\"t\":{id}}}\n")).collect()
}

/// The ids of the output, in order.
fn order(out: &str) -> Vec<u64> {
    out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_u64().unwrap()).collect()
}

const SLOW: &str = "- --key id --lookup csv:users.csv --lookup-latency 1ms..20ms";

#[test]
fn ordered_keeps_the_order_and_unordered_need_not() {
    let folder = folder();
    let run = |more: &str| order(&folder.enrich_with_input(&format!("{SLOW} {more}"), ids(200)).ended(0));
    let in_order: Vec<u64> = (0..200).collect();
    assert_eq!(run(""), in_order);
    let mut unordered = run("--order unordered");
    assert_ne!(unordered, in_order);
    unordered.sort_unstable();
    assert_eq!(unordered, in_order);
}

#[test]
fn unordered_does_not_pass_a_watermark() {
    let folder = folder();
    let arguments = format!("{SLOW} --order unordered --event-time t --watermark-every 10");
    let out = order(&folder.enrich_with_input(&arguments, ids(200)).ended(0));
    for (number, segment) in out.chunks(10).enumerate() {
        let mut segment = segment.to_vec();
        segment.sort_unstable();
        let first = number as u64 * 10;
        assert_eq!(segment, (first..first + 10).collect::<Vec<_>>());
    }
    assert_ne!(out, (0..200).collect::<Vec<_>>(), "within a segment they may");
}

#[test]
fn watermarks_stay_behind_by_their_delay() {
    let folder = folder();
    let barriers = |more: &str| {
        let arguments = format!("{SLOW} --event-time t --stats json {more}");
        folder.enrich_with_input(&arguments, ids(100)).counter("barriers-emitted")
    };
    // Ten times 10 records, and the end of event time; with a delay the watermark still rises each time.
    assert_eq!(barriers("--watermark-every 10"), 11);
    assert_eq!(barriers("--watermark-every 10 --watermark-delay 50ms"), 11);
    assert_eq!(barriers("--watermark-every 50"), 3);
}

#[test]
fn key_ordered_keeps_the_order_within_a_key() {
    let folder = folder();
    let input: String = (0..120).map(|id| format!("{{\"id\":{id},\"k\":\"k{}\"}}\n", id % 4)).collect();
    let out = order(&folder.enrich_with_input(&format!("{SLOW} --order key-ordered --order-key k"), input).ended(0));
    assert_ne!(out, (0..120).collect::<Vec<_>>());
    for key in 0..4 {
        let of_key: Vec<u64> = out.iter().copied().filter(|id| id % 4 == key).collect();
        assert!(of_key.is_sorted(), "{of_key:?}");
    }
}

#[test]
fn a_timeout_ends_the_run_or_the_record() {
    let folder = folder();
    let slow = "- --key id --lookup csv:users.csv --as u --lookup-latency 10s --timeout 30ms";
    let error = folder.enrich_with_input(slow, "{\"id\":1}").failed(4);
    assert!(error.contains("the lookup of [1] timed out: no answer within 30 ms"), "{error}");
    assert!(error.contains("--on-timeout"), "it says what to do: {error}");
    let run = folder.enrich_with_input(&format!("{slow} --on-timeout emit --stats json"), "{\"id\":1}");
    assert_eq!(run.counter("timed-out"), 1);
    assert_eq!(
        run.ended(1),
        "{\"id\":1,\"u\":null,\"u_error\":{\"outcome\":\"timed out\",\"attempts\":1,\"message\":\"no answer within 30 ms\"}}\n"
    );
    let run = folder.enrich_with_input(&format!("{slow} --on-timeout drop --stats json"), "{\"id\":1}");
    assert_eq!(run.counter("dropped"), 1);
    assert_eq!(run.ended(1), "");
}

#[test]
fn a_miss_goes_by_its_policy() {
    let folder = folder();
    let run = |more: &str| {
        folder.enrich_with_input(
            &format!("- --key id --lookup csv:users.csv --as u {more}"),
            "{\"id\":1}\n{\"id\":9}\n{\"id\":null}\n",
        )
    };
    assert_eq!(run("").ended(0).lines().count(), 3);
    assert_eq!(run("--on-missing drop").ended(0).lines().count(), 1, "what was chosen to be dropped is no error");
    let error = run("--on-missing fail").failed(4);
    assert!(error.contains("standard input:2: the lookup of [9] found nothing"), "{error}");
    let arguments = "- --key id --lookup csv:users.csv --on-missing fail";
    let error = folder.enrich_with_input(arguments, "{\"id\":1}\n{\"id\":null}").failed(4);
    assert!(error.contains("standard input:2: a record without a key found nothing"), "{error}");
    let arguments = "- --key id --lookup csv:users.csv --on-missing fail";
    let error = folder.enrich_with_input(arguments, "{\"id\":9}").failed(4);
    assert!(error.contains("the lookup of [9] found nothing"), "{error}");
}

#[test]
fn a_failure_goes_by_its_policy() {
    let folder = folder();
    let run = |more: &str| {
        folder.enrich_with_input(
            &format!("- --key id --lookup csv:codes.csv --lookup-key code --as c {more}"),
            "{\"id\":\"A1\"}\n{\"id\":7}\n",
        )
    };
    let error = run("").failed(4);
    assert!(error.contains("the lookup of [7] failed: rejected: the key 7 is a number"), "{error}");
    assert_eq!(run("--on-failure drop").ended(1).lines().count(), 1);
    let out = run("--on-failure emit").ended(1);
    let failed = out.lines().nth(1).unwrap();
    assert!(
        failed.starts_with(r#"{"id":7,"c":null,"c_error":{"outcome":"failed","attempts":1,"message":"rejected: "#),
        "{failed}"
    );
}

#[test]
fn what_was_ready_before_a_failure_is_written() {
    let folder = folder();
    let run = folder.enrich_with_input(
        "- --key id --lookup csv:users.csv --capacity 1 --on-missing fail",
        "{\"id\":1}\n{\"id\":2}\n{\"id\":9}\n{\"id\":3}\n",
    );
    assert_eq!(run.ended(4).lines().count(), 2);
}

#[test]
fn misses_are_retried_as_often_as_said() {
    let folder = folder();
    let arguments =
        "- --key id --lookup csv:users.csv --retry-on missing --retry-attempts 2 --retry-delay 1ms --stats json";
    let run = folder.enrich_with_input(arguments, "{\"id\":9}");
    assert_eq!((run.counter("attempts"), run.counter("retries"), run.counter("missing")), (3, 2, 1));
    run.ended(0);
    let more = "--retry-multiplier 2.5 --retry-max-delay 3ms --retry-jitter-seed 7";
    assert_eq!(folder.enrich_with_input(&format!("{arguments} {more}"), "{\"id\":9}").counter("retries"), 2);
}

#[test]
fn counters_balance() {
    let folder = folder();
    let run = folder.enrich_with_input(
        "- --key id --lookup csv:users.csv --max-bytes 200 --capacity 7 --on-bad-record skip --stats json",
        format!("{}nonsense\n{{\"id\":null}}\n", ids(50)),
    );
    let count = |name: &str| run.counter(name);
    assert_eq!((count("records-read"), count("records-skipped"), count("records-written")), (52, 1, 51));
    assert_eq!(count("accepted"), count("emitted") + count("dropped") + count("in-flight"));
    assert_eq!(count("found") + count("missing"), 51);
    assert_eq!((count("in-flight"), count("held-bytes")), (0, 0));
    run.ended(1);
}

#[test]
fn stats_for_people_are_one_line() {
    let run = folder().enrich_with_input("- --key id --lookup csv:users.csv --stats text", "{\"id\":1}\n{\"id\":9}\n");
    assert!(run.stderr.starts_with("2 read, 2 written in "), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1);
}

#[test]
fn a_limit_ends_the_input() {
    let out = folder().enrich_with_input("- --key id --lookup csv:users.csv --limit 3", ids(10)).ended(0);
    assert_eq!(order(&out), [0, 1, 2]);
}

#[test]
fn a_cache_answers_equal_keys() {
    let folder = folder();
    let input = "{\"id\":1}\n{\"id\":1}\n{\"id\":9}\n".repeat(50);
    let cached = "--cache-max-bytes 64k --cache-expire-after-write 1m --cache-expire-after-access none";
    let arguments = format!("- --key id --lookup csv:users.csv --stats json {cached}");
    let run = folder.enrich_with_input(&arguments, input.clone());
    assert_eq!((run.counter("attempts"), run.counter("found"), run.counter("missing")), (2, 100, 50));
    assert_eq!(run.counter("cache-hits") + run.counter("cache-shared"), 148);
    assert_eq!(run.ended(0).lines().count(), 150);
    let run = folder
        .enrich_with_input(&format!("{arguments} --cache-missing-expire-after-write none --capacity 1"), input.clone());
    assert_eq!(run.counter("attempts"), 51, "each miss is looked up");
    let run = folder.enrich_with_input("- --key id --lookup csv:users.csv --stats json", input);
    assert_eq!(run.counter("attempts"), 150, "without a cache each record is looked up");
    folder.enrich("- --key id --lookup csv:users.csv --cache-expire-after-write 1m").failed(2);
}
