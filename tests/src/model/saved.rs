//! The model's own snapshots: a line an element.

use bytes::Bytes;
use lookaside_core::{EventTime, Order, Record};

use super::{InQueue, What};
use crate::host::Refusal;

#[derive(Debug, Clone)]
pub(super) enum Saved {
    Record(Record),
    Watermark(EventTime),
    Idle(bool),
}

impl From<&InQueue> for Saved {
    fn from(element: &InQueue) -> Self {
        match &element.what {
            What::Record(record) => Self::Record(record.record.clone()),
            What::Watermark(time) => Self::Watermark(*time),
            What::Idle => Self::Idle(true),
            What::Active => Self::Idle(false),
        }
    }
}

pub(super) fn write<'a>(order: Order, elements: impl Iterator<Item = &'a Saved>) -> Vec<u8> {
    let mut text = format!("{}\n", order == Order::KeyOrdered);
    for element in elements {
        text.push_str(&match element {
            Saved::Watermark(time) => format!("w {}", time.0),
            Saved::Idle(idle) => format!("i {idle}"),
            Saved::Record(record) => {
                let field = |field: Option<&Bytes>| {
                    field.map_or("-".to_owned(), |field| format!("={}", String::from_utf8_lossy(field)))
                };
                let (key, order_key) = (field(record.key.as_ref()), field(record.order_key.as_ref()));
                format!("r {} {key} {order_key} {}", record.event_time.0, field(Some(&record.payload)))
            }
        });
        text.push('\n');
    }
    text.into_bytes()
}

pub(super) fn read(bytes: &[u8], order: Order) -> Result<Vec<Saved>, Refusal> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    if lines.next() != Some(if order == Order::KeyOrdered { "true" } else { "false" }) {
        return Err(Refusal::Other("another order".into()));
    }
    let element = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let field = |word: &str| word.strip_prefix('=').map(|field| Bytes::from(field.to_owned()));
        match words[..] {
            ["w", time] => Saved::Watermark(EventTime(time.parse().expect("a time"))),
            ["i", idle] => Saved::Idle(idle == "true"),
            ["r", time, key, order_key, payload] => Saved::Record(Record {
                event_time: EventTime(time.parse().expect("a time")),
                key: field(key),
                order_key: field(order_key),
                payload: field(payload).unwrap_or_default(),
            }),
            _ => panic!("a line of a snapshot: {line}"),
        }
    };
    Ok(lines.map(element).collect())
}
