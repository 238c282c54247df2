//! Runs the command line in a folder of its own.

use std::{fs, path::PathBuf, process::Output};

use assert_cmd::Command;
use tempfile::TempDir;

/// A folder with files, and runs of the command line in it.
pub(crate) struct Folder {
    dir: TempDir,
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    /// A folder with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self { dir: TempDir::new().expect("a temporary folder") };
        for (name, content) in files {
            fs::write(folder.path(name), content).expect("a file in it");
        }
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lookaside"));
        command.current_dir(self.dir.path()).env("NO_COLOR", "1");
        command
    }

    /// `lookaside enrich` with arguments that are parted by spaces.
    pub(crate) fn enrich(&self, arguments: &str) -> Run {
        self.enrich_with_input(arguments, "")
    }

    pub(crate) fn enrich_with_input(&self, arguments: &str, stdin: impl Into<Vec<u8>>) -> Run {
        let output = self.command().arg("enrich").args(arguments.split_whitespace()).write_stdin(stdin).output();
        output.expect("the command line runs").into()
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Run {
    /// Stdout of a run that ended with `code`.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "stderr: {}\nstdout: {}", self.stderr, self.stdout);
        self.stdout
    }

    /// Stderr of a run that ended with `code`, white space and the frame of the message evened out.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "stderr: {}\nstdout: {}", self.stderr, self.stdout);
        let words: Vec<&str> = self.stderr.split_whitespace().filter(|word| !["|", "│"].contains(word)).collect();
        words.join(" ")
    }

    /// The final counter `name`, of `--stats json`.
    #[track_caller]
    pub(crate) fn counter(&self, name: &str) -> u64 {
        let line = self.stderr.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{}", self.stderr));
        let stats: serde_json::Value = serde_json::from_str(line).expect("one JSON object");
        stats[name].as_u64().unwrap_or_else(|| panic!("{name} in {line}"))
    }
}

/// Users 1 to 3, with the numbers as the table's key.
pub(crate) const USERS: &str = "id,name\n1,Ann\n2,Bob\n3,\"C, \"\"c\"\"\"\n";
