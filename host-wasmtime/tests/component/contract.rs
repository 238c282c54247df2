//! The built component against `wit/`.

use std::collections::{BTreeMap, BTreeSet};

use lookaside::OperatorComponent;
use wit_component::{DecodedWasm, WitPrinter};
use wit_parser::{PackageId, Resolve, WorldItem};

/// 152 KiB.
const MAX_BYTES: usize = 152 << 10;

fn built() -> (Resolve, wit_parser::WorldId) {
    match wit_component::decode(OperatorComponent::bundled_bytes()).expect("a component") {
        DecodedWasm::Component(resolve, world) => (resolve, world),
        DecodedWasm::WitPackage(..) => panic!("a WIT package, and no component"),
    }
}

/// The items of each interface of the package as texts, docs left out.
fn interfaces(resolve: &Resolve, package: PackageId) -> BTreeMap<String, BTreeSet<String>> {
    let mut printer = WitPrinter::default();
    printer.emit_docs(false);
    printer.print(resolve, package, &[]).expect("it prints");
    let text = printer.output.to_string();
    let mut interfaces = BTreeMap::new();
    for block in text.split("\ninterface ").skip(1) {
        let (name, body) = block.split_once(" {\n").unwrap();
        let (body, _) = body.split_once("\n}").unwrap();
        let items = body.split("\n\n").filter(|item| !item.trim_start().starts_with("use "));
        interfaces.insert(name.to_owned(), items.map(str::to_owned).collect());
    }
    interfaces
}

fn package(resolve: &Resolve) -> PackageId {
    let found = resolve.packages.iter().find(|(_, package)| package.name.to_string() == "lookaside:async-lookup@0.1.0");
    found.expect("the contract's package").0
}

#[test]
fn it_imports_its_lookups_and_nothing_else() {
    let (resolve, world) = built();
    let imports: Vec<String> = resolve.worlds[world].imports.keys().map(|key| resolve.name_world_key(key)).collect();
    let mut functions = Vec::new();
    for item in resolve.worlds[world].imports.values() {
        let WorldItem::Interface { id, .. } = item else { panic!("interfaces alone are imported: {item:?}") };
        functions.extend(resolve.interfaces[*id].functions.keys().cloned());
    }
    let expected = ["lookaside:async-lookup/types@0.1.0", "lookaside:async-lookup/lookup@0.1.0"];
    assert_eq!(imports, expected);
    assert_eq!(functions, ["async-lookup", "take-completions"]);
}

#[test]
fn its_interfaces_are_those_of_the_contract() {
    let mut source = Resolve::default();
    let (contract, _) = source.push_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../wit")).expect("the contract parses");
    let (built, _) = built();
    let mut expected = interfaces(&source, contract);
    assert_eq!(
        expected.keys().collect::<Vec<_>>(),
        ["lookup", "operator", "operator-batch", "operator-inspect", "types"]
    );
    // No function takes the codes' names, so they are in the contract alone.
    let codes = expected.get_mut("lookup").unwrap();
    codes.retain(|item| !item.contains("enum completion-status"));
    assert_eq!(interfaces(&built, package(&built)), expected);
}

#[test]
fn every_item_of_the_contract_is_documented() {
    let mut resolve = Resolve::default();
    resolve.push_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../wit")).expect("the contract parses");
    for (_, interface) in &resolve.interfaces {
        let name = interface.name.as_deref().unwrap_or_default();
        assert!(interface.docs.contents.is_some(), "interface {name}");
        for (function, item) in &interface.functions {
            assert!(item.docs.contents.is_some(), "{name}.{function}");
        }
        for (item, id) in &interface.types {
            let imported = matches!(resolve.types[*id].kind, wit_parser::TypeDefKind::Type(wit_parser::Type::Id(_)));
            assert!(imported || resolve.types[*id].docs.contents.is_some(), "{name}.{item}");
        }
    }
    for (_, world) in &resolve.worlds {
        assert!(world.docs.contents.is_some(), "world {}", world.name);
    }
}

#[test]
fn it_is_small_and_names_no_folder_of_its_builder() {
    let bytes = OperatorComponent::bundled_bytes();
    assert!(bytes.len() <= MAX_BYTES, "{} bytes", bytes.len());
    let home = std::env::var("HOME").unwrap_or_else(|_| "/home/".into());
    for home in [env!("CARGO_MANIFEST_DIR"), "/registry/src", home.as_str()] {
        assert!(home.len() < 2 || !bytes.windows(home.len()).any(|window| window == home.as_bytes()), "{home}");
    }
}
