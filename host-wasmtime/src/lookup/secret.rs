//! Secrets in addresses, which stand there as references.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// Puts the values of `${env:NAME}` and `${file:PATH}` into `address`, percent-encoded, so that
/// they never end the part that they stand in. One line break at a file's end is not part of it.
pub(crate) fn expand(address: &str) -> Result<String, String> {
    let mut expanded = String::with_capacity(address.len());
    let mut rest = address;
    while let Some((before, reference)) = rest.split_once("${") {
        let (reference, after) = reference.split_once('}').ok_or("`${` without `}`")?;
        expanded.push_str(before);
        expanded.extend(utf8_percent_encode(&resolve(reference)?, NON_ALPHANUMERIC));
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// The files that references in `address` name.
pub(crate) fn files(address: &str) -> impl Iterator<Item = &str> {
    address.split("${file:").skip(1).filter_map(|rest| rest.split_once('}').map(|(path, _)| path))
}

fn resolve(reference: &str) -> Result<String, String> {
    match reference.split_once(':') {
        Some(("env", name)) => std::env::var(name)
            .map_err(|_| format!("the environment has no variable {name}, or one that is no UTF-8 text")),
        Some(("file", path)) => {
            let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
            let text = text.strip_suffix('\n').unwrap_or(&text);
            Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
        }
        _ => Err(format!("`${{{reference}}}` names no secret; write ${{env:NAME}} or ${{file:PATH}}")),
    }
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn a_secret_cannot_leave_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, "p@ss/w&rd\n").unwrap();
        let address = format!("redis://user:${{file:{}}}@host", file.display());
        assert_eq!(expand(&address).unwrap(), "redis://user:p%40ss%2Fw%26rd@host");
    }

    #[test]
    fn what_is_no_reference_is_told() {
        assert_eq!(expand("redis://host").unwrap(), "redis://host");
        for (text, reason) in [
            ("${env:LOOKASIDE_NOT_SET}", "the environment has no variable LOOKASIDE_NOT_SET"),
            ("${file:/not/there}", "cannot read /not/there"),
            ("${vault:x}", "names no secret"),
            ("${env:X", "without `}`"),
        ] {
            assert!(expand(text).unwrap_err().contains(reason), "{text}");
        }
    }
}
