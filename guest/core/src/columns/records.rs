//! Records on their way in.

use alloc::vec::Vec;

use bytes::Bytes;

use super::{ByteStrings, ByteStringsBuilder, Malformed, OutputBatchBuilder, rising_rows, same_length};
use crate::{EventTime, Record};

/// Records in order of arrival, as columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordBatch {
    event_times: Vec<i64>,
    keys: ByteStrings,
    keyless: Vec<u32>,
    order_keys: Option<ByteStrings>,
    payloads: ByteStrings,
}

impl RecordBatch {
    /// The batch of these columns.
    ///
    /// # Errors
    ///
    /// [`Malformed`] where they do not fit together.
    pub fn new(
        event_times: Vec<i64>,
        keys: ByteStrings,
        keyless: Vec<u32>,
        order_keys: Option<ByteStrings>,
        payloads: ByteStrings,
    ) -> Result<Self, Malformed> {
        let rows = event_times.len();
        same_length("keys", keys.len(), rows)?;
        same_length("payloads", payloads.len(), rows)?;
        if let Some(order_keys) = &order_keys {
            same_length("order-keys", order_keys.len(), rows)?;
        }
        rising_rows(&keyless, rows)?;
        Ok(Self { event_times, keys, keyless, order_keys, payloads })
    }

    /// How many records there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.event_times.len()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.event_times.is_empty()
    }

    /// The first `rows` records. Copies their bytes where most of the batch would be kept for nothing.
    #[must_use]
    pub fn first(&self, rows: usize) -> Self {
        let rows = rows.min(self.len());
        Self {
            event_times: Vec::from(&self.event_times[..rows]),
            keys: self.keys.first(rows),
            keyless: self.keyless.iter().copied().take_while(|&row| (row as usize) < rows).collect(),
            order_keys: self.order_keys.as_ref().map(|keys| keys.first(rows)),
            payloads: self.payloads.first(rows),
        }
    }

    /// The records in order.
    pub fn iter(&self) -> impl Iterator<Item = Record> {
        (0..self.len()).map(|row| self.record(row))
    }

    /// Record `row`.
    pub(crate) fn record(&self, row: usize) -> Record {
        Record {
            event_time: self.event_time(row),
            key: self.has_key(row).then(|| self.keys.get(row)),
            order_key: self.own_order_key(row),
            payload: self.payloads.get(row),
        }
    }

    fn own_order_key(&self, row: usize) -> Option<Bytes> {
        self.order_keys.as_ref().map(|keys| keys.get(row)).filter(|key| !key.is_empty())
    }

    /// What keeps its order in key-ordered mode, if anything does.
    pub(crate) fn order_key(&self, row: usize) -> Option<Bytes> {
        self.own_order_key(row).or_else(|| self.has_key(row).then(|| self.keys.get(row)))
    }

    pub(crate) fn event_time(&self, row: usize) -> EventTime {
        EventTime(self.event_times[row])
    }

    pub(crate) fn payload(&self, row: usize) -> &[u8] {
        self.payloads.slice(row)
    }

    /// The bytes that `count` records from `row` on hold while they are in flight; all have a key, or none has.
    pub(crate) fn held_bytes(&self, row: usize, count: usize, has_key: bool) -> u64 {
        let keys = if has_key { self.keys.byte_len(row, count) } else { 0 };
        let order_keys = self.order_keys.as_ref().map_or(0, |keys| keys.byte_len(row, count));
        (keys + order_keys + self.payloads.byte_len(row, count)) as u64
    }

    fn has_key(&self, row: usize) -> bool {
        self.keyless.is_empty() || self.keyless.binary_search(&(row as u32)).is_err()
    }

    /// How many records from `row` on have a key before one has none.
    pub(crate) fn keyed_from(&self, row: usize) -> usize {
        let next = self.keyless.partition_point(|&keyless| (keyless as usize) < row);
        self.keyless.get(next).map_or(self.len(), |&keyless| keyless as usize) - row
    }

    /// The bytes of all records together.
    pub(crate) fn byte_len(&self) -> u64 {
        self.held_bytes(0, self.len(), true)
    }

    /// The column of payloads.
    pub(crate) fn payloads(&self) -> &ByteStrings {
        &self.payloads
    }

    /// The column of keys.
    pub(crate) fn keys(&self) -> &ByteStrings {
        &self.keys
    }

    /// Has event times, keys and payloads of all records leave as they are, in front of all others.
    pub(crate) fn leave_whole(self, outputs: &mut OutputBatchBuilder) {
        outputs.event_times = self.event_times;
        outputs.keys = self.keys.into();
        outputs.payloads = self.payloads.into();
    }

    /// Appends event times, keys and payloads of `count` records, from `first` on.
    pub(crate) fn write_run(&self, first: usize, count: usize, outputs: &mut OutputBatchBuilder) {
        outputs.event_times.extend_from_slice(&self.event_times[first..first + count]);
        outputs.keys.push_run(&self.keys, first, count);
        outputs.payloads.push_run(&self.payloads, first, count);
    }
}

/// A [`RecordBatch`] that grows.
#[derive(Debug, Clone, Default)]
pub struct RecordBatchBuilder {
    /// As in the contract.
    pub event_times: Vec<i64>,
    /// As in the contract.
    pub keys: ByteStringsBuilder,
    /// As in the contract.
    pub keyless: Vec<u32>,
    /// As in the contract; begun with the first record that has one.
    pub order_keys: Option<ByteStringsBuilder>,
    /// As in the contract.
    pub payloads: ByteStringsBuilder,
}

impl RecordBatchBuilder {
    /// Makes place for so many records more, and so many bytes of their keys and their payloads.
    pub fn reserve(&mut self, records: usize, key_bytes: usize, payload_bytes: usize) {
        self.event_times.reserve(records);
        self.keys.reserve(records, key_bytes);
        self.payloads.reserve(records, payload_bytes);
    }

    /// Appends one record.
    pub fn push(&mut self, record: &Record) {
        self.push_row(record.event_time, record.key.as_deref(), record.order_key.as_deref(), &record.payload);
    }

    /// Appends one record, by its parts; an empty order key is none.
    pub fn push_row(&mut self, event_time: EventTime, key: Option<&[u8]>, order_key: Option<&[u8]>, payload: &[u8]) {
        let row = self.len();
        self.event_times.push(event_time.0);
        if key.is_none() {
            self.keyless.push(row as u32);
        }
        self.keys.push(key.unwrap_or_default());
        let order_key = order_key.unwrap_or_default();
        if !order_key.is_empty() && self.order_keys.is_none() {
            // The records before it have none.
            self.order_keys = Some(ByteStringsBuilder::empty_strings(row));
        }
        if let Some(order_keys) = &mut self.order_keys {
            order_keys.push(order_key);
        }
        self.payloads.push(payload);
    }

    /// `count` records from `first` on, copied.
    ///
    /// # Panics
    ///
    /// Where there are not so many.
    #[must_use]
    pub fn range(&self, first: usize, count: usize) -> Self {
        let rows = first as u32..(first + count) as u32;
        // They rise.
        let before = |row: u32| self.keyless.partition_point(|&keyless| keyless < row);
        let keyless = self.keyless[before(rows.start)..before(rows.end)].iter().map(|row| row - rows.start);
        Self {
            event_times: Vec::from(&self.event_times[first..first + count]),
            keys: self.keys.range(first, count),
            keyless: keyless.collect(),
            order_keys: self.order_keys.as_ref().map(|keys| keys.range(first, count)),
            payloads: self.payloads.range(first, count),
        }
    }

    /// How many records there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.event_times.len()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.event_times.is_empty()
    }

    /// The batch as it is.
    #[must_use]
    pub fn build(self) -> RecordBatch {
        RecordBatch {
            event_times: self.event_times,
            keys: self.keys.build(),
            keyless: self.keyless,
            order_keys: self.order_keys.map(ByteStringsBuilder::build),
            payloads: self.payloads.build(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(rows: &[&str]) -> ByteStrings {
        let mut builder = ByteStringsBuilder::default();
        rows.iter().for_each(|row| builder.push(row.as_bytes()));
        builder.build()
    }

    #[test]
    fn records_come_back_as_they_went_in() {
        let ordered = Record { order_key: Some("o".into()), ..Record::new("b", "2") };
        let records = [Record::new("a", "1").at(EventTime(7)), Record::keyless("0"), ordered];
        let mut builder = RecordBatchBuilder::default();
        records.iter().for_each(|record| builder.push(record));
        let read: Vec<Record> = builder.build().iter().collect();
        assert_eq!(read[2], records[2]);
        assert_eq!(
            (&read[0].key, &read[0].payload, read[0].event_time),
            (&records[0].key, &records[0].payload, EventTime(7))
        );
        assert_eq!(read[1].key, None);
    }

    #[test]
    fn a_range_is_the_same_records() {
        let ordered = Record { order_key: Some("o".into()), ..Record::new("b", "2") };
        let records = [Record::new("a", "1"), Record::keyless("0"), ordered, Record::keyless("3").at(EventTime(4))];
        let mut builder = RecordBatchBuilder::default();
        records.iter().for_each(|record| builder.push(record));
        for first in 0..=records.len() {
            for count in 0..=records.len() - first {
                let range: Vec<Record> = builder.range(first, count).build().iter().collect();
                assert_eq!(range, records[first..first + count], "{count} from {first}");
            }
        }
    }

    #[test]
    fn columns_that_disagree_are_refused() {
        let two = || strings(&["a", "b"]);
        assert!(RecordBatch::new(Vec::from([1, 2]), two(), Vec::new(), None, two()).is_ok());
        assert!(RecordBatch::new(Vec::from([1]), two(), Vec::new(), None, two()).is_err());
        assert!(RecordBatch::new(Vec::from([1, 2]), strings(&["a"]), Vec::new(), None, two()).is_err());
        assert!(RecordBatch::new(Vec::from([1, 2]), two(), Vec::new(), None, strings(&[])).is_err());
        assert!(RecordBatch::new(Vec::from([1, 2]), two(), Vec::new(), Some(strings(&["a"])), two()).is_err());
        for keyless in [Vec::from([2]), Vec::from([1, 0]), Vec::from([0, 0]), Vec::from([u32::MAX])] {
            assert!(RecordBatch::new(Vec::from([1, 2]), two(), keyless, None, two()).is_err());
        }
    }
}
