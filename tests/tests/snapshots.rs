//! Every released format of snapshots stays loadable: the files in `tests/snapshots/` are never changed.

use std::path::{Path, PathBuf};

use lookaside_core::{Answer, Element, EventTime, Instant, Operator, Options, Order, Rows, SnapshotError};

fn file(name: &str) -> Vec<u8> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What comes out of a snapshot when each lookup is answered as it is asked for.
fn elements(name: &str, order: Order) -> Vec<String> {
    let options = Options { order, ..Options::default() };
    let mut operator = Operator::restore(options, &file(name), Instant(0)).expect("it loads");
    let mut shown = Vec::new();
    loop {
        while let Some(request) = operator.next_request() {
            operator
                .complete(Answer::rows(&request, Rows::from("row"), Instant(0)), Instant(0))
                .expect("nothing fails");
        }
        let Some(element) = operator.next_output().unwrap() else { return shown };
        shown.push(match element {
            Element::Joined(joined) => {
                let time = if joined.record.event_time == EventTime::NONE {
                    "-".into()
                } else {
                    joined.record.event_time.0.to_string()
                };
                let key = joined.record.key.map_or("none".into(), |key| key.escape_ascii().to_string());
                let order_key =
                    joined.record.order_key.map_or("none".into(), |key| String::from_utf8_lossy(&key).into_owned());
                format!("{}@{time} {key}/{order_key}", String::from_utf8_lossy(&joined.record.payload))
            }
            other => format!("{other:?}"),
        });
    }
}

#[test]
fn format_1_loads() {
    assert_eq!(elements("format-1/empty.lksd", Order::Ordered), [""; 0]);
    assert_eq!(
        elements("format-1/ordered.lksd", Order::Unordered),
        [
            "r1@1 a/none",
            "r2@- /none",
            "Watermark(EventTime(2))",
            "Idle",
            "Active",
            "r3@3 none/none",
            "r4@9223372036854775807 \\x00\\xff/é",
            "Watermark(EventTime(9223372036854775807))",
        ]
    );
    assert_eq!(
        elements("format-1/key-ordered.lksd", Order::KeyOrdered),
        ["r1@1 a/o", "r2@2 b/o", "Watermark(EventTime(5))", "r3@3 a/none"]
    );
}

#[test]
fn what_is_written_now_is_format_1() {
    for (name, order) in [("format-1/ordered.lksd", Order::Ordered), ("format-1/key-ordered.lksd", Order::KeyOrdered)] {
        let options = Options { order, ..Options::default() };
        let operator = Operator::restore(options, &file(name), Instant(0)).expect("it loads");
        assert_eq!(operator.snapshot().expect("nothing failed"), file(name), "{name}");
    }
}

#[test]
fn a_flipped_bit_anywhere_is_an_error() {
    let snapshot = file("format-1/ordered.lksd");
    for place in 0..snapshot.len() * 8 {
        let mut changed = snapshot.clone();
        changed[place / 8] ^= 1 << (place % 8);
        let error = Operator::restore(Options::default(), &changed, Instant(0)).expect_err("it was changed");
        assert!(matches!(error, SnapshotError::Corrupt(_)), "bit {place}: {error}");
    }
}

#[test]
fn another_format_is_told_from_a_broken_one() {
    let mut snapshot = file("format-1/empty.lksd");
    snapshot[4] = 9;
    let content = snapshot.len() - 4;
    let checksum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&snapshot[..content]);
    snapshot[content..].copy_from_slice(&checksum.to_le_bytes());
    let error = Operator::restore(Options::default(), &snapshot, Instant(0)).expect_err("an unknown format");
    assert_eq!(error.to_string(), "the snapshot does not fit: it has format 9, and this operator reads format 1");
}
