use mcp_listen::json::{self, ReadError, Value};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::check;

fn error(text: &str) -> Option<ReadError> {
    json::read(text.as_bytes(), 64).err()
}

#[test]
fn valid_texts_are_read() {
    for text in [
        "null",
        "true",
        " false ",
        "0",
        "-0",
        "-12.5e+3",
        "1E9",
        "\"\"",
        "[]",
        "{}",
        "[1,[2],{}]",
        "{\"a\":{\"b\":[null]}}",
        "\"\\u0041\\ud83d\\ude00\\n\\/\"",
        "\t\r\n1\n",
        "123456789012345678901234567890",
    ] {
        assert_eq!(error(text), None, "{text}");
    }
}

#[test]
fn broken_texts_are_syntax_errors() {
    for text in [
        "",
        " ",
        "nul",
        "True",
        "NaN",
        "Infinity",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "-",
        "\"",
        "\"\\x\"",
        "\"\n\"",
        "\"\t\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\" 1}",
        "{\"a\":}",
        "{1:2}",
        "[",
        "{",
        "1 2",
        "{}{}",
        "// c\n1",
        "'a'",
        "\u{feff}1",
    ] {
        assert_eq!(error(text), Some(ReadError::Syntax), "{text}");
    }
}

#[test]
fn lone_surrogates_are_syntax_errors() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800A""#,
        r#""\ud800\ud800""#,
        r#""\ud800""#,
    ] {
        assert_eq!(error(text), Some(ReadError::Syntax), "{text}");
    }
}

#[test]
fn escaped_pairs_are_one_character() {
    for (text, expected) in [
        ("\"\\ud83d\\ude00\"", "\u{1f600}"),
        ("\"\\ud800\\udc00\"", "\u{10000}"),
        ("\"\\udbff\\udfff\"", "\u{10ffff}"),
    ] {
        let document = json::read(text.as_bytes(), 0).unwrap();
        assert_eq!(document.root.as_str(), Some(expected), "{text}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_an_encoding_error() {
    for bytes in [
        &b"\"\xff\""[..],
        b"\"\xc0\xaf\"",
        b"\"\xed\xa0\x80\"",
        b"\xfe\xff\0{\0}",
    ] {
        assert_eq!(
            json::read(bytes, 64).err(),
            Some(ReadError::Encoding),
            "{bytes:?}"
        );
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert_eq!(error(&nested(64)), None);
    assert_eq!(error(&nested(65)), Some(ReadError::Depth));
    assert_eq!(error(&nested(1_000_000)), Some(ReadError::Depth));
    assert_eq!(error(&"{\"a\":".repeat(65)), Some(ReadError::Depth));
}

#[test]
fn siblings_do_not_add_to_the_depth() {
    let siblings = format!("[{}]", vec!["[[]]"; 100].join(","));
    assert!(json::read(siblings.as_bytes(), 3).is_ok());
}

#[test]
fn duplicate_keys_are_noted_after_unescaping_at_any_depth() {
    for (text, is_duplicate) in [
        (r#"{"a":1,"b":2}"#, false),
        (r#"{"a":1,"a":1}"#, true),
        (r#"{"a":1,"\u0061":2}"#, true),
        (r#"[{"x":{"k":1,"k":2}}]"#, true),
        (r#"{"a":{"k":1},"b":{"k":1}}"#, false),
        (r#"{"a":1,"A":1}"#, false),
    ] {
        let document = json::read(text.as_bytes(), 64).unwrap();
        assert_eq!(document.has_duplicate_key, is_duplicate, "{text}");
    }
}

#[test]
fn raw_text_is_kept_verbatim() {
    let document = json::read(br#" {"id" : 1.50e+00 , "s":"\u0041" } "#, 64).unwrap();
    assert_eq!(document.root.get("id").unwrap().raw, "1.50e+00");
    assert_eq!(document.root.get("s").unwrap().raw, r#""\u0041""#);
    assert_eq!(document.root.get("s").unwrap().as_str(), Some("A"));
}

#[test]
fn written_strings_contain_no_line_break() {
    let mut out = String::new();
    json::push_string(&mut out, "a\r\n\u{0}\u{1f}\"\\\u{2028}é");
    assert_eq!(out, "\"a\\r\\n\\u0000\\u001f\\\"\\\\\u{2028}é\"");
}

#[test]
fn written_values_read_back() {
    check(any_json(), |value| {
        let text = serde_json::to_string_pretty(&value).unwrap();
        let document = json::read(text.as_bytes(), 64).unwrap();
        let compact = json::to_compact(&document.root);
        assert!(!compact.contains('\n'));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&compact).unwrap(),
            value
        );
    });
}

#[test]
fn any_bytes_are_read_or_refused() {
    check(vec(any::<u8>(), 0..64), |bytes| {
        drop(json::read(&bytes, 64));
    });
}

#[test]
fn a_lenient_reader_agrees_on_every_accepted_text() {
    check(
        (any_json(), any::<prop::sample::Index>(), any::<u8>()),
        |(value, place, byte)| {
            let mut bytes = serde_json::to_vec(&value).unwrap();
            let place = place.index(bytes.len());
            bytes[place] = byte;
            let other = serde_json::from_slice::<serde_json::Value>(&bytes);
            // The grammar of numbers has no maximum: the other reader refuses numbers beyond f64,
            // this one keeps the text.
            if matches!(&other, Err(error) if error.to_string().starts_with("number out of range"))
            {
                return;
            }
            assert_eq!(
                json::read(&bytes, 64).is_ok(),
                other.is_ok(),
                "{:?}",
                String::from_utf8_lossy(&bytes)
            );
        },
    );
}

#[test]
fn a_number_beyond_f64_is_kept_verbatim() {
    for text in ["1e999", "-2e1474836", "1e400"] {
        assert!(serde_json::from_str::<serde_json::Value>(text).is_err());
        assert_eq!(json::read(text.as_bytes(), 64).unwrap().root.raw, text);
    }
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i32>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Into::into),
            proptest::collection::btree_map("[a-c\\\\\"\n]{0,2}", inner, 0..4)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

#[test]
fn accessors_match_the_kind_of_a_value() {
    let document = json::read(br#"{"n":null,"b":true,"d":3,"s":"x","a":[1],"o":{}}"#, 64).unwrap();
    let value = |key: &str| &document.root.get(key).unwrap().value;
    assert!(matches!(value("n"), Value::Null));
    assert!(matches!(value("b"), Value::Bool(true)));
    assert!(matches!(value("d"), Value::Number));
    assert_eq!(document.root.get("d").unwrap().as_u53(), Some(3));
    assert_eq!(document.root.get("a").unwrap().as_array().unwrap().len(), 1);
    assert!(document.root.get("o").unwrap().as_object().is_some());
    assert!(document.root.get("missing").is_none());
}
