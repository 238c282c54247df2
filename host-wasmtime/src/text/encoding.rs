//! Which encoding a text has, where it is not UTF-8.

use std::io::{Error, ErrorKind};

/// What is wrong with bytes that are not UTF-8, and what to do.
pub(crate) const NOT_UTF8: &str = "it is not UTF-8; if it is Latin-1 or Windows-1252, convert the file: \
    iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW";

/// The error for bytes that are not UTF-8.
pub(crate) fn not_utf8() -> Error {
    Error::new(ErrorKind::InvalidData, NOT_UTF8)
}

/// Looks at a text's first bytes.
///
/// # Errors
///
/// Names the encoding where they show that it is not UTF-8, with the command that converts it.
pub(crate) fn check_first_bytes(bytes: &[u8]) -> Result<(), Error> {
    let encoding = match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => "UTF-32",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16",
        // Without a mark at the front: every other byte of plain letters is 0.
        [a, 0, b, 0, ..] if *a != 0 && *b != 0 => "UTF-16LE",
        [0, a, 0, b, ..] if *a != 0 && *b != 0 => "UTF-16BE",
        _ => return Ok(()),
    };
    let message = format!("it is {encoding}; convert it to UTF-8: iconv -f {encoding} -t UTF-8 FILE > NEW");
    Err(Error::new(ErrorKind::InvalidData, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_encodings_are_named() {
        for (bytes, encoding) in [
            (&b"\xff\xfei\0d\0"[..], "UTF-16;"),
            (b"\xfe\xff\0i\0d", "UTF-16;"),
            (b"i\0d\0\n\0", "UTF-16LE;"),
            (b"\0i\0d", "UTF-16BE;"),
            (b"\xff\xfe\0\0", "UTF-32;"),
        ] {
            let error = check_first_bytes(bytes).unwrap_err().to_string();
            assert!(error.contains(encoding), "{error}");
        }
        for bytes in [&b""[..], b"id,name\n", b"\xef\xbb\xbfid", b"\xe9", b"\0"] {
            assert!(check_first_bytes(bytes).is_ok(), "{bytes:?}");
        }
    }
}
