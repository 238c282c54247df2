//! What nobody names leaves byte for byte as it came.

use crate::run::{Folder, USERS};

#[test]
fn numbers_escapes_and_the_order_of_fields_stay() {
    let folder = Folder::with(&[("users.csv", USERS)]);
    let record = r#"{"z":9007199254740993,"y":1.10,"x":1e400,"w":-0,"v":9223372036854775807,"u":1E+2,"t":"\u00e9\/\t\ud83d\ude00","s" : [ 1 , {"q":"é"} ],"id":1,"a":"","dup":1,"dup":2,"lone":"\ud800"}"#;
    let out = folder.enrich_with_input("- --key id --lookup csv:users.csv --as user", record).ended(0);
    let kept = record.strip_suffix('}').unwrap();
    assert_eq!(out, format!("{kept},\"user\":{{\"id\":\"1\",\"name\":\"Ann\"}}}}\n"));
}

#[test]
fn elements_of_an_array_are_put_on_one_line_and_else_left() {
    let folder = Folder::with(&[
        ("users.csv", USERS),
        ("in.json", "[\n  {\n    \"n\": 1.10,\n    \"t\": \"a  b\",\n    \"id\": 9\n  }\n]\n"),
    ]);
    let out = folder.enrich("in.json --key id --lookup csv:users.csv --as user").ended(0);
    assert_eq!(out, "{\"n\":1.10,\"t\":\"a  b\",\"id\":9,\"user\":null}\n");
}

#[test]
fn long_records_pass() {
    let folder = Folder::with(&[("users.csv", USERS)]);
    let long = "x".repeat(3 << 20);
    let record = format!("{{\"id\":1,\"long\":\"{long}\"}}\n{{\"id\":2}}\n");
    let out = folder.enrich_with_input("- --key id --lookup csv:users.csv", record).ended(0);
    assert_eq!(out.lines().count(), 2);
    assert!(out.contains(&long));
}
