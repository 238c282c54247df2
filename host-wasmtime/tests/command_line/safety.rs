//! What was there before a run stays until there is something better: outputs that are inputs, early ends, and names
//! that are taken only when a file is whole.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use crate::run::{Folder, Run, USERS};

const TABLE: &str = "--key id --lookup csv:users.csv";

fn folder() -> Folder {
    let folder = Folder::with(&[
        ("users.csv", USERS),
        ("users.ndjson", "{\"id\":1,\"name\":\"Ann\"}\n"),
        ("in.ndjson", "{\"id\":1}\n"),
        ("good.ndjson", "good\n"),
        ("good.csv", "good\n"),
        ("good.json", "good\n"),
        ("secret", "x\n"),
    ]);
    rusqlite::Connection::open(folder.path("users.db"))
        .unwrap()
        .execute_batch("create table users (id integer, name text); insert into users values (1, 'Ann');")
        .unwrap();
    folder
}

/// Runs a line of the shell in the folder; `lookaside` is the program.
fn shell(folder: &Folder, line: &str) -> Run {
    let program = env!("CARGO_BIN_EXE_lookaside");
    let script = format!("lookaside() {{ '{program}' \"$@\"; }}\n{line}");
    let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path(".")).env("NO_COLOR", "1").output();
    output.expect("bash runs").into()
}

#[cfg(unix)]
#[test]
fn no_file_that_is_read_is_written_to_however_it_is_named() {
    let folder = folder();
    std::os::unix::fs::symlink(folder.path("in.ndjson"), folder.path("link.ndjson")).unwrap();
    std::os::unix::fs::symlink(folder.path("users.db"), folder.path("link.db")).unwrap();
    fs::hard_link(folder.path("in.ndjson"), folder.path("hard.ndjson")).unwrap();
    fs::hard_link(folder.path("users.csv"), folder.path("hard.csv")).unwrap();
    fs::write(folder.path("users.db-wal"), "").unwrap();
    fs::write(folder.path("other.wasm"), lookaside::OperatorComponent::bundled_bytes()).unwrap();
    let files = ["in.ndjson", "users.csv", "users.ndjson", "users.db", "users.db-wal", "secret", "other.wasm"];
    let before: Vec<Vec<u8>> = files.iter().map(|name| fs::read(folder.path(name)).unwrap()).collect();
    let sqlite = "--key id --lookup sqlite:users.db --table users";
    for line in [
        format!("lookaside enrich in.ndjson {TABLE} -o in.ndjson"),
        format!("lookaside enrich in.ndjson {TABLE} -o ./in.ndjson"),
        format!("lookaside enrich in.ndjson {TABLE} -o link.ndjson"),
        format!("lookaside enrich in.ndjson {TABLE} -o hard.ndjson"),
        format!("lookaside enrich link.ndjson {TABLE} -o hard.ndjson"),
        format!("lookaside enrich {TABLE} -o in.ndjson < in.ndjson"),
        format!("lookaside enrich {TABLE} -o hard.ndjson < in.ndjson"),
        format!("lookaside enrich --in-format ndjson /dev/fd/3 {TABLE} -o in.ndjson 3< in.ndjson"),
        format!("lookaside enrich in.ndjson {TABLE} -o /dev/fd/3 3>> in.ndjson"),
        format!("lookaside enrich in.ndjson {TABLE} >> in.ndjson"),
        format!("lookaside enrich in.ndjson {TABLE} -o users.csv"),
        format!("lookaside enrich in.ndjson {TABLE} -o hard.csv"),
        "lookaside enrich in.ndjson --key id --lookup json:users.ndjson -o users.ndjson".into(),
        format!("lookaside enrich in.ndjson {sqlite} -o users.db"),
        format!("lookaside enrich in.ndjson {sqlite} -o link.db"),
        format!("lookaside enrich in.ndjson {sqlite} -o users.db-wal"),
        format!("lookaside enrich in.ndjson {TABLE} --component other.wasm -o other.wasm"),
        "lookaside enrich in.ndjson --key id --lookup 'redis://:${file:secret}@127.0.0.1:1' -o secret".into(),
        "lookaside enrich in.ndjson --key id --lookup 'https://127.0.0.1:1/{key}#tls-ca=secret' -o secret".into(),
    ] {
        let run = shell(&folder, &line);
        let error = run.failed(2);
        assert!(error.contains("write to another file"), "{line}: {error}");
        for (name, before) in files.iter().zip(&before) {
            assert_eq!(&fs::read(folder.path(name)).unwrap(), before, "{name} after {line}");
        }
    }
}

#[test]
fn a_device_may_be_input_and_output() {
    let folder = folder();
    shell(&folder, &format!("lookaside enrich --in-format ndjson /dev/null {TABLE} -o /dev/null")).ended(0);
}

#[test]
fn a_run_that_fails_before_its_first_record_leaves_a_good_file() {
    let folder = folder();
    for (line, code) in [
        ("in.ndjson --key id --lookup csv:missing.csv", 3),
        ("in.ndjson --key id --lookup csv:users.csv --component users.csv", 3),
        ("missing.ndjson --key id --lookup csv:users.csv", 3),
        ("in.ndjson --key id --lookup csv:users.csv --lookup-key nothing", 2),
        ("in.ndjson --key id --lookup csv:users.csv --as id", 3),
        ("in.ndjson --key id --lookup http://127.0.0.1:1/{key}", 3),
        ("good.json --key id --lookup csv:users.csv", 3),
        ("users.csv --key Id --lookup csv:users.csv", 2),
        ("users.csv --in-format ndjson --key id --lookup csv:users.csv", 3),
    ] {
        for name in ["good.ndjson", "good.csv"] {
            let run = folder.enrich(&format!("{line} -o {name}"));
            assert_eq!(run.code, Some(code), "{line}: {}", run.stderr);
            assert_eq!(folder.read(name), "good\n", "{line}");
        }
        // The same for what comes by a pipe, and for an array, which has brackets to write.
        let piped = folder.enrich_with_input(&format!("- --in-format json {TABLE} -o good.json"), "nonsense");
        assert_eq!((piped.code, folder.read("good.json").as_str()), (Some(3), "good\n"));
    }
    assert_eq!(parts(&folder), 0);
}

fn parts(folder: &Folder) -> usize {
    let names = fs::read_dir(folder.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".part")).count()
}

#[test]
fn a_file_takes_its_name_when_the_run_ends() {
    let folder = folder();
    folder.enrich(&format!("in.ndjson {TABLE} -o good.ndjson")).ended(0);
    assert!(folder.read("good.ndjson").contains("Ann"));
    // One that fails later has what came before.
    let slow = Folder::with(&[("users.csv", USERS), ("in.ndjson", "{\"id\":1}\n{\"id\":2}\nnonsense\n{\"id\":3}\n")]);
    slow.enrich(&format!("in.ndjson {TABLE} -o out.ndjson")).failed(3);
    assert_eq!(slow.read("out.ndjson").lines().count(), 2);
    slow.enrich(&format!("in.ndjson {TABLE} -o out.json")).failed(3);
    assert!(serde_json::from_str::<serde_json::Value>(&slow.read("out.json")).unwrap().is_array());
    assert_eq!((parts(&folder), parts(&slow)), (0, 0));
}

#[cfg(unix)]
#[test]
fn a_file_keeps_its_permissions_and_links_keep_leading_to_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    fs::set_permissions(folder.path("good.ndjson"), fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("good.ndjson", folder.path("link")).unwrap();
    folder.enrich(&format!("in.ndjson {TABLE} -o link")).ended(0);
    assert!(folder.path("link").is_symlink());
    assert!(folder.read("good.ndjson").contains("Ann"));
    assert_eq!(fs::metadata(folder.path("good.ndjson")).unwrap().permissions().mode() & 0o777, 0o640);
    // A new one is readable as any other is.
    shell(&folder, &format!("umask 022; lookaside enrich in.ndjson {TABLE} -o new.ndjson")).ended(0);
    assert_eq!(fs::metadata(folder.path("new.ndjson")).unwrap().permissions().mode() & 0o777, 0o644);
}

#[cfg(unix)]
#[test]
fn a_descriptor_stays_the_file_that_it_is() {
    let folder = folder();
    let line = format!(
        "exec 3> out.ndjson; lookaside enrich in.ndjson {TABLE} -o /dev/fd/3; stat -L -c %i /dev/fd/3 out.ndjson"
    );
    let inodes = shell(&folder, &line).ended(0);
    let inodes: Vec<&str> = inodes.lines().collect();
    assert_eq!(inodes[0], inodes[1]);
    assert!(folder.read("out.ndjson").contains("Ann"));
}

#[test]
fn what_comes_by_a_pipe_grows_in_place() {
    let folder = folder();
    let mut child = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .current_dir(folder.path("."))
        .args(["enrich", "--key", "id", "--lookup", "csv:users.csv", "-o", "out.ndjson"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"id\":1}\n").unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while fs::read_to_string(folder.path("out.ndjson")).unwrap_or_default().is_empty() {
        assert!(std::time::Instant::now() < deadline, "a record is in the file while the input goes on");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_run_with_all_that_was_read() {
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let folder = folder();
        let mut child = Command::new(env!("CARGO_BIN_EXE_lookaside"))
            .current_dir(folder.path("."))
            .args(["enrich", "--key", "id", "--lookup", "csv:users.csv", "--lookup-latency", "300ms", "-q"])
            .args(["--out-format", "json", "-o", "out.json"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all("{\"id\":1}\n".repeat(250).as_bytes()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(250));
        assert!(Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap().success());
        let mut told = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
        assert!(told.contains("what was read is still joined and written"), "{told}");
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let written: serde_json::Value = serde_json::from_str(&folder.read("out.json")).unwrap();
        assert_eq!(written.as_array().unwrap().len(), 250, "{signal}");
        drop(input);
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_run_over_a_file_that_takes_its_name_then() {
    let folder = folder();
    fs::write(folder.path("many.ndjson"), "{\"id\":1}\n".repeat(1_000_000)).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .current_dir(folder.path("."))
        .args(["enrich", "many.ndjson", "--key", "id", "--lookup", "csv:users.csv", "--lookup-latency", "20ms"])
        .args(["-o", "good.ndjson"])
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert_eq!(folder.read("good.ndjson"), "good\n", "it is whole or what it was");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let written = folder.read("good.ndjson");
    assert!(written.ends_with("}\n") && written.lines().count() > 100, "{} lines", written.lines().count());
    assert!(written.lines().all(|line| line.contains("Ann")));
    assert_eq!(parts(&folder), 0);
}

#[test]
fn records_before_a_failure_are_written() {
    let folder = Folder::with(&[
        ("numbers.ndjson", "{\"id\":1}\n{\"id\":2}\n"),
        ("in.ndjson", "{\"id\":1}\n{\"id\":2}\n{\"id\":true}\n{\"id\":1}\n"),
    ]);
    for order in ["ordered", "unordered", "key-ordered"] {
        let run = folder.enrich(&format!("in.ndjson --key id --lookup json:numbers.ndjson --order {order}"));
        assert_eq!(run.stdout.lines().count(), 2, "{order}");
        let error = run.failed(4);
        assert!(error.contains("in.ndjson:3: the lookup of [true] failed"), "{order}: {error}");
    }
}
