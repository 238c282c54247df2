//! Files that are not what they seem, and settings that would do nothing: each is told.

use std::io::Write;

use crate::run::{Folder, Run, USERS};

fn folder() -> Folder {
    Folder::with(&[("users.csv", USERS), ("in.ndjson", "{\"id\":1}\n{\"id\":9}\n")])
}

/// `lookaside enrich` with arguments that may hold spaces.
fn enrich(folder: &Folder, arguments: &[&str], input: &str) -> Run {
    folder.command().arg("enrich").args(arguments).write_stdin(input).output().unwrap().into()
}

#[test]
fn a_quote_that_is_never_closed_is_an_error_with_its_line() {
    let folder = folder();
    for name in ["bad.csv", "table.csv"] {
        std::fs::write(folder.path(name), "id,name\n1,Ann\n2,\"Bob\n3,Cid\n4,Dan\n").unwrap();
    }
    let run = folder.enrich("bad.csv --key id --lookup csv:users.csv --as u");
    assert_eq!(run.stdout.lines().count(), 1, "the records before it are written");
    assert!(run.failed(3).contains("bad.csv:3: the quote that opens here is never closed"));
    let error = folder.enrich("in.ndjson --key id --lookup csv:table.csv").failed(3);
    assert!(error.contains("table.csv:3: the quote that opens here is never closed"), "{error}");
    let error = folder.enrich("in.ndjson --key id --lookup csv:table.csv --table-on-bad-record skip").failed(3);
    assert!(error.contains("never closed"), "nobody knows where the next row begins: {error}");
    // As plain characters they are fine.
    let out = folder.enrich("bad.csv --quote none --key id --lookup csv:users.csv --as u").ended(0);
    assert_eq!(out.lines().count(), 4);
    let out = folder.enrich("in.ndjson --key id --lookup csv:table.csv --table-quote none").ended(0);
    assert!(out.contains("Ann"));
}

#[test]
fn a_value_of_many_lines_is_told() {
    let folder = folder();
    let long = "x\n".repeat(100);
    let run = folder.enrich_with_input(
        "- --in-format csv --key id --lookup csv:users.csv --as u",
        format!("id,note\n1,\"{long}\"\n2,\"a\nb\"\n"),
    );
    assert!(run.stderr.contains("line 2: a value of 100 lines begins in this row"), "{}", run.stderr);
    assert_eq!(run.ended(0).lines().count(), 2);
}

#[test]
fn a_row_without_an_end_does_not_fill_the_memory() {
    let folder = folder();
    let mut text = String::from("id,note\n1,\"");
    text.push_str(&"a,b\n".repeat(20_000_000));
    let run = folder.enrich_with_input("- --in-format csv --key id --lookup csv:users.csv", text);
    assert!(run.failed(3).contains("standard input:2: a row of more than 64 MiB begins here"));
}

#[test]
fn in_tsv_a_quote_is_a_character_and_tabs_are_escaped() {
    let folder = folder();
    std::fs::write(folder.path("in.tsv"), "id\tnote\n1\t\"Alpha\n2\ta\\tb\\nc\\\\d\n3\t\"x\"\n").unwrap();
    let out = folder.enrich("in.tsv --key id --lookup csv:users.csv --merge u_").ended(0);
    let notes: Vec<String> = (out.lines())
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["note"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(notes, ["\"Alpha", "a\tb\nc\\d", "\"x\""]);
    let out = folder.enrich("in.tsv --key id --lookup csv:users.csv --merge u_ --out-format tsv").ended(0);
    assert_eq!(out, "id\tnote\tu_id\tu_name\n1\t\"Alpha\t1\tAnn\n2\ta\\tb\\nc\\\\d\t2\tBob\n3\t\"x\"\t3\tC, \"c\"\n");
    // A table likewise.
    std::fs::write(folder.path("t.tsv"), "id\tname\n1\t\"Alpha\n2\tBe\\tta\n").unwrap();
    let out = folder.enrich_with_input("- --key id --lookup tsv:t.tsv --merge t_", "{\"id\":1}\n{\"id\":2}\n").ended(0);
    assert!(out.contains(r#""t_name":"\"Alpha""#) && out.contains(r#""t_name":"Be\tta""#), "{out}");
    // Who has quotes in TSV says so.
    std::fs::write(folder.path("quoted.tsv"), "id\tnote\n1\t\"a\tb\"\n2\t\"c\n").unwrap();
    let run = enrich(&folder, &["quoted.tsv", "--quote", "\"", "--key", "id", "--lookup", "csv:users.csv"], "");
    assert!(run.stdout.starts_with(r#"{"id":"1","note":"a\tb","#), "{}", run.stdout);
    assert!(run.failed(3).contains("quoted.tsv:3: the quote that opens here is never closed"));
}

#[test]
fn files_that_differ_are_described() {
    let folder = folder();
    let text = "# made by hand\n1;'a;b'\n2;c\n";
    std::fs::write(folder.path("other.csv"), text).unwrap();
    let dialect = ["--delimiter", ";", "--quote", "'", "--comment", "#", "--no-header"];
    let out = enrich(
        &folder,
        &[&["other.csv", "--key", "1", "--lookup", "csv:users.csv", "--lookup-key", "id"][..], &dialect].concat(),
        "",
    );
    let out = out.ended(0);
    assert!(out.starts_with(r#"{"1":"1","2":"a;b","lookup":{"id":"1","name":"Ann"}}"#), "{out}");
    let table = ["--table-delimiter", ";", "--table-quote", "'", "--table-comment", "#", "--table-no-header"];
    let lookup = ["in.ndjson", "--key", "id", "--lookup", "csv:other.csv", "--lookup-key", "1"];
    let out = enrich(&folder, &[&lookup[..], &table].concat(), "").ended(0);
    assert!(out.contains(r#""lookup":{"1":"1","2":"a;b"}"#), "{out}");
    for (arguments, reason) in [
        (&["in.ndjson", "--key", "id", "--lookup", "csv:users.csv", "--delimiter", ";"][..], "this is JSON"),
        (&["in.ndjson", "--key", "id", "--lookup", "csv:users.csv", "--delimiter", "::"], "it is not one character"),
        (
            &["users.csv", "--key", "id", "--lookup", "csv:users.csv", "--delimiter", "\"", "--as", "u"],
            "three characters",
        ),
        (&["in.ndjson", "--key", "id", "--lookup", "json:in.ndjson", "--table-delimiter", ";"], "no CSV or TSV table"),
    ] {
        let error = enrich(&folder, arguments, "").failed(2);
        assert!(error.contains(reason), "{arguments:?}: {error}");
    }
}

#[test]
fn a_header_that_lacks_the_key_is_an_error_with_the_nearest_name() {
    let folder = folder();
    for (header, key, meant) in [("id,x", "Id", "id"), ("id ,x", "id", "\"id \""), ("user_id,x", "user-id", "user_id")]
    {
        let arguments = format!("- --in-format csv --key {key} --lookup csv:users.csv --lookup-key id");
        let error = folder.enrich_with_input(&arguments, format!("{header}\n1,2\n")).failed(2);
        assert!(error.contains(&format!("no column is called {key}")), "{error}");
        assert!(error.contains(&format!("did you mean {meant}?")), "{error}");
    }
    for more in ["--event-time t", "--order key-ordered --order-key t"] {
        let arguments = format!("- --in-format csv --key id --lookup csv:users.csv {more}");
        let error = folder.enrich_with_input(&arguments, "id\n1\n").failed(2);
        assert!(error.contains("no column is called t; it has id"), "{error}");
    }
    let error = folder.enrich("in.ndjson --key id --lookup csv:users.csv --lookup-key Id").failed(2);
    assert!(error.contains("users.csv has no column Id; it has id, name; did you mean id?"), "{error}");
}

#[test]
fn a_key_that_no_record_has_is_told_at_the_end() {
    let folder = folder();
    let run = folder.enrich("in.ndjson --key Id --lookup csv:users.csv --lookup-key id --stats json");
    assert_eq!(run.counter("records-without-key"), 2);
    assert!(run.stderr.contains("none of the 2 records has the field of --key Id"), "{}", run.stderr);
    run.ended(0);
    let run = folder.enrich_with_input("- --key id --lookup csv:users.csv --stats json", "{\"id\":null}\n{}\n");
    assert_eq!(run.counter("records-without-key"), 1, "a null is a field");
    assert!(!run.stderr.contains("none of the"), "{}", run.stderr);
}

#[test]
fn equal_decimals_are_one_key_in_every_table() {
    let folder = folder();
    std::fs::write(folder.path("n.ndjson"), "{\"k\":1.5,\"v\":\"a\"}\n{\"k\":0.10,\"v\":\"b\"}\n{\"k\":1e-7,\"v\":\"c\"}\n{\"k\":9007199254740993.5,\"v\":\"d\"}\n").unwrap();
    std::fs::write(folder.path("n.csv"), "k,v\n1.5,a\n0.10,b\n0.0000001,c\n9007199254740993.5,d\n").unwrap();
    for table in ["json:n.ndjson", "csv:n.csv"] {
        for (key, value) in [
            ("1.50", "a"),
            ("15e-1", "a"),
            ("0.1", "b"),
            ("1E-1", "b"),
            ("0.0000001", "c"),
            ("1.0e-7", "c"),
            ("9007199254740993.5", "d"),
            ("90071992547409935e-1", "d"),
        ] {
            let out = folder
                .enrich_with_input(&format!("- --key k --lookup {table} --as f"), format!("{{\"k\":{key}}}"))
                .ended(0);
            assert!(out.contains(&format!("\"v\":\"{value}\"")), "{table} {key}: {out}");
        }
        // No rounding makes neighbours equal.
        let out = folder
            .enrich_with_input(&format!("- --key k --lookup {table} --as f"), "{\"k\":9007199254740992.5}")
            .ended(0);
        assert!(out.contains("\"f\":null"), "{table}: {out}");
        // From CSV, a cell is spelled in any way.
        let out = folder
            .enrich_with_input(&format!("- --in-format csv --key k --lookup {table} --as f"), "k\n1.50\n")
            .ended(0);
        assert!(out.contains("\"v\":\"a\""), "{table}: {out}");
    }
}

#[test]
fn versions_are_texts_though_they_look_like_decimals() {
    let folder = folder();
    std::fs::write(folder.path("v.csv"), "k,v\n1.1,old\n1.10,new\n").unwrap();
    let out =
        folder.enrich_with_input("- --key k --lookup csv:v.csv --as f", "{\"k\":\"1.10\"}\n{\"k\":\"1.1\"}\n").ended(0);
    assert!(out.lines().next().unwrap().contains("new") && out.lines().nth(1).unwrap().contains("old"), "{out}");
}

#[test]
fn an_untyped_cell_matches_texts_and_numbers() {
    let folder = folder();
    std::fs::write(
        folder.path("mix.ndjson"),
        "{\"k\":7,\"v\":\"number\"}\n{\"k\":\"A1\",\"v\":\"text\"}\n{\"k\":true,\"v\":\"yes\"}\n",
    )
    .unwrap();
    let out = folder
        .enrich_with_input("- --in-format csv --key k --lookup json:mix.ndjson --as f", "k\n7\nA1\ntrue\n8\n")
        .ended(0);
    let found: Vec<bool> =
        out.lines().zip(["number", "text", "yes", "null"]).map(|(line, value)| line.contains(value)).collect();
    assert_eq!(found, [true; 4], "{out}");
    std::fs::write(
        folder.path("two.ndjson"),
        "{\"a\":1,\"b\":\"x\",\"v\":\"row\"}\n{\"a\":\"y\",\"b\":2,\"v\":\"other\"}\n",
    )
    .unwrap();
    let out = folder
        .enrich_with_input("- --in-format csv --key a,b --lookup json:two.ndjson --as f", "a,b\n1,x\ny,2\n")
        .ended(0);
    assert!(out.contains("row") && out.contains("other"), "{out}");
}

#[test]
fn no_object_and_no_header_has_a_name_twice() {
    let folder = folder();
    std::fs::write(folder.path("twice.csv"), "id,name,name,,\n1,a,b,c,d\n").unwrap();
    let run = folder.enrich("in.ndjson --key id --lookup csv:twice.csv --limit 1");
    assert!(run.stderr.contains("column 3 is called name, as one before it is; it becomes name_2"), "{}", run.stderr);
    assert_eq!(
        run.ended(0),
        "{\"id\":1,\"lookup\":{\"id\":\"1\",\"name\":\"a\",\"name_2\":\"b\",\"column_4\":\"c\",\"column_5\":\"d\"}}\n"
    );
    // As an input, too.
    let out = folder.enrich("twice.csv --key id --lookup csv:users.csv --merge u_ --out-format csv").ended(0);
    assert_eq!(out, "id,name,name_2,column_4,column_5,u_id,u_name\n1,a,b,c,d,1,Ann\n");
    // A record that has one twice is told where there is a column for it.
    let error =
        folder.enrich_with_input("- --key id --lookup csv:users.csv --out-format csv", "{\"id\":1,\"id\":2}").failed(3);
    assert!(error.contains("it has the field `id` twice"), "{error}");
}

#[test]
fn names_that_collide_are_refused_at_the_start() {
    let folder = folder();
    std::fs::write(folder.path("errors.csv"), "id,error\n1,none\n").unwrap();
    let emit = "--on-failure emit";
    let error = folder.enrich(&format!("in.ndjson --key id --lookup csv:errors.csv --merge u_ {emit}")).failed(2);
    assert!(error.contains("the field `u_error` would be set twice"), "{error}");
    folder.enrich("in.ndjson --key id --lookup csv:errors.csv --merge u_").ended(0);
    let error = folder.enrich("users.csv --key id --lookup csv:errors.csv --as name").failed(2);
    assert!(error.contains("the column name is one that is to be set"), "{error}");
    for (merge, record) in [("--merge=", "{\"id\":1,\"name\":\"x\"}"), ("--as=user", "{\"id\":1,\"user\":7}")] {
        let error = folder.enrich_with_input(&format!("- --key id --lookup csv:users.csv {merge}"), record).failed(3);
        assert!(error.contains("which is to be set") && error.contains("--overwrite"), "{error}");
    }
}

#[test]
fn what_is_overwritten_was_asked_for_and_a_miss_deletes_nothing() {
    let folder = folder();
    let run = |more: &str, record: &str| {
        folder.enrich_with_input(&format!("- --key id --lookup csv:users.csv --overwrite {more}"), record).ended(0)
    };
    assert_eq!(run("--merge=", "{\"id\":1,\"name\":\"x\",\"n\":2}"), "{\"n\":2,\"id\":\"1\",\"name\":\"Ann\"}\n");
    assert_eq!(run("--merge=", "{\"id\":9,\"name\":\"Zoe\"}"), "{\"id\":9,\"name\":\"Zoe\"}\n");
    assert_eq!(run("--as=user", "{\"user\":7,\"id\":1}"), "{\"id\":1,\"user\":{\"id\":\"1\",\"name\":\"Ann\"}}\n");
    assert_eq!(run("--as=user", "{\"user\":7,\"id\":9}"), "{\"user\":7,\"id\":9}\n");
}

#[test]
fn a_path_is_one_in_every_flag() {
    let folder = folder();
    std::fs::write(folder.path("odd.csv"), "\"last, first\",a.b\nDoe,x\n").unwrap();
    let run =
        |arguments: &[&str], record: &str| enrich(&folder, &[&["--as", "f"], arguments].concat(), record).ended(0);
    let by = |key: &str, column: &str, record: &str| {
        run(&["--key", key, "--lookup", "csv:odd.csv", "--lookup-key", column], record)
    };
    assert!(by("\"last, first\"", "\"last, first\"", r#"{"last, first":"Doe"}"#).contains("\"a.b\":\"x\""));
    assert!(
        run(&["--key", "\"last, first\"", "--lookup", "csv:odd.csv"], r#"{"last, first":"Doe"}"#)
            .contains("\"a.b\":\"x\"")
    );
    assert!(run(&["--key", "\"a.b\"", "--lookup", "csv:odd.csv"], r#"{"a.b":"x"}"#).contains("Doe"));
    assert!(by("a.b", "a.b", r#"{"a":{"b":"x"}}"#).contains("Doe"));
    assert!(by("l[1].k", "a.b", r#"{"l":[{},{"k":"x"}]}"#).contains("Doe"));
    // What is joined goes along a path, too.
    let out = enrich(
        &folder,
        &["--key", "user.id", "--lookup", "csv:users.csv", "--as", "user.info"],
        r#"{"user":{"id":1},"n":1.10}"#,
    )
    .ended(0);
    assert_eq!(out, "{\"user\":{\"id\":1,\"info\":{\"id\":\"1\",\"name\":\"Ann\"}},\"n\":1.10}\n");
    let out =
        enrich(&folder, &["--key", "id", "--lookup", "csv:users.csv", "--as", "\"user.info\""], r#"{"id":9}"#).ended(0);
    assert_eq!(out, "{\"id\":9,\"user.info\":null}\n");
    let error = enrich(&folder, &["--key", "id", "--lookup", "csv:users.csv", "--as", "l[0]"], "").failed(2);
    assert!(error.contains("leads into an array"), "{error}");
    let error = enrich(&folder, &["--key", "\"id", "--lookup", "csv:users.csv"], "").failed(2);
    assert!(error.contains("begins with a quote that does not end"), "{error}");
}

#[test]
fn a_run_without_records_has_its_header() {
    let folder = folder();
    std::fs::write(folder.path("empty.csv"), "id,x\n").unwrap();
    let out = |more: &str| folder.enrich(&format!("empty.csv --key id --lookup csv:users.csv {more}")).ended(0);
    assert_eq!(out("--merge u_ --out-format csv"), "id,x,u_id,u_name\n");
    assert_eq!(out("--out-format tsv"), "id\tx\tlookup\n");
    assert_eq!(out("--on-failure emit --out-format csv"), "id,x,lookup,lookup_error\n");
    std::fs::write(folder.path("none.csv"), "id,x\n8,a\n9,b\n").unwrap();
    let out = folder.enrich("none.csv --key id --lookup csv:users.csv --merge u_ --on-missing drop -o out.csv");
    out.ended(0);
    assert_eq!(folder.read("out.csv"), "id,x,u_id,u_name\n");
}

#[test]
fn what_is_packed_is_named_so_and_the_other_way_round() {
    let folder = folder();
    for name in ["out.ndjson.gz", "out.ndjson.zst", "out.csv.gz", "out.json.zst"] {
        folder.enrich(&format!("in.ndjson --key id --lookup csv:users.csv -o {name}")).ended(0);
        let bytes = std::fs::read(folder.path(name)).unwrap();
        let magic: &[u8] = if name.ends_with("gz") { &[0x1f, 0x8b] } else { &[0x28, 0xb5, 0x2f, 0xfd] };
        assert!(bytes.starts_with(magic), "{name}");
        let again = folder.enrich(&format!("{name} --key id --lookup csv:users.csv --as again")).ended(0);
        assert_eq!(again.lines().count(), 2, "{name}: {again}");
    }
    // A pipe, a table, and a name that says nothing are known by their first bytes.
    let packed = std::fs::read(folder.path("out.ndjson.gz")).unwrap();
    assert_eq!(
        folder.enrich_with_input("- --key id --lookup csv:users.csv --as u", packed.clone()).ended(0).lines().count(),
        2
    );
    for (name, bytes) in [("t.csv.gz", gz(USERS.as_bytes())), ("t.csv", zstd::encode_all(USERS.as_bytes(), 0).unwrap())]
    {
        std::fs::write(folder.path(name), bytes).unwrap();
        assert!(folder.enrich(&format!("in.ndjson --key id --lookup csv:{name}")).ended(0).contains("Ann"), "{name}");
    }
    std::fs::write(folder.path("t.ndjson.zst"), zstd::encode_all(&b"{\"id\":1,\"v\":\"zst\"}"[..], 0).unwrap())
        .unwrap();
    assert!(folder.enrich("in.ndjson --key id --lookup json:t.ndjson.zst").ended(0).contains("zst"));
    // What is cut off or is something else is told.
    for (name, bytes, reason) in [
        ("cut.ndjson.gz", packed[..packed.len() - 6].to_vec(), "the gzip data ends early"),
        (
            "cut.ndjson.zst",
            {
                let all = std::fs::read(folder.path("out.ndjson.zst")).unwrap();
                all[..all.len() - 3].to_vec()
            },
            "the zstd data ends early",
        ),
        ("plain.ndjson.gz", b"{\"id\":1}\n".to_vec(), "its name says gzip, and it does not begin as gzip does"),
    ] {
        std::fs::write(folder.path(name), bytes).unwrap();
        let error = folder.enrich(&format!("{name} --key id --lookup csv:users.csv --as u")).failed(3);
        assert!(error.contains(reason), "{name}: {error}");
        let error = folder.enrich(&format!("in.ndjson --key id --lookup json:{name}")).failed(3);
        assert!(error.contains(reason), "{name} as a table: {error}");
    }
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

#[test]
fn settings_that_would_do_nothing_are_refused_or_made_to_mean_it() {
    let folder = folder();
    let table = "in.ndjson --key id --lookup csv:users.csv";
    for (arguments, reason) in [
        (format!("{table} --order-key id"), "--order-key keeps no order by itself"),
        (format!("{table} --order unordered --order-key id"), "add --order key-ordered"),
        (format!("{table} --retry-on none --retry-attempts 2"), "--retry-on none makes none"),
        ("in.ndjson --key id --lookup-key id --lookup http://127.0.0.1/{key}".into(), "http has none to compare"),
        ("in.ndjson --key id --lookup-key id --lookup redis://127.0.0.1".into(), "redis has none to compare"),
        ("in.ndjson --key id --lookup-key id --lookup hbase://127.0.0.1/t".into(), "hbase has none to compare"),
        (
            "in.ndjson --key id --lookup sqlite:x.db --table t --table-on-bad-record skip".into(),
            "is for tables in files",
        ),
        (format!("{table} --explain-stalls 0s"), "less than 100ms"),
        (format!("{table} --explain-stalls 1ns"), "less than 100ms"),
        (format!("{table} --max-errors x"), "neither a count"),
        (format!("{table} --max-errors 101%"), "neither a count"),
        (format!("{table} --fields nothing"), "rows have no field nothing; it has id, name"),
    ] {
        let error = folder.enrich(&arguments).failed(2);
        assert!(error.contains(reason), "{arguments}: {error}");
    }
    for retries in ["--retry-attempts 2", "--retry-delay 1ms", "--retry-jitter-seed 1"] {
        let run = folder.enrich_with_input(
            &format!("- --key id --lookup http://127.0.0.1:1/{{key}} --on-failure emit --stats json --retry-delay 1ms {retries}")
                .replace("--retry-delay 1ms --retry-delay 1ms", "--retry-delay 1ms"),
            "{\"id\":1}\n",
        );
        assert!(run.counter("retries") > 0, "{retries}: a setting of retries turns them on");
    }
}

#[test]
fn a_row_for_each_match_and_only_some_of_its_fields() {
    let folder = folder();
    std::fs::write(folder.path("many.csv"), "k,v,w\na,1,x\na,2,y\nb,3,z\n").unwrap();
    let input = "{\"k\":\"a\"}\n{\"k\":\"c\"}\n{\"k\":\"b\"}\n";
    let run = |more: &str| {
        folder.enrich_with_input(&format!("- --key k --lookup csv:many.csv --rows each {more}"), input).ended(0)
    };
    assert_eq!(run("--merge m_ --fields v --out-format csv"), "k,m_v\na,1\na,2\nc,\nb,3\n");
    assert_eq!(
        run("--fields w --as m"),
        "{\"k\":\"a\",\"m\":{\"w\":\"x\"}}\n{\"k\":\"a\",\"m\":{\"w\":\"y\"}}\n{\"k\":\"c\",\"m\":null}\n{\"k\":\"b\",\"m\":{\"w\":\"z\"}}\n"
    );
    let inner =
        folder.enrich_with_input("- --key k --lookup csv:many.csv --rows each --on-missing drop --merge m_", input);
    assert_eq!(inner.ended(0).lines().count(), 3, "an inner join was asked for, and is no error");
}

#[test]
fn errors_may_be_allowed_to_some_extent() {
    let folder = folder();
    let input: String = (0..20)
        .map(|number| if number % 5 == 0 { "nonsense\n".into() } else { format!("{{\"id\":{number}}}\n") })
        .collect();
    let run = |more: &str| {
        folder
            .enrich_with_input(&format!("- --key id --lookup csv:users.csv --on-bad-record skip {more}"), input.clone())
    };
    assert_eq!(run("").ended(1).lines().count(), 16);
    run("--allow-errors").ended(0);
    run("--max-errors 4").ended(0);
    run("--max-errors 20%").ended(0);
    assert!(
        run("--max-errors 19.9%").failed(1).contains("4 of 20 records failed or were skipped, over --max-errors 19.9%")
    );
    assert!(run("--max-errors 3").failed(1).contains("over --max-errors 3"));
    // Too many end a long run early.
    let many = "nonsense\n".repeat(1_000).repeat(1_000);
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .current_dir(folder.path("."))
        .args(["enrich", "--key", "id", "--lookup", "csv:users.csv", "--on-bad-record", "skip", "--max-errors", "10"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        loop {
            if stdin.write_all(many.as_bytes()).is_err() {
                return;
            }
        }
    });
    assert_eq!(child.wait().unwrap().code(), Some(1), "it ends though its input does not");
    feeder.join().unwrap();
}

#[test]
fn bad_rows_of_a_table_may_be_passed_over() {
    let folder = folder();
    std::fs::write(folder.path("bad.csv"), "id,name\n1,Ann\n2\n3,Cid\n").unwrap();
    std::fs::write(
        folder.path("bad.ndjson"),
        "{\"id\":1,\"name\":\"Ann\"}\n{\"id\":\n7\n{\"id\":3,\"name\":\"Cid\"}\n",
    )
    .unwrap();
    for table in ["csv:bad.csv", "json:bad.ndjson"] {
        let error = folder.enrich(&format!("in.ndjson --key id --lookup {table}")).failed(3);
        assert!(error.contains("--table-on-bad-record skip"), "{error}");
        let run = folder.enrich_with_input(
            &format!("- --key id --lookup {table} --table-on-bad-record skip"),
            "{\"id\":1}\n{\"id\":3}\n",
        );
        assert!(run.stderr.contains("cannot be read and are passed over"), "{}", run.stderr);
        let out = run.ended(0);
        assert!(out.contains("Ann") && out.contains("Cid"), "{table}: {out}");
    }
}

#[test]
fn another_encoding_is_named_with_the_command_that_converts() {
    let folder = folder();
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("id,name\n1,é\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let latin = b"id,name\n1,\xe9\n".to_vec();
    for (name, bytes, command) in
        [("utf16.csv", &utf16, "iconv -f UTF-16 -t UTF-8"), ("latin.csv", &latin, "iconv -f WINDOWS-1252 -t UTF-8")]
    {
        std::fs::write(folder.path(name), bytes).unwrap();
        let error = folder.enrich(&format!("{name} --key id --lookup csv:users.csv --as u")).failed(3);
        assert!(error.contains(command), "{name}: {error}");
        let error = folder.enrich(&format!("in.ndjson --key id --lookup csv:{name}")).failed(3);
        assert!(error.contains(command), "{name} as a table: {error}");
    }
    let latin = b"{\"id\":1,\"name\":\"\xe9\"}\n";
    std::fs::write(folder.path("latin.ndjson"), latin).unwrap();
    for arguments in ["latin.ndjson --key id --lookup csv:users.csv", "in.ndjson --key id --lookup json:latin.ndjson"] {
        let error = folder.enrich(arguments).failed(3);
        assert!(error.contains("iconv -f WINDOWS-1252"), "{arguments}: {error}");
    }
}

#[test]
fn an_input_without_a_name_is_known_by_how_it_begins() {
    let folder = folder();
    let pretty = "{\n  \"id\": 1\n}\n{\n  \"id\": 2\n}\n";
    for (text, records) in [
        ("[{\"id\":1},{\"id\":2}]", 2),
        (pretty, 2),
        ("{\"id\":1}{\"id\":2} {\"id\":3}", 3),
        ("{\"id\":1}\n{\"id\":2}\n", 2),
        ("id,x\n1,a\n2,b\n", 2),
        ("id\tx\n1\ta\n", 1),
        ("", 0),
    ] {
        let out = folder.enrich_with_input("- --key id --lookup csv:users.csv --as u", text).ended(0);
        assert_eq!(out.lines().count(), records, "{text}");
        assert!(records == 0 || out.lines().next().unwrap().contains("Ann"), "{text}: {out}");
    }
    std::fs::write(folder.path("pretty.json"), pretty).unwrap();
    assert_eq!(folder.enrich("pretty.json --key id --lookup csv:users.csv --as u").ended(0).lines().count(), 2);
    std::fs::write(folder.path("plain"), "id,x\n1,a\n").unwrap();
    assert!(folder.enrich("plain --key id --lookup csv:users.csv --as u").ended(0).contains("Ann"));
    std::fs::write(folder.path("odd"), "what is this\n").unwrap();
    let error = folder.enrich("odd --key id --lookup csv:users.csv").failed(2);
    assert!(error.contains("begins like no JSON, CSV or TSV"), "{error}");
    let error = folder.enrich_with_input("- --key id --lookup csv:users.csv", "what is this\n").failed(3);
    assert!(error.contains("standard input:1: a JSON object was expected"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_known_by_how_it_begins() {
    let folder = folder();
    let script = format!(
        "'{}' enrich <(printf 'id,x\\n1,a\\n') --key id --lookup csv:users.csv --as u",
        env!("CARGO_BIN_EXE_lookaside")
    );
    let output =
        std::process::Command::new("bash").args(["-c", &script]).current_dir(folder.path(".")).output().unwrap();
    assert!(Run::from(output).ended(0).contains("Ann"));
}

#[test]
fn messages_help_where_the_fault_is() {
    let folder = folder();
    std::fs::create_dir(folder.path("out")).unwrap();
    let error = folder.enrich("in.ndjson --key id --lookup csv:users.csv -o out").failed(3);
    assert!(error.contains("cannot write out: it is a folder") && error.contains("name a file in it"), "{error}");
    let error = folder.enrich("in.ndjson --key id --lookup csv:users.csv -o missing/out.ndjson").failed(3);
    assert!(error.contains("mkdir -p missing"), "{error}");
    // The line of the record whose lookup ended the run, in each order.
    let input = "{\"id\":1}\n\n\n{\"id\":1}\n{\"id\":\"x\"}\n";
    std::fs::write(folder.path("lines.ndjson"), input).unwrap();
    for order in ["ordered", "unordered", "key-ordered"] {
        let error = folder.enrich(&format!("lines.ndjson --key id --lookup csv:users.csv --order {order}")).failed(4);
        assert!(error.contains("lines.ndjson:5: the lookup of [\"x\"] failed"), "{order}: {error}");
    }
    std::fs::write(folder.path("array.ndjson"), "[{\"id\":1}]\n").unwrap();
    let error = folder.enrich("array.ndjson --key id --lookup csv:users.csv").failed(3);
    assert!(error.contains("--in-format json"), "{error}");
}

#[test]
fn colour_is_a_choice_for_all_messages() {
    let folder = folder();
    let escapes = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lookaside"));
        command.current_dir(folder.path(".")).arg("enrich").args(arguments).env_remove("NO_COLOR");
        command.envs(environment.iter().copied());
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        assert!(!output.stderr.is_empty());
        output.stderr.contains(&0x1b)
    };
    let own = ["in.ndjson", "--key", "id", "--lookup", "csv:missing.csv"];
    let parser = ["--no-such-flag"];
    let log = ["in.ndjson", "--key", "Id", "--lookup-key", "id", "--lookup", "csv:users.csv"];
    for line in [&own[..], &parser, &log] {
        let with = |more: &[&'static str]| [line, more].concat();
        assert!(!escapes(line, &[]), "stderr is no terminal");
        assert!(escapes(&with(&["--color", "always"]), &[]), "{line:?}");
        assert!(!escapes(&with(&["--color=never"]), &[]), "{line:?}");
        assert!(escapes(&with(&["--color=always"]), &[("NO_COLOR", "1")]), "the flag counts most: {line:?}");
    }
}
