//! Any bytes as a snapshot: an error, or an operator whose own snapshot is those bytes.
//!
//! With a right checksum at their end half of the time, so that what is behind it is reached.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lookaside_core::{Instant, Operator, Options, Order};

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    if bytes.first() == Some(&b'L') {
        let checksum = crc32(&bytes);
        bytes.extend(checksum.to_le_bytes());
    }
    for order in [Order::Ordered, Order::Unordered, Order::KeyOrdered] {
        let options = Options { order, ..Options::default() };
        if let Ok(operator) = Operator::restore(options, &bytes, Instant(0)) {
            assert_eq!(operator.snapshot().expect("nothing failed"), bytes);
        }
    }
});

/// CRC-32 as in zip and PNG, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}
