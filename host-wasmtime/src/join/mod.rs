//! From a record's text to a record with a key, and from a joined record back to a text.

mod event_time;
mod fields;
mod record_reader;
mod shape;

pub use event_time::EventTimeFormat;
pub use fields::FieldPath;
pub(crate) use fields::all_fields;
pub use record_reader::{BadField, RecordReader};
pub use shape::{BadRow, RowsShape, Shape, Target};
