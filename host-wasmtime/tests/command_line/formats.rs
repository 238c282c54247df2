//! Input and output in each format, packed and from pipes.

use std::io::Write;

use crate::run::{Folder, USERS};

const TABLE: &str = "--key id --lookup csv:users.csv --as user";

#[test]
fn every_format_is_read() {
    let folder = Folder::with(&[
        ("users.csv", USERS),
        ("in.ndjson", "{\"id\":1}\n\n  {\"id\":2}\r\n"),
        ("in.json", "[ {\"id\":1},\n {\n\"id\":2\n} ]"),
        ("in.csv", "id\n1\n2\n"),
        ("in.tsv", "id\tx\n1\t\n2\ty\n"),
        ("bom.csv", "\u{feff}\"id\"\r\n1\r\n2\r\n"),
        ("bom.ndjson", "\u{feff}{\"id\":1}\n{\"id\":2}"),
    ]);
    for file in ["in.ndjson", "in.json", "in.csv", "in.tsv", "bom.csv", "bom.ndjson"] {
        let out = folder.enrich(&format!("{file} {TABLE}")).ended(0);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 2, "{file}: {out}");
        assert!(lines[0].contains(r#""name":"Ann""#) && lines[1].contains(r#""name":"Bob""#), "{file}: {out}");
    }
}

#[test]
fn every_format_is_written() {
    let folder = Folder::with(&[
        ("users.csv", USERS),
        ("in.ndjson", "{\"id\":1,\"n\":1.10}\n{\"id\":3}\n{\"id\":9,\"n\":null}\n"),
    ]);
    let write = |more: &str| folder.enrich(&format!("in.ndjson {TABLE} {more}")).ended(0);
    assert_eq!(
        write(""),
        "{\"id\":1,\"n\":1.10,\"user\":{\"id\":\"1\",\"name\":\"Ann\"}}\n\
         {\"id\":3,\"user\":{\"id\":\"3\",\"name\":\"C, \\\"c\\\"\"}}\n\
         {\"id\":9,\"n\":null,\"user\":null}\n"
    );
    let array: serde_json::Value = serde_json::from_str(&write("--out-format json")).unwrap();
    assert_eq!(array.as_array().unwrap().len(), 3);
    let merge = |format: &str| {
        folder.enrich(&format!("in.ndjson --key id --lookup csv:users.csv --merge u_ --out-format {format}")).ended(0)
    };
    assert_eq!(merge("csv"), "id,n,u_id,u_name\n1,1.10,1,Ann\n3,,3,\"C, \"\"c\"\"\"\n9,,,\n");
    assert_eq!(merge("tsv"), "id\tn\tu_id\tu_name\n1\t1.10\t1\tAnn\n3\t\t3\tC, \"c\"\n9\t\t\t\n");
}

#[test]
fn an_empty_input_gives_an_empty_output_in_each_format() {
    let folder = Folder::with(&[("users.csv", USERS), ("empty.json", "[]")]);
    assert_eq!(folder.enrich_with_input(&format!("- {TABLE}"), "").ended(0), "");
    assert_eq!(folder.enrich(&format!("empty.json {TABLE} --out-format json")).ended(0), "[]\n");
    assert_eq!(folder.enrich(&format!("empty.json {TABLE} --out-format csv")).ended(0), "");
}

#[test]
fn the_outputs_format_is_by_its_name() {
    let folder = Folder::with(&[("users.csv", USERS), ("in.csv", "id\n1\n")]);
    folder.enrich(&format!("in.csv {TABLE} -o out.json")).ended(0);
    assert!(folder.read("out.json").starts_with("[\n"));
    folder.enrich("in.csv --key id --lookup csv:users.csv --merge u_ -o out.csv").ended(0);
    assert_eq!(folder.read("out.csv"), "id,u_id,u_name\n1,1,Ann\n");
}

#[test]
fn packed_files_are_unpacked() {
    let folder = Folder::with(&[("users.csv", USERS)]);
    let text = b"{\"id\":1}\n{\"id\":2}\n";
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text).unwrap();
    let mut gz_bytes = gz.finish().unwrap();
    // Two members one after another, as `cat a.gz b.gz` makes them.
    gz_bytes.extend(gz_bytes.clone());
    std::fs::write(folder.path("in.ndjson.gz"), gz_bytes).unwrap();
    std::fs::write(folder.path("in.ndjson.zst"), zstd::encode_all(&text[..], 0).unwrap()).unwrap();
    assert_eq!(folder.enrich(&format!("in.ndjson.gz {TABLE}")).ended(0).lines().count(), 4);
    assert_eq!(folder.enrich(&format!("in.ndjson.zst {TABLE}")).ended(0).lines().count(), 2);
}

#[test]
fn standard_input_takes_a_format() {
    let folder = Folder::with(&[("users.csv", USERS)]);
    for (format, text) in [("ndjson", "{\"id\":1}"), ("json", "[{\"id\":1}]"), ("csv", "id\n1\n"), ("tsv", "id\n1\n")] {
        let out = folder.enrich_with_input(&format!("- {TABLE} --in-format {format}"), text).ended(0);
        assert!(out.contains("Ann"), "{format}: {out}");
    }
}
