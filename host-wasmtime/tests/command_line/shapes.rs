//! How what was found is joined to the record.

use crate::run::{Folder, USERS};

fn folder() -> Folder {
    Folder::with(&[("users.csv", USERS), ("many.csv", "k,v\na,1\na,2\n"), ("in.ndjson", "{\"id\":1}\n{\"id\":9}\n")])
}

#[test]
fn the_default_field_is_lookup() {
    let out = folder().enrich("in.ndjson --key id --lookup csv:users.csv").ended(0);
    assert_eq!(out, "{\"id\":1,\"lookup\":{\"id\":\"1\",\"name\":\"Ann\"}}\n{\"id\":9,\"lookup\":null}\n");
}

#[test]
fn all_rows_are_an_array() {
    let folder = folder();
    let out = folder
        .enrich_with_input("- --key k --lookup csv:many.csv --as vs --rows all", "{\"k\":\"a\"}\n{\"k\":\"b\"}\n");
    assert_eq!(
        out.ended(0),
        "{\"k\":\"a\",\"vs\":[{\"k\":\"a\",\"v\":\"1\"},{\"k\":\"a\",\"v\":\"2\"}]}\n{\"k\":\"b\",\"vs\":[]}\n"
    );
}

#[test]
fn merged_fields_stand_beside_the_records() {
    let out = folder().enrich("in.ndjson --key id --lookup csv:users.csv --merge user_").ended(0);
    assert_eq!(
        out,
        "{\"id\":1,\"user_id\":\"1\",\"user_name\":\"Ann\"}\n{\"id\":9,\"user_id\":null,\"user_name\":null}\n"
    );
}

#[test]
fn a_field_of_the_same_name_makes_way_where_it_may() {
    let folder = folder();
    let out = folder
        .enrich_with_input("- --key id --lookup csv:users.csv --as u --overwrite", "{\"u\":{\"old\":true},\"id\":1}")
        .ended(0);
    assert_eq!(out, "{\"id\":1,\"u\":{\"id\":\"1\",\"name\":\"Ann\"}}\n");
    let output = folder
        .command()
        .args(["enrich", "--key", "id", "--lookup", "csv:users.csv", "--overwrite", "--merge", ""])
        .write_stdin("{\"name\":7,\"id\":1}")
        .output();
    let out = String::from_utf8(output.unwrap().stdout).unwrap();
    assert_eq!(out, "{\"id\":\"1\",\"name\":\"Ann\"}\n", "without a prefix the row's fields are the record's");
}

#[test]
fn merge_and_all_rows_do_not_go_together() {
    let error = folder().enrich("in.ndjson --key id --lookup csv:users.csv --merge u_ --rows all").failed(2);
    assert!(error.contains("nest the rows with --as"), "{error}");
    folder().enrich("in.ndjson --key id --lookup csv:users.csv --merge u_ --as u").failed(2);
}

#[test]
fn a_record_with_a_new_field_does_not_fit_csv() {
    let folder = folder();
    let run = folder
        .enrich_with_input("- --key id --lookup csv:users.csv --out-format csv", "{\"id\":1}\n{\"id\":2,\"new\":1}\n");
    let error = run.failed(3);
    assert!(error.contains("record 2 does not fit: it has the field `new`, which is no column"), "{error}");
}
