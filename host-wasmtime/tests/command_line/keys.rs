//! Keys: names, paths, several fields, types, and none.

use crate::run::{Folder, USERS};

fn folder() -> Folder {
    Folder::with(&[
        ("users.csv", USERS),
        ("codes.csv", "code,name\n007,Bond\nA1,Axe\n"),
        ("pairs.csv", "a,b,name\nx y,z,first\nx,y z,second\n1,2,digits\n"),
        ("typed.ndjson", "{\"k\":7,\"v\":\"number\"}\n{\"k\":\"7\",\"v\":\"text\"}\n{\"k\":true,\"v\":\"boolean\"}\n"),
        ("numbers.ndjson", "{\"k\":7,\"v\":\"number\"}\n"),
    ])
}

#[track_caller]
fn first(folder: &Folder, arguments: &str, record: &str) -> String {
    folder.enrich_with_input(&format!("- --as found {arguments}"), record).ended(0)
}

#[test]
fn a_key_is_a_field_or_a_path() {
    let folder = folder();
    let found = |key: &str, record: &str| {
        first(&folder, &format!("--key {key} --lookup csv:users.csv --lookup-key id"), record)
    };
    assert!(found("uid", r#"{"uid":1}"#).contains("Ann"));
    assert!(found("user.uid", r#"{"user":{"uid":2}}"#).contains("Bob"));
    assert!(found("user.uid", r#"{"user.uid":1,"user":{"uid":2}}"#).contains("Ann"), "the very name comes first");
}

#[test]
fn several_fields_make_one_key() {
    let folder = folder();
    let found = |record: &str| first(&folder, "--key p,q --lookup csv:pairs.csv --lookup-key a,b", record);
    assert!(found(r#"{"p":"x y","q":"z"}"#).contains("first"));
    assert!(found(r#"{"p":"x","q":"y z"}"#).contains("second"));
    assert!(found(r#"{"p":"x","q":"z"}"#).contains(r#""found":null"#));
}

#[test]
fn null_or_absent_makes_no_call_and_is_a_miss() {
    let folder = folder();
    let run = folder
        .enrich_with_input("- --key id --lookup csv:users.csv --as u --stats json", "{\"id\":null}\n{}\n{\"id\":1}\n");
    assert_eq!((run.counter("missing"), run.counter("keyless"), run.counter("attempts")), (2, 2, 1));
    assert_eq!(run.ended(0).lines().filter(|line| line.contains(r#""u":null"#)).count(), 2);
    let run = folder.enrich_with_input("- --in-format csv --key id --lookup csv:users.csv --stats json", "id,x\n,1\n");
    assert_eq!(run.counter("keyless"), 1, "an empty cell is null");
}

#[test]
fn types_match_as_the_tables_columns_say() {
    let folder = folder();
    let json = |record: &str| folder.enrich_with_input("- --key k --lookup json:typed.ndjson --as found", record);
    for (record, found) in
        [("{\"k\":7}", "number"), ("{\"k\":\"7\"}", "text"), ("{\"k\":true}", "boolean"), ("{\"k\":7.0}", "number")]
    {
        assert!(json(record).ended(0).contains(&format!("\"v\":\"{found}\"")), "{record}");
    }
    assert!(json("{\"k\":8}").ended(0).contains(r#""found":null"#));
    assert!(first(&folder, "--key code --lookup csv:codes.csv", r#"{"code":"007"}"#).contains("Bond"));
}

#[test]
fn a_type_that_its_column_never_has_is_an_error_and_not_a_miss() {
    let folder = folder();
    let error = folder.enrich_with_input("- --key code --lookup csv:codes.csv", "{\"code\":7}").failed(4);
    assert!(error.contains("the key 7 is a number, and column code of codes.csv has a text in every row"), "{error}");
    let error = folder.enrich_with_input("- --key k --lookup json:numbers.ndjson", "{\"k\":\"7\"}").failed(4);
    assert!(error.contains(r#"the key "7" is a text"#), "{error}");
}

#[test]
fn csv_has_no_types_so_its_texts_take_the_columns() {
    let folder = folder();
    let found = |table: &str, key: &str| {
        folder
            .enrich_with_input(&format!("- --in-format csv --key k --lookup {table} --as found"), format!("k\n{key}\n"))
            .ended(0)
    };
    assert!(found("json:numbers.ndjson", "7").contains("number"));
    assert!(found("json:typed.ndjson", "7").contains("text"), "where the column has both, a text is a text");
    assert!(found("csv:users.csv --lookup-key id", "1").contains("Ann"));
    assert!(found("csv:users.csv --lookup-key id", "x").contains("null"));
    assert!(found("csv:codes.csv --lookup-key code", "007").contains("Bond"));
    assert!(found("csv:codes.csv --lookup-key code", "7").contains("null"));
}

#[test]
fn a_key_that_is_no_scalar_is_a_bad_record() {
    let folder = folder();
    for key in ["[1]", "{}"] {
        let error =
            folder.enrich_with_input("- --key id --lookup csv:users.csv", format!("{{\"id\":{key}}}")).failed(3);
        assert!(error.contains("standard input:1: the key in `id` is an object or array"), "{error}");
    }
}
