//! Column batches made of any numbers: an error, or a batch whose every row can be read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lookaside_core::columns::{ByteStrings, CompletionBatch, OutputBatch, RecordBatch, RequestBatch};

/// Takes columns out of the fuzzer's bytes.
struct Columns<'a>(&'a [u8]);

impl Columns<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn bytes(&mut self) -> Vec<u8> {
        let length = usize::from(self.byte() % 16).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken.to_vec()
    }

    /// Small numbers mostly, so that columns fit at times.
    fn numbers<T: From<u8> + Default>(&mut self, greatest: T) -> Vec<T>
    where
        T: Copy,
    {
        self.bytes().into_iter().map(|byte| if byte == 255 { greatest } else { T::from(byte) }).collect()
    }

    fn strings(&mut self) -> Option<ByteStrings> {
        let ends = self.numbers(u32::MAX);
        ByteStrings::new("fuzzed", ends, self.bytes()).ok()
    }
}

fuzz_target!(|data: &[u8]| {
    let mut from = Columns(data);
    let _ = read(&mut from);
});

fn read(from: &mut Columns<'_>) -> Option<()> {
    match from.byte() % 4 {
        0 => {
            let times = from.numbers(i64::MAX);
            let keyless = from.numbers(u32::MAX);
            let order_keys = if from.byte() % 2 == 0 { None } else { Some(from.strings()?) };
            let batch = RecordBatch::new(times, from.strings()?, keyless, order_keys, from.strings()?).ok()?;
            assert_eq!(batch.iter().count(), batch.len());
            assert_eq!(batch.first(2).len(), batch.len().min(2));
        }
        1 => {
            let (ids, attempts, deadlines) = (from.numbers(u64::MAX), from.numbers(u32::MAX), from.numbers(u64::MAX));
            let batch = RequestBatch::new(ids, attempts, deadlines, from.strings()?, None).ok()?;
            assert_eq!(batch.iter().count(), batch.len());
        }
        2 => {
            let (ids, attempts, statuses) = (from.numbers(u64::MAX), from.numbers(u32::MAX), from.bytes());
            let (arrivals, counts) = (from.numbers(u64::MAX), from.numbers(u32::MAX));
            let (rows, retry_after) = (from.strings()?, from.numbers(u64::MAX));
            let batch = CompletionBatch::new(ids, attempts, statuses, arrivals, counts, rows, retry_after).ok()?;
            assert_eq!(batch.iter().count(), batch.len());
        }
        _ => {
            let (kinds, times, keys) = (from.bytes(), from.numbers(i64::MAX), from.strings()?);
            let (keyless, payloads) = (from.numbers(u32::MAX), from.strings()?);
            let (attempts, counts, rows) = (from.numbers(u32::MAX), from.numbers(u32::MAX), from.strings()?);
            let batch = OutputBatch::new(kinds, times, keys, keyless, payloads, attempts, counts, rows).ok()?;
            assert_eq!(batch.iter().count(), batch.len());
        }
    }
    Some(())
}
