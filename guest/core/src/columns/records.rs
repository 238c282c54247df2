//! Records on their way in.

use alloc::vec::Vec;

use super::{ByteStrings, ByteStringsBuilder, Malformed, rising_rows, same_length};
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
    #[must_use]
    pub fn len(&self) -> usize {
        self.event_times.len()
    }

    /// Whether there are none.
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
        let mut keyless = self.keyless.iter().copied().peekable();
        (0..self.len()).map(move |row| Record {
            event_time: EventTime(self.event_times[row]),
            key: keyless.next_if_eq(&(row as u32)).is_none().then(|| self.keys.get(row)),
            order_key: self.order_keys.as_ref().map(|keys| keys.get(row)).filter(|key| !key.is_empty()),
            payload: self.payloads.get(row),
        })
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
    /// Appends one record.
    pub fn push(&mut self, record: &Record) {
        let row = self.len();
        self.event_times.push(record.event_time.0);
        let key = record.key.as_deref();
        if key.is_none() {
            self.keyless.push(row as u32);
        }
        self.keys.push(key.unwrap_or_default());
        let order_key = record.order_key.as_deref().unwrap_or_default();
        if !order_key.is_empty() && self.order_keys.is_none() {
            // The records before it have none.
            self.order_keys = Some(ByteStringsBuilder::empty_strings(row));
        }
        if let Some(order_keys) = &mut self.order_keys {
            order_keys.push(order_key);
        }
        self.payloads.push(&record.payload);
    }

    /// How many records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.event_times.len()
    }

    /// Whether there are none.
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
