//! Durations and sizes as people write them.

use std::time::Duration;

/// Reads `250ms`, `2s`, `1m 30s`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}; write 250ms, 2s or 5m"))
}

/// Reads `65536`, `64k`, `64KiB`, `10M`, `1GiB`; all of them are powers of 1,024.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return Err(format!("`{unit}` is no unit; write k, M or G")),
    };
    let number: u64 = number.parse().map_err(|_| format!("`{text}` is no size such as 64M"))?;
    if number == 0 {
        return Err("0 bytes hold nothing; write a size such as 64M, or leave the option out".into());
    }
    number.checked_mul(1 << shift).ok_or_else(|| format!("`{text}` is more than any machine holds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(parse_bytes("64k"), Ok(65_536));
        assert_eq!(parse_bytes("64KiB"), Ok(65_536));
        assert_eq!(parse_bytes("2G"), Ok(2 << 30));
        assert_eq!(parse_bytes("7"), Ok(7));
        for text in ["", "k", "0", "-1", "1T", "99999999999G"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
