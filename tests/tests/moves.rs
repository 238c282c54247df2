//! A snapshot goes on in any host, whichever took it.
#![cfg(feature = "components")]

use lookaside_core::{Answer, Element, EventTime, Instant, Options, Order, PollState, Record, Rows};
use lookaside_tests::host::{Host, HostKind};

const HOSTS: [HostKind; 3] = [HostKind::Native, HostKind::Wasmtime, HostKind::Node];

fn options() -> Options {
    Options { order: Order::Unordered, ..Options::default() }
}

/// An operator with records in flight, one of them answered, and a watermark.
fn filled(kind: HostKind) -> Box<dyn Host> {
    let mut host = kind.open(&options()).unwrap();
    for number in 0..5_u8 {
        let record = Record::new(vec![number, 0, 255], format!("payload {number}"));
        host.push_record(record, Instant(1)).unwrap();
    }
    host.push_watermark(EventTime(-7), Instant(2)).unwrap();
    host.push_record(Record::new("late", ""), Instant(3)).unwrap();
    host.poll(0, Instant(3)).unwrap();
    let requests = host.take_requests();
    host.answer(Answer::rows(&requests[2], Rows::from("early"), Instant(4)), Instant(4)).unwrap();
    host
}

/// Answers all that is asked for, and gives all that leaves.
fn drained(mut host: Box<dyn Host>) -> Vec<Element> {
    let mut elements = Vec::new();
    host.end_input(Instant(10)).unwrap();
    loop {
        for request in host.take_requests() {
            host.answer(Answer::rows(&request, Rows::One(request.key.clone()), Instant(11)), Instant(11)).unwrap();
        }
        let (more, state) = host.poll(u32::MAX, Instant(12)).unwrap();
        elements.extend(more);
        if state == PollState::Drained {
            return elements;
        }
    }
}

#[test]
fn a_snapshot_goes_on_in_any_host() {
    let mut expected = None;
    for from in HOSTS {
        let snapshot = filled(from).snapshot().unwrap();
        for to in HOSTS {
            let elements = drained(to.restore(&options(), &snapshot).unwrap());
            let expected = expected.get_or_insert_with(|| elements.clone());
            assert_eq!(elements.len(), 7, "{from:?} to {to:?}");
            assert_eq!(&elements, expected, "{from:?} to {to:?}");
        }
    }
}
