//! A snapshot's bytes.
//!
//! `LKSD`, the format's number (two bytes, little-endian), the body in postcard's encoding, and the
//! CRC-32 of all of that (four bytes, little-endian). The body says which order the operator kept
//! and lists the elements accepted and not yet emitted, in order of arrival. It holds no answers,
//! attempts, timers or deadlines: restored lookups start anew.
//!
//! A format is never changed, only followed by another number; old ones stay readable.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{Order, Record, RefusedOption, queue::BarrierKind};

const MAGIC: [u8; 4] = *b"LKSD";
const FORMAT: u16 = 1;
static CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
const HEADER: usize = 6;
const CHECKSUM: usize = 4;

/// An element in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// A snapshot's content. `E` is [`SavedElement`], owned or borrowed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Snapshot<E> {
    /// Whether order keys had a meaning.
    pub(crate) key_ordered: bool,
    pub(crate) elements: Vec<E>,
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

impl<E: Serialize> Snapshot<E> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::from(MAGIC);
        bytes.extend(FORMAT.to_le_bytes());
        let mut bytes = postcard::to_extend(self, bytes).expect("a list of elements has a length");
        bytes.extend(CRC.checksum(&bytes).to_le_bytes());
        bytes
    }
}

impl Snapshot<SavedElement> {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let corrupt = |why: &str| SnapshotError::Corrupt(why.into());
        if !bytes.starts_with(&MAGIC) {
            return Err(corrupt("it does not begin as a snapshot does"));
        }
        if bytes.len() < HEADER + CHECKSUM {
            return Err(corrupt("it is cut off"));
        }
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if CRC.checksum(content).to_le_bytes() != checksum {
            return Err(corrupt("its checksum does not match; it was changed or cut off"));
        }
        let format = u16::from_le_bytes([content[4], content[5]]);
        if format != FORMAT {
            return Err(SnapshotError::Incompatible(alloc::format!(
                "it has format {format}; this operator reads format {FORMAT}"
            )));
        }
        let (snapshot, rest) =
            postcard::take_from_bytes::<Self>(&content[HEADER..]).map_err(|_| corrupt("its body cannot be read"))?;
        if !rest.is_empty() {
            return Err(corrupt("it goes on after its end"));
        }
        Ok(snapshot)
    }

    pub(crate) fn fits(&self, order: Order) -> Result<(), SnapshotError> {
        let key_ordered = order == Order::KeyOrdered;
        if self.key_ordered == key_ordered {
            return Ok(());
        }
        let name = |key_ordered| if key_ordered { "key-ordered" } else { "ordered or unordered" };
        Err(SnapshotError::Incompatible(alloc::format!(
            "it was taken with order {}, and the option is {}; which records wait for which would change",
            name(self.key_ordered),
            name(key_ordered),
        )))
    }
}
