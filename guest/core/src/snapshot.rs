//! A snapshot's bytes.
//!
//! All numbers are little-endian. A header: `LKSD`, the format's number (2 bytes), 1 where order
//! keys had a meaning and else 0 (1 byte), and the number of elements (8 bytes). Then the elements
//! accepted and not yet emitted, in order of arrival, each a kind (1 byte) and an event time (8
//! bytes), and for a record its key, order key and payload, each a length (4 bytes; the greatest
//! value where there is none) and so many bytes. Last the CRC-32 of all of that (4 bytes).
//!
//! There are no answers, attempts, timers or deadlines in it: restored lookups start anew. A format
//! is never changed, only followed by another number; old ones stay readable.

use alloc::{collections::VecDeque, format, string::String, vec::Vec};

use bytes::Bytes;

use crate::{EventTime, Order, Record, RefusedOption, queue::BarrierKind};

const MAGIC: [u8; 4] = *b"LKSD";
const FORMAT: u16 = 1;
const CHECKSUM: usize = 4;
static CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

const RECORD: u8 = 0;
const WATERMARK: u8 = 1;
const IDLE: u8 = 2;
const ACTIVE: u8 = 3;

/// The length of what is not there.
const NONE: u32 = u32::MAX;

/// An element of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SavedElement {
    Record(Record),
    Barrier(BarrierKind),
}

impl SavedElement {
    pub(crate) fn record(&self) -> Option<&Record> {
        match self {
            Self::Record(record) => Some(record),
            Self::Barrier(_) => None,
        }
    }
}

/// A snapshot cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The bytes are no whole snapshot.
    #[error("the snapshot is corrupt: {0}")]
    Corrupt(String),
    /// A format or settings that this operator cannot go on from.
    #[error("the snapshot does not fit: {0}")]
    Incompatible(String),
    /// The options cannot be used, with any snapshot.
    #[error(transparent)]
    Options(#[from] RefusedOption),
}

/// Writes a snapshot, element by element, or counts its bytes.
pub(crate) struct SnapshotWriter {
    bytes: Vec<u8>,
    len: u64,
    only_counts: bool,
}

impl SnapshotWriter {
    /// Counts the bytes of a snapshot of so many elements.
    pub(crate) fn count(order: Order, elements: usize) -> Self {
        Self::begin(Self { bytes: Vec::new(), len: CHECKSUM as u64, only_counts: true }, order, elements)
    }

    /// Begins a snapshot of so many elements, of `len` bytes in all; none if there is no memory for it.
    pub(crate) fn new(order: Order, elements: usize, len: u64) -> Option<Self> {
        let mut bytes = Vec::new();
        // What grew as it is written would need twice the memory and more.
        bytes.try_reserve_exact(len.try_into().ok()?).ok()?;
        Some(Self::begin(Self { bytes, len: CHECKSUM as u64, only_counts: false }, order, elements))
    }

    fn begin(mut writer: Self, order: Order, elements: usize) -> Self {
        writer.put(&MAGIC);
        writer.put(&FORMAT.to_le_bytes());
        writer.put(&[u8::from(order == Order::KeyOrdered)]);
        writer.put(&(elements as u64).to_le_bytes());
        writer
    }

    /// The bytes of it so far, the checksum included.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn record(&mut self, record: &Record) {
        self.element(RECORD, record.event_time);
        for field in [record.key.as_ref(), record.order_key.as_ref(), Some(&record.payload)] {
            self.put(&field.map_or(NONE, |field| field.len() as u32).to_le_bytes());
            self.put(field.map_or(&[], |field| field));
        }
    }

    pub(crate) fn barrier(&mut self, kind: BarrierKind) {
        match kind {
            BarrierKind::Watermark(time) => self.element(WATERMARK, time),
            BarrierKind::Idle => self.element(IDLE, EventTime::NONE),
            BarrierKind::Active => self.element(ACTIVE, EventTime::NONE),
        }
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend(CRC.checksum(&self.bytes).to_le_bytes());
        self.bytes
    }

    fn element(&mut self, kind: u8, time: EventTime) {
        self.put(&[kind]);
        self.put(&time.0.to_le_bytes());
    }

    #[inline(never)]
    fn put(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        if !self.only_counts {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

/// The elements of a snapshot for an operator that keeps `order`.
pub(crate) fn read(bytes: &[u8], order: Order) -> Result<VecDeque<SavedElement>, SnapshotError> {
    let corrupt = |why: &str| SnapshotError::Corrupt(why.into());
    if !bytes.starts_with(&MAGIC) {
        return Err(corrupt("it does not begin as a snapshot does"));
    }
    let cut_off = || corrupt("it is cut off");
    let (content, checksum) = bytes.split_last_chunk::<CHECKSUM>().ok_or_else(cut_off)?;
    if CRC.checksum(content).to_le_bytes() != *checksum {
        return Err(corrupt("its checksum does not match; it was changed or cut off"));
    }
    let mut reader = Reader { rest: content };
    reader.take::<4>().ok_or_else(cut_off)?;
    let format = reader.take().map(u16::from_le_bytes).ok_or_else(cut_off)?;
    if format != FORMAT {
        let why = format!("it has format {format}, and this operator reads format {FORMAT}");
        return Err(SnapshotError::Incompatible(why));
    }
    let [key_ordered] = reader.take().ok_or_else(cut_off)?;
    fits(key_ordered == 1, order)?;
    let count = reader.take().map(u64::from_le_bytes).ok_or_else(cut_off)?;
    let mut elements = VecDeque::new();
    for _ in 0..count {
        elements.push_back(reader.element().ok_or_else(|| corrupt("its elements cannot be read"))?);
    }
    if !reader.rest.is_empty() {
        return Err(corrupt("it goes on after its last element"));
    }
    Ok(elements)
}

fn fits(key_ordered: bool, order: Order) -> Result<(), SnapshotError> {
    if key_ordered == (order == Order::KeyOrdered) {
        return Ok(());
    }
    let name = |key_ordered| if key_ordered { "key-ordered" } else { "ordered or unordered" };
    Err(SnapshotError::Incompatible(format!(
        "it was taken with order {}, and the option is {}; which records wait for which would change",
        name(key_ordered),
        name(!key_ordered),
    )))
}

/// What is left to read.
struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    /// None where nothing can be read; within it none for what was not there.
    fn field(&mut self) -> Option<Option<Bytes>> {
        let length = u32::from_le_bytes(self.take()?);
        if length == NONE {
            return Some(None);
        }
        let (field, rest) = self.rest.split_at_checked(length as usize)?;
        self.rest = rest;
        Some(Some(Bytes::copy_from_slice(field)))
    }

    fn element(&mut self) -> Option<SavedElement> {
        let [kind] = self.take()?;
        let time = EventTime(i64::from_le_bytes(self.take()?));
        Some(match kind {
            RECORD => SavedElement::Record(Record {
                event_time: time,
                key: self.field()?,
                order_key: self.field()?,
                payload: self.field()??,
            }),
            WATERMARK => SavedElement::Barrier(BarrierKind::Watermark(time)),
            IDLE => SavedElement::Barrier(BarrierKind::Idle),
            ACTIVE => SavedElement::Barrier(BarrierKind::Active),
            _ => return None,
        })
    }
}
