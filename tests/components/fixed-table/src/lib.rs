//! A lookup provider as a component: a fixed table of two airports.
//!
//! Answers wait in a mailbox of its own until the operator takes them.

#![cfg(target_arch = "wasm32")]
#![no_std]

extern crate alloc;

use alloc::{collections::VecDeque, vec::Vec};
use core::cell::RefCell;

#[allow(missing_docs, unsafe_op_in_unsafe_fn, clippy::all, clippy::undocumented_unsafe_blocks, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ world: "lookup-provider", path: "../../../wit", generate_all });
}

#[path = "../../../../guest/component/src/runtime.rs"]
mod runtime;

use bindings::exports::lookaside::async_lookup::lookup::{CompletionBatch, Guest, RequestBatch};
use bindings::lookaside::async_lookup::types::ByteStrings;

/// Keys and their rows.
const TABLE: [(&[u8], &[u8]); 2] = [(b"LAX", b"Los Angeles"), (b"SFO", b"San Francisco")];

/// An id, its attempt, when it was asked, and the row.
type Answer = (u64, u32, u64, Option<&'static [u8]>);

struct Mailbox(RefCell<VecDeque<Answer>>);

// SAFETY: a component instance runs on one thread at a time, so the cell is never reached from two.
unsafe impl Sync for Mailbox {}

static MAILBOX: Mailbox = Mailbox(RefCell::new(VecDeque::new()));

struct FixedTable;

bindings::export!(FixedTable with_types_in bindings);

impl Guest for FixedTable {
    fn async_lookup(now: u64, requests: RequestBatch) {
        let mut start = 0;
        for (row, &end) in requests.keys.ends.iter().enumerate() {
            let key = &requests.keys.bytes[start..end as usize];
            start = end as usize;
            let found = TABLE.iter().find(|(name, _)| *name == key).map(|(_, airport)| *airport);
            MAILBOX.0.borrow_mut().push_back((requests.ids[row], requests.attempts[row], now, found));
        }
    }

    fn take_completions(_now: u64, max: u32) -> CompletionBatch {
        let mut batch = CompletionBatch {
            ids: Vec::new(),
            attempts: Vec::new(),
            statuses: Vec::new(),
            arrivals: Vec::new(),
            row_counts: Vec::new(),
            rows: ByteStrings { ends: Vec::new(), bytes: Vec::new() },
            retry_after: Vec::new(),
        };
        let mut mailbox = MAILBOX.0.borrow_mut();
        while batch.ids.len() < max as usize
            && let Some((id, attempt, arrival, row)) = mailbox.pop_front()
        {
            batch.ids.push(id);
            batch.attempts.push(attempt);
            batch.statuses.push(0);
            batch.arrivals.push(arrival);
            batch.retry_after.push(0);
            batch.row_counts.push(row.is_some().into());
            if let Some(row) = row {
                batch.rows.bytes.extend_from_slice(row);
                batch.rows.ends.push(batch.rows.bytes.len() as u32);
            }
        }
        batch
    }
}
