//! How a run ends.

use std::process::ExitCode;

use miette::Diagnostic;

/// What the exit code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Every record went as it was asked for.
    Done = 0,
    /// The run came to its end, but lookups failed or timed out, or records were skipped.
    Incomplete = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// A file, a backend or the output cannot be used, or the input is broken.
    Environment = 3,
    /// The operator failed.
    Operator = 4,
    /// SIGINT ended the run; what was read before is written.
    Interrupted = 130,
    /// SIGTERM ended the run; what was read before is written.
    Terminated = 143,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

/// A run that ended early: what happened, where, and what to do.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub(super) enum CliError {
    /// The command line makes no sense.
    #[error("{message}")]
    Usage {
        /// What does not fit.
        message: String,
        /// What to do.
        #[help]
        help: String,
    },
    /// A file, a backend or the output cannot be used, or the input is broken.
    #[error("{message}")]
    Environment {
        /// What happened, and where.
        message: String,
        /// What to do.
        #[help]
        help: String,
    },
    /// The operator failed.
    #[error("{message}")]
    Operator {
        /// What happened.
        message: String,
        /// What to do.
        #[help]
        help: String,
    },
}

impl CliError {
    pub(super) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: help.into() }
    }

    pub(super) fn environment(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Environment { message: message.into(), help: help.into() }
    }

    pub(super) fn operator(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Operator { message: message.into(), help: help.into() }
    }

    pub(super) fn status(&self) -> ExitStatus {
        match self {
            Self::Usage { .. } => ExitStatus::Usage,
            Self::Environment { .. } => ExitStatus::Environment,
            Self::Operator { .. } => ExitStatus::Operator,
        }
    }
}
