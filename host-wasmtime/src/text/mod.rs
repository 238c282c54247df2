//! Bytes of files and pipes on their way to being texts: packed or not, in UTF-8 or not.

mod encoding;
mod packing;

use encoding::check_first_bytes;
pub(crate) use encoding::{NOT_UTF8, not_utf8};
pub(crate) use packing::{Packing, Unpacked};
