//! Keys as the types that columns have.

use lookaside_core::{FailureKind, LookupError};

use crate::lookup::KeyValue;

/// A value that a column of whole numbers from `least` to `most` is compared with: its digits, or
/// none where no number of that column can equal it.
///
/// # Errors
///
/// A rejected lookup where the value is no number at all.
pub(crate) fn whole_number(
    value: &KeyValue,
    least: i128,
    most: i128,
    column_type: &str,
) -> Result<Option<String>, LookupError> {
    let text = match value {
        KeyValue::Boolean(value) => return Ok(Some(u8::from(*value).to_string())),
        KeyValue::Number(text) => text.as_str(),
        KeyValue::Text(text) => text.trim(),
    };
    let json = text.strip_prefix('+').unwrap_or(text);
    let number = match KeyValue::from_json(json) {
        // JSON has no zeros before a number; columns do not mind them.
        None => KeyValue::from_json(json.trim_start_matches('0')),
        some => some,
    };
    match (json.parse::<i128>(), number) {
        (Ok(number), _) => Ok((least..=most).contains(&number).then(|| number.to_string())),
        (Err(_), Some(KeyValue::Number(digits))) if serde_json::from_str::<f64>(&digits).is_ok() => Ok(digits
            .parse::<i128>()
            .ok()
            .filter(|number| (least..=most).contains(number))
            .map(|number| number.to_string())),
        _ => Err(mismatch(value, column_type)),
    }
}

/// A value that a column of decimals or floats is compared with.
///
/// # Errors
///
/// A rejected lookup where the value is no number at all.
pub(crate) fn number(value: &KeyValue, column_type: &str) -> Result<String, LookupError> {
    match value {
        KeyValue::Boolean(value) => Ok(u8::from(*value).to_string()),
        KeyValue::Number(text) => Ok(text.clone()),
        KeyValue::Text(text) if text.trim().parse::<f64>().is_ok_and(f64::is_finite) => Ok(text.trim().to_owned()),
        KeyValue::Text(_) => Err(mismatch(value, column_type)),
    }
}

/// A key that is not of its column's type.
pub(crate) fn mismatch(value: &KeyValue, column_type: &str) -> LookupError {
    LookupError::new(FailureKind::Rejected, format!("{value} is no {column_type}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bigint(value: KeyValue) -> Result<Option<String>, ()> {
        whole_number(&value, i64::MIN.into(), i64::MAX.into(), "bigint").map_err(|_| ())
    }

    #[test]
    fn whole_numbers_are_within_their_type_or_found_nowhere() {
        for (text, digits) in [
            ("7", Ok(Some("7"))),
            ("007", Ok(Some("7"))),
            ("-7", Ok(Some("-7"))),
            (" 7 ", Ok(Some("7"))),
            ("7.0", Ok(Some("7"))),
            ("7e2", Ok(Some("700"))),
            ("7.5", Ok(None)),
            ("9223372036854775807", Ok(Some("9223372036854775807"))),
            ("9223372036854775808", Ok(None)),
            ("1e300", Ok(None)),
            ("", Err(())),
            ("x", Err(())),
            ("0x7", Err(())),
            ("7 8", Err(())),
        ] {
            assert_eq!(
                bigint(KeyValue::Text(text.into())),
                digits.map(|digits: Option<&str>| digits.map(str::to_owned)),
                "{text:?}"
            );
        }
        assert_eq!(bigint(KeyValue::Boolean(true)), Ok(Some("1".into())));
    }
}
