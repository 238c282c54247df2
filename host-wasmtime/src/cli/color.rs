//! Whether messages are coloured.

use std::{ffi::OsString, io::IsTerminal};

use clap::{ColorChoice, ValueEnum};

/// When messages are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal that can, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

impl Color {
    /// What the arguments ask for: known before they are parsed, since parsing has messages, too.
    pub(super) fn of(arguments: impl Iterator<Item = OsString>) -> Self {
        let mut color = Self::Auto;
        let mut is_value = false;
        for argument in arguments.skip(1) {
            let argument = argument.to_string_lossy();
            let value = if is_value { Some(&*argument) } else { argument.strip_prefix("--color=") };
            if let Some(value) = value {
                color = Self::from_str(value, false).unwrap_or(color);
            }
            if argument == "--" {
                break;
            }
            is_value = argument == "--color";
        }
        color
    }

    /// As the parser of arguments has it.
    pub(super) fn of_parser(self) -> ColorChoice {
        match self {
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
            Self::Auto if is_plain() => ColorChoice::Never,
            Self::Auto => ColorChoice::Auto,
        }
    }

    /// Whether what goes to stderr is coloured.
    pub(super) fn on_stderr(self) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => std::io::stderr().is_terminal() && !is_plain(),
        }
    }
}

/// Whether the environment asks for plain text: NO_COLOR by any value, or a terminal that can do nothing else.
fn is_plain() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    is_set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_on_colour_counts() {
        let of = |line: &str| Color::of(line.split(' ').map(OsString::from));
        assert_eq!(of("lookaside enrich"), Color::Auto);
        assert_eq!(of("lookaside --color never enrich"), Color::Never);
        assert_eq!(of("lookaside enrich --color=always"), Color::Always);
        assert_eq!(of("lookaside --color=always --color never"), Color::Never);
        assert_eq!(of("lookaside enrich -- --color=always"), Color::Auto);
        assert_eq!(of("lookaside --color blue"), Color::Auto);
    }
}
