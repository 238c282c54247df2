//! Tables and databases.

use rusqlite::Connection;

use crate::run::Folder;

fn database(folder: &Folder) {
    let database = Connection::open(folder.path("shop.db")).unwrap();
    database
        .execute_batch(
            "create table items (id integer primary key, code text, price real, made blob, note text);
             insert into items values
               (1, '1', 1.5, x'00ff', null), (2, 'two', 9007199254740993, null, 'é\"x'),
               (9007199254740993, 'big', 0.1, null, null);
             create table parts (item integer, part text);
             insert into parts values (1, 'lid'), (1, 'cup'), (2, 'lid');
             create table \"odd name\"\"s\" (\"k k\" text, v text);
             insert into \"odd name\"\"s\" values ('a', 'b');",
        )
        .unwrap();
}

#[track_caller]
fn found(folder: &Folder, arguments: &str, record: &str) -> String {
    let out = folder.enrich_with_input(&format!("- --as f {arguments}"), record).ended(0);
    let (_, found) = out.trim_end().strip_suffix('}').unwrap().split_once("\"f\":").unwrap();
    found.to_owned()
}

#[test]
fn sqlite_keeps_types() {
    let folder = Folder::with(&[]);
    database(&folder);
    let by_id = |record: &str| found(&folder, "--key id --lookup sqlite:shop.db --table items", record);
    assert_eq!(by_id(r#"{"id":1}"#), r#"{"id":1,"code":"1","price":1.5,"made":"AP8=","note":null}"#);
    assert!(by_id(r#"{"id":2}"#).contains(r#""note":"é\"x""#));
    assert!(by_id(r#"{"id":9007199254740993}"#).contains(r#""code":"big""#));
    assert_eq!(by_id(r#"{"id":9007199254740992}"#), "null");
    assert_eq!(by_id(r#"{"id":99999999999999999999}"#), "null");
}

#[test]
fn sqlite_matches_by_its_columns_affinity() {
    let folder = Folder::with(&[]);
    database(&folder);
    let by = |column: &str, record: &str| {
        found(&folder, &format!("--key k --lookup sqlite:shop.db --table items --lookup-key {column}"), record)
    };
    assert!(by("id", r#"{"k":"1"}"#).contains(r#""id":1"#), "an integer column compares texts as numbers");
    assert!(by("code", r#"{"k":1}"#).contains(r#""id":1"#), "a text column compares numbers as texts");
    assert_eq!(by("id", r#"{"k":"one"}"#), "null");
}

#[test]
fn sqlite_takes_a_query_and_gives_all_rows() {
    let folder = Folder::with(&[]);
    database(&folder);
    let run = |record: &str| {
        let output = folder
            .command()
            .args(["enrich", "-", "--key", "id", "--lookup", "sqlite:shop.db", "--as", "f", "--rows", "all"])
            .args(["--query", "select part from parts where item = ? order by part"])
            .write_stdin(record)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(r#"{"id":1}"#), "{\"id\":1,\"f\":[{\"part\":\"cup\"},{\"part\":\"lid\"}]}\n");
    assert_eq!(run(r#"{"id":7}"#), "{\"id\":7,\"f\":[]}\n");
}

#[test]
fn names_are_quoted() {
    let folder = Folder::with(&[]);
    database(&folder);
    let output = folder
        .command()
        .args(["enrich", "-", "--key", "k", "--lookup", "sqlite:shop.db"])
        .args(["--table", "odd name\"s", "--lookup-key", "k k"])
        .write_stdin(r#"{"k":"a"}"#)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains(r#""v":"b""#), "{output:?}");
}

#[test]
fn a_database_that_does_not_fit_says_why() {
    let folder = Folder::with(&[("no.db", "this is no database, and long enough to be read as one, if only just so")]);
    database(&folder);
    for (arguments, code, expected) in [
        ("--lookup sqlite:missing.db --table items", 3, "cannot use sqlite:missing.db: unable to open"),
        ("--lookup sqlite:no.db --table items", 3, "file is not a database"),
        ("--lookup sqlite:shop.db --table nothing", 2, "no such table: nothing"),
        ("--lookup sqlite:shop.db --table items --lookup-key nothing", 2, "no such column"),
        ("--lookup sqlite:shop.db", 2, "needs --table NAME, or --query"),
        ("--lookup sqlite:shop.db --query select(1)", 2, "the query has 0 parameters and the key has 1 values"),
    ] {
        let error = folder.enrich(&format!("- --key id {arguments}")).failed(code);
        assert!(error.contains(expected), "{arguments}: {error}");
    }
    let run = folder
        .command()
        .args(["enrich", "--key", "id", "--lookup", "sqlite:shop.db"])
        .args(["--query", "delete from items where id = ?"])
        .output();
    let output = run.unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("the query changes the database"), "{output:?}");
}

#[test]
fn json_tables_are_arrays_or_lines_and_stay_as_they_are_written() {
    let rows = ["{\"id\":1,\"n\":1.10}", "{\n  \"id\": 2,\n  \"n\": 1e400\n}"];
    let folder = Folder::with(&[
        ("array.json", &format!("[{}, {}]", rows[0], rows[1])),
        ("lines.ndjson", &format!("{}\n{}\n", rows[0], rows[1])),
        ("pretty.json", "[\n {\n  \"id\": \"a b\"\n }\n]"),
    ]);
    for table in ["json:array.json", "json:lines.ndjson"] {
        assert_eq!(found(&folder, &format!("--key id --lookup {table}"), "{\"id\":1}"), r#"{"id":1,"n":1.10}"#);
        assert_eq!(found(&folder, &format!("--key id --lookup {table}"), "{\"id\":2}"), r#"{"id":2,"n":1e400}"#);
    }
    assert_eq!(found(&folder, "--key id --lookup json:pretty.json", "{\"id\":\"a b\"}"), r#"{"id":"a b"}"#);
}

#[test]
fn a_table_that_does_not_fit_says_where() {
    let folder = Folder::with(&[
        ("short.csv", "id,name\n1,Ann\n2\n"),
        ("broken.json", "[{\"id\":1},\n{\"id\":}]"),
        ("scalar.ndjson", "{\"id\":1}\n7\n"),
        ("users.csv", "id,name\n1,Ann\n"),
    ]);
    for (arguments, code, expected) in [
        ("--lookup csv:missing.csv", 3, "cannot read the table missing.csv: No such file"),
        ("--lookup csv:short.csv", 3, "short.csv:3: 1 values where the header has 2"),
        ("--lookup json:broken.json", 3, "broken.json:2:"),
        ("--lookup json:scalar.ndjson", 3, "scalar.ndjson:2: an object was expected"),
        ("--lookup csv:users.csv --lookup-key uid", 2, "users.csv has no column uid; it has id, name"),
        ("--lookup csv:users.csv --lookup-key id,name", 2, "--key names 1 fields and --lookup-key 2 columns"),
        ("--lookup csv:users.csv --table t", 2, "a file is looked up by columns, without a table or a query"),
        ("--lookup users.csv", 2, "says no backend, such as csv:users.csv"),
        ("--lookup ftp:users.csv", 2, "`ftp` is no backend"),
        ("--lookup csv:", 2, "names no file"),
    ] {
        let error = folder.enrich(&format!("- --key id {arguments}")).failed(code);
        assert!(error.contains(expected), "{arguments}: {error}");
    }
}

#[test]
fn a_latency_makes_lookups_slower_side_by_side() {
    let folder = Folder::with(&[("users.csv", "id,name\n1,Ann\n")]);
    let input = "{\"id\":1}\n".repeat(20);
    let seconds = |capacity: u32| {
        let arguments =
            format!("- --key id --lookup csv:users.csv --lookup-latency 20ms --capacity {capacity} --stats json");
        let run = folder.enrich_with_input(&arguments, input.clone());
        let line = run.stderr.lines().find(|line| line.starts_with('{')).unwrap().to_owned();
        serde_json::from_str::<serde_json::Value>(&line).unwrap()["seconds"].as_f64().unwrap()
    };
    assert!(seconds(1) >= 0.4, "one by one, 20 lookups of 20 ms");
    // How much quicker is the benchmarks' matter; here only that they do not wait for each other.
    assert!(seconds(20) < 0.4);
}

#[test]
fn the_kinds_of_backends_are_listed_with_their_settings() {
    let folder = Folder::with(&[]);
    let lookups = |arguments: &[&str]| {
        let output = folder.command().arg("lookups").args(arguments).output().unwrap();
        crate::run::Run::from(output)
    };
    let all = lookups(&[]).ended(0);
    for address in
        ["csv:FILE", "json:FILE", "sqlite:FILE", "https://HOST/", "redis://", "mysql://", "postgres://", "hbase://"]
    {
        assert!(all.lines().any(|line| line.starts_with(address)), "{address}: {all}");
    }
    let redis = lookups(&["redis"]).ended(0);
    assert!(
        redis.contains("key=TEMPLATE") && redis.contains("concurrency=COUNT") && !redis.contains("hbase://"),
        "{redis}"
    );
    assert!(lookups(&["ftp"]).failed(2).contains("`ftp` is no backend"));
}

#[test]
fn a_backend_that_cannot_be_used_says_why_and_never_its_secrets() {
    let folder = Folder::with(&[("token", "hidden-token\n")]);
    for (address, code, expected) in [
        ("redis://:${env:HIDDEN}@127.0.0.1:1", 3, "cannot use redis://127.0.0.1:1"),
        ("postgres://me:${env:HIDDEN}@127.0.0.1:1/app?connect-timeout=1s", 3, "cannot use postgres://127.0.0.1:1/app"),
        ("mysql://me:${file:token}@127.0.0.1:1/app?connect-timeout=1s", 3, "cannot use mysql://127.0.0.1:1/app"),
        ("hbase://127.0.0.1:1/users", 3, "Connection refused"),
        ("redis://:hidden-word@127.0.0.1?kez=x", 2, "there is no setting `kez`; there are key, type"),
        ("redis://:${env:NOT_SET}@127.0.0.1", 2, "the environment has no variable NOT_SET"),
        ("http://127.0.0.1/{key}#header=X: ${file:token}&rows=data", 2, "no JSON pointer"),
        ("http://127.0.0.1:1/{key}?token=${file:token}", 3, "Connection refused"),
    ] {
        let output = folder
            .command()
            .args(["enrich", "-vv", "--key", "id", "--lookup", address])
            .args(if address.starts_with(['p', 'm']) { &["--table", "users"][..] } else { &[] })
            .env("HIDDEN", "hidden-word")
            .write_stdin("{\"id\":1}\n")
            .output()
            .unwrap();
        let run = crate::run::Run::from(output);
        assert!(!run.stderr.contains("hidden"), "{}", run.stderr);
        let error = run.failed(code);
        assert!(error.contains(expected), "{address}: {error}");
    }
}
