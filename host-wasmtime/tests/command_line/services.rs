//! Services that are not there, or that answer more than is wanted at once.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    time::{Duration, Instant},
};

use crate::run::{Folder, Run};

fn enrich(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)], input: &str) -> Run {
    let mut command = folder.command();
    command.arg("enrich").args(arguments).envs(environment.iter().copied());
    command.write_stdin(input).output().unwrap().into()
}

#[test]
fn a_backend_that_is_not_there_ends_with_one_code_and_says_so_at_once() {
    let folder = Folder::with(&[]);
    for address in [
        "http://127.0.0.1:1/{key}",
        "redis://127.0.0.1:1",
        "postgres://me@127.0.0.1:1/x",
        "mysql://me@127.0.0.1:1/x",
        "hbase://127.0.0.1:1/x",
    ] {
        let table: &[&str] = if address.starts_with(['p', 'm']) { &["--table", "t"] } else { &[] };
        let begin = Instant::now();
        let run = enrich(&folder, &[&["--key", "id", "--lookup", address][..], table].concat(), &[], "{\"id\":1}");
        let error = run.failed(3);
        assert!(error.contains("refused"), "{address}: {error}");
        assert!(begin.elapsed() < Duration::from_secs(4), "{address}: {:?}", begin.elapsed());
    }
}

#[test]
fn a_proxy_that_is_not_there_is_named_without_its_secrets() {
    let folder = Folder::with(&[]);
    let lookup = ["--key", "id", "--lookup", "http://192.0.2.1/{key}"];
    let proxy = [("http_proxy", "http://me:hidden@127.0.0.1:1")];
    let error = enrich(&folder, &lookup, &proxy, "{\"id\":1}").failed(3);
    assert!(error.contains("it goes through the proxy 127.0.0.1:1, as http_proxy says"), "{error}");
    assert!(!error.contains("hidden"), "{error}");
    let excepted = [proxy[0], ("no_proxy", "127.0.0.1")];
    let local = ["--key", "id", "--lookup", "http://127.0.0.1:1/{key}"];
    let error = enrich(&folder, &local, &excepted, "{\"id\":1}").failed(3);
    assert!(!error.contains("proxy"), "{error}");
}

#[test]
fn fewer_calls_than_records_in_flight_are_told() {
    let folder = Folder::with(&[]);
    let told = |more: &[&str], address: &str| {
        enrich(&folder, &[&["--key", "id", "--lookup", address][..], more].concat(), &[], "").stderr
    };
    let address = "http://127.0.0.1:1/{key}";
    let warned = told(&["--capacity", "500"], address);
    assert!(warned.contains("64 calls at once at most, though 500 records may be in flight"), "{warned}");
    assert_eq!(told(&[], address), "", "nobody is told of the defaults");
    assert_eq!(told(&["--capacity", "500"], "http://127.0.0.1:1/{key}#concurrency=64"), "");
}

/// Answers each request by its path: a miss, a failure, a scalar, or a row.
fn answers_by_path() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/{{key}}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            let _ = BufReader::new(&stream).read_line(&mut line);
            let (status, body) = match line.split(' ').nth(1).unwrap_or_default() {
                "/miss" => ("404 Not Found", ""),
                "/fail" => ("400 Bad Request", ""),
                "/more" => ("200 OK", r#"{"v":1,"w":2}"#),
                _ => ("200 OK", r#"{"v":1}"#),
            };
            let answer =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn rows_of_a_service_become_columns_though_the_first_ones_are_misses() {
    let folder = Folder::with(&[]);
    let address = answers_by_path();
    let run = |more: &[&str], ids: &[&str]| {
        let input: String = ids.iter().map(|id| format!("{{\"id\":\"{id}\"}}\n")).collect();
        let lookup = ["--key", "id", "--lookup", &address, "--merge", "f_", "--out-format", "csv"];
        enrich(&folder, &[&lookup[..], more].concat(), &[], &input)
    };
    let emit = ["--on-failure", "emit"];
    let out = run(&emit, &["miss", "fail", "a", "fail"]).ended(1);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "id,f_error,f_v");
    assert!(lines[1] == "miss,," && lines[2].starts_with("fail,\"{") && lines[3] == "a,,1", "{out}");
    // The first record shows the columns, and what fails later has its own from the start.
    let out = run(&emit, &["a", "fail"]).ended(1);
    assert!(out.starts_with("id,f_v,f_error\na,1,\nfail,,\"{"), "{out}");
    // A row that has more than the first is told, unless its fields were named.
    let error = run(&[], &["a", "more"]).failed(3);
    assert!(error.contains("the field `f_w`, which is no column") && error.contains("--fields"), "{error}");
    assert_eq!(run(&["--fields", "v,w"], &["miss", "a", "more"]).ended(0), "id,f_v,f_w\nmiss,,\na,1,\nmore,1,2\n");
    // Where nothing is found there are no columns to wait for.
    assert_eq!(run(&[], &["miss"]).ended(0), "id\nmiss\n");
}

/// Answers each request with a row of so many bytes, on as many connections as come.
fn large_answers(bytes: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/{{key}}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer(&stream, bytes));
        }
    });
    address
}

fn answer(mut stream: &TcpStream, bytes: usize) {
    let body = format!("{{\"v\":\"{}\"}}", "x".repeat(bytes));
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(line)) = lines.next() {
        if line.is_empty()
            && stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_err()
        {
            return;
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn bytes_on_their_way_count_to_the_cap() {
    let folder = Folder::with(&[]);
    let input: String = (0..150).map(|id| format!("{{\"id\":{id}}}\n")).collect();
    std::fs::write(folder.path("in.ndjson"), input).unwrap();
    for order in ["ordered", "unordered"] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_lookaside"))
            .current_dir(folder.path("."))
            .args(["enrich", "in.ndjson", "--key", "id", "--lookup", &large_answers(8 << 20), "--order", order])
            .args(["--max-bytes", "64M", "--capacity", "150", "-o", "out.ndjson", "-q"])
            .spawn()
            .unwrap();
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB").trim();
            peak = peak.max(line.trim_end_matches(" kB").parse::<u64>().unwrap_or(0));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(child.wait().unwrap().success());
        let out = std::fs::read(folder.path("out.ndjson")).unwrap();
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 150);
        // 1.2 GB were found in all. Each byte within the cap may be there a few times: as it came, as a row, and as it leaves.
        assert!(peak < 650_000, "{order}: {peak} kB");
        println!("{order}: {peak} kB");
    }
}

/// Answers 50 requests with a row each, once all have come and the sender of `wait` is dropped; tells `come` of each.
#[cfg(unix)]
fn answers_later(come: std::sync::mpsc::Sender<()>, wait: std::sync::mpsc::Receiver<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/{{key}}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut streams = Vec::new();
        for stream in listener.incoming().map_while(Result::ok).take(50) {
            let _ = BufReader::new(&stream).read_line(&mut String::new());
            streams.push(stream);
            let _ = come.send(());
        }
        let _ = wait.recv();
        for mut stream in streams {
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\n{\"v\":1}";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[cfg(unix)]
#[test]
fn a_process_that_was_stopped_reads_what_came_before_its_time_passes() {
    use std::process::{Command, Stdio};

    let folder = Folder::with(&[]);
    for order in ["ordered", "unordered"] {
        let (come, coming) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let address = answers_later(come, wait) + "#concurrency=50";
        let mut child = Command::new(env!("CARGO_BIN_EXE_lookaside"))
            .current_dir(folder.path("."))
            .args(["enrich", "--key", "id", "--lookup", &address, "--timeout", "3s", "--order", order])
            .args(["--on-timeout", "emit"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input: String = (0..50).map(|id| format!("{{\"id\":{id}}}\n")).collect();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        (0..50).for_each(|_| coming.recv_timeout(Duration::from_secs(20)).expect("it asks for each key"));
        let signal = |name: &str| {
            let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
            assert!(status.success());
        };
        signal("-STOP");
        drop(go);
        std::thread::sleep(Duration::from_millis(4_500));
        signal("-CONT");
        let run = Run::from(child.wait_with_output().unwrap());
        let written = run.ended(0);
        assert_eq!(written.matches("\"v\":1").count(), 50, "{order}: {written}");
    }
}
