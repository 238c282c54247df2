//! The contract as Rust types, generated from `wit/`.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "generated; wit/ has the docs"
)]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "async-lookup-operator",
    imports: { default: trappable },
});
