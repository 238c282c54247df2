//! The component: the WIT contract onto the operator of `lookaside-core`.
//!
//! It keeps one operator, turns columns into records and elements into columns, and carries
//! requests and answers between the operator and the imported lookups. It decides nothing.

// On other targets this crate is empty: the names of its exports are none that a linker there takes.
#![cfg(target_arch = "wasm32")]
#![no_std]

extern crate alloc;

#[allow(missing_docs, unsafe_op_in_unsafe_fn, clippy::all, clippy::undocumented_unsafe_blocks, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({
        world: "async-lookup-operator",
        path: "../../wit",
        generate_all,
    });
}

mod batch;
mod errors;
mod inspect;
mod instance;
mod provider;
mod runtime;
mod single;

/// What the component exports.
struct Component;

bindings::export!(Component with_types_in bindings);
