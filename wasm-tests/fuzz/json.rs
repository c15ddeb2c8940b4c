//! The JSON reader against `serde_json`. They differ on purpose in three ways: ours reports
//! duplicate keys and keeps the first, where `serde_json` keeps the last; ours has a configurable
//! depth limit, `serde_json` a limit of 128; and ours keeps numbers as text, so that it accepts
//! those beyond a double, such as `1e999`.

use mcp_listen::json::{self, Node, ReadError, Value};

use crate::strict;

pub fn agrees_with_a_lenient_reader(bytes: &[u8]) {
    let theirs = serde_json::from_slice::<serde_json::Value>(bytes);
    match json::read(bytes, MAX_DEPTH) {
        Err(ReadError::Depth) => assert!(is_deep(bytes), "it is not deep"),
        Err(_) => assert!(theirs.is_err(), "only ours refuses it"),
        Ok(document) if theirs.is_err() => {
            assert!(
                has_a_number_beyond_doubles(&document.root),
                "only ours takes it"
            );
        }
        Ok(document) => {
            let theirs = theirs.unwrap();
            let is_twice = strict::names_a_key_twice(bytes);
            assert_eq!(
                Some(document.has_duplicate_key),
                is_twice,
                "keys named twice"
            );
            if !document.has_duplicate_key {
                assert_eq!(meaning(&document.root), theirs, "it means something else");
            }
            let compact = json::to_compact(&document.root);
            assert!(!compact.contains(['\n', '\r']), "a line break is left");
            let again = serde_json::from_str::<serde_json::Value>(&compact);
            assert_eq!(again.unwrap(), theirs, "written, it means something else");
        }
    }
}

fn meaning(node: &Node<'_>) -> serde_json::Value {
    match &node.value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Number => serde_json::from_str(node.raw).unwrap(),
        Value::String(text) => text.as_ref().into(),
        Value::Array(items) => items.iter().map(meaning).collect(),
        Value::Object(object) => {
            let members = object
                .iter()
                .map(|(key, node)| (key.to_owned(), meaning(node)));
            serde_json::Value::Object(members.collect())
        }
    }
}

fn has_a_number_beyond_doubles(node: &Node<'_>) -> bool {
    match &node.value {
        Value::Number => node.raw.parse::<f64>().is_ok_and(f64::is_infinite),
        Value::Array(items) => items.iter().any(has_a_number_beyond_doubles),
        Value::Object(object) => object
            .iter()
            .any(|(_, node)| has_a_number_beyond_doubles(node)),
        _ => false,
    }
}

/// Whether more containers are open at once, outside strings, than allowed.
fn is_deep(bytes: &[u8]) -> bool {
    let (mut depth, mut is_text, mut is_escaped) = (0usize, false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => depth += 1,
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return true;
        }
    }
    false
}

const MAX_DEPTH: usize = 64;
