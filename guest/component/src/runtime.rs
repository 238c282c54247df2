//! What a program without a standard library brings itself: memory, and what to do in a panic.

use alloc::alloc::{Layout, alloc, realloc};

#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

/// Where the host puts what it passes: the canonical ABI's way to get memory.
///
/// # Safety
///
/// As the canonical ABI says: `old` is what an earlier call gave for `old_size` and `align`.
#[unsafe(export_name = "cabi_realloc")]
unsafe extern "C" fn cabi_realloc(old: *mut u8, old_size: usize, align: usize, new_size: usize) -> *mut u8 {
    if new_size == 0 {
        return core::ptr::without_provenance_mut(align);
    }
    // SAFETY: the caller gives sizes and an alignment that make a layout, as the ABI demands; a
    // block of `old_size` 0 was never allocated.
    let memory = unsafe {
        if old_size == 0 {
            alloc(Layout::from_size_align_unchecked(new_size, align))
        } else {
            realloc(old, Layout::from_size_align_unchecked(old_size, align), new_size)
        }
    };
    if memory.is_null() {
        core::arch::wasm32::unreachable();
    }
    memory
}

// `memcmp` and its kin, from the C library that the target brings; the rest of it stays out.
#[link(name = "c")]
unsafe extern "C" {}
