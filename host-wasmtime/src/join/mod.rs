//! From a record's text to a record with a key, and from a joined record back to a text.

mod event_time;
mod fields;
mod object;
mod record_reader;
mod shape;

pub use event_time::EventTimeFormat;
pub(crate) use fields::all_fields;
pub use fields::{FieldPath, FieldPaths, Names};
pub use record_reader::{BadField, ReadRecord, RecordReader};
pub use shape::{BadRow, FieldNames, RowsShape, Shape, ShapeSettings, Target};
