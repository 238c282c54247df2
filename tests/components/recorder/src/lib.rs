//! A component between the operator and its provider: it counts what it passes on.

#![cfg(target_arch = "wasm32")]
#![no_std]

extern crate alloc;

use core::sync::atomic::{AtomicU64, Ordering};

#[allow(missing_docs, unsafe_op_in_unsafe_fn, clippy::all, clippy::undocumented_unsafe_blocks, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ world: "lookaside:recorder/recorder", path: ["../../../wit", "wit"], generate_all });
}

#[path = "../../../../guest/component/src/runtime.rs"]
mod runtime;

use bindings::{
    exports::lookaside::{async_lookup::lookup as exported, recorder::calls},
    lookaside::async_lookup::lookup as imported,
};

static ASKED: AtomicU64 = AtomicU64::new(0);
static ANSWERED: AtomicU64 = AtomicU64::new(0);

struct Recorder;

bindings::export!(Recorder with_types_in bindings);

impl exported::Guest for Recorder {
    fn async_lookup(now: u64, requests: exported::RequestBatch) {
        ASKED.fetch_add(requests.ids.len() as u64, Ordering::Relaxed);
        let exported::RequestBatch { ids, attempts, deadlines, keys, payloads } = requests;
        imported::async_lookup(now, &imported::RequestBatch { ids, attempts, deadlines, keys, payloads });
    }

    fn take_completions(now: u64, max: u32) -> exported::CompletionBatch {
        let taken = imported::take_completions(now, max);
        ANSWERED.fetch_add(taken.ids.len() as u64, Ordering::Relaxed);
        let imported::CompletionBatch { ids, attempts, statuses, arrivals, row_counts, rows, retry_after } = taken;
        exported::CompletionBatch { ids, attempts, statuses, arrivals, row_counts, rows, retry_after }
    }
}

impl calls::Guest for Recorder {
    fn count() -> (u64, u64) {
        (ASKED.load(Ordering::Relaxed), ANSWERED.load(Ordering::Relaxed))
    }
}
