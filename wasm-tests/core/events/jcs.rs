use mcp_listen::{
    events::canonical,
    json::{self, Node},
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::check;

fn of(text: &str) -> Option<String> {
    let document = json::read(text.as_bytes(), 64).unwrap();
    canonical(&document.root)
}

/// The expected texts are what `JSON.stringify(Number(text))` gives.
#[test]
fn numbers_have_the_layout_of_ecmascript() {
    for (text, expected) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0e5", "0"),
        ("1", "1"),
        ("-1", "-1"),
        ("1.0", "1"),
        ("120", "120"),
        ("1200e-2", "12"),
        ("1E+2", "100"),
        ("1e20", "100000000000000000000"),
        ("295147905179352830000", "295147905179352830000"),
        ("999999999999999900000", "999999999999999900000"),
        ("1e21", "1e+21"),
        ("123456789012345678901234567890", "1.2345678901234568e+29"),
        ("0.000001", "0.000001"),
        ("0.00000123", "0.00000123"),
        ("1e-7", "1e-7"),
        ("123e-9", "1.23e-7"),
        ("-1e-10", "-1e-10"),
        ("0.1", "0.1"),
        ("-2.50", "-2.5"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("333333333.33333329", "333333333.3333333"),
        ("12345.678e2", "1234567.8"),
        ("1424953923781206.2", "1424953923781206.2"), // exactly between .2 and .3
        ("2.98023223876953125e-8", "2.9802322387695312e-8"), // the least such number
        ("2251799813685247.25", "2251799813685247.2"), // the greatest one
        ("9007199254740993", "9007199254740992"),
        ("1e23", "1e+23"),
        ("6.02214076e23", "6.02214076e+23"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("2.2250738585072014e-308", "2.2250738585072014e-308"),
        ("5e-324", "5e-324"),
        ("2e-324", "0"),
    ] {
        assert_eq!(of(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn numbers_that_no_double_holds_are_refused() {
    for text in ["1e309", "-1e309", "[{\"a\":[1e999]}]"] {
        assert_eq!(of(text), None, "{text}");
    }
}

#[test]
fn names_are_ordered_by_utf16_code_units() {
    // U+1F600 is written with surrogates, which come before U+FB33.
    let text =
        "{\"\u{fb33}\":1,\"\u{1f600}\":2,\"\u{f6}\":3,\"b\":4,\"\":5,\"aa\":6,\"a\":7,\"1\":8}";
    let expected =
        "{\"\":5,\"1\":8,\"a\":7,\"aa\":6,\"b\":4,\"\u{f6}\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}";
    assert_eq!(of(text).unwrap(), expected);
}

#[test]
fn strings_have_the_shortest_escapes() {
    let text = r#""\u0000\u0008\u0009\u000a\u000b\u000c\u000d\u001f\"\\\/\u0041\u007f\u20ac""#;
    let expected = "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/A\u{7f}\u{20ac}\"";
    assert_eq!(of(text).unwrap(), expected);
}

#[test]
fn white_space_is_left_out_and_lists_keep_their_order() {
    let text = " { \"b\" : [ 3 , true , null , { } , [ ] ] , \"a\" : \"\" } ";
    assert_eq!(of(text).unwrap(), "{\"a\":\"\",\"b\":[3,true,null,{},[]]}");
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<i32>().prop_map(|number| f64::from(number).into()),
        ".{0,6}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Into::into),
            vec((".{0,3}", inner), 0..4)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

#[test]
fn a_canonical_text_is_its_own_and_means_the_same() {
    check(any_json(), |value| {
        let canonical = of(&value.to_string()).unwrap();
        assert_eq!(of(&canonical).as_ref(), Some(&canonical));
        let document = json::read(canonical.as_bytes(), 64).unwrap();
        assert!(means(&document.root, &value), "{canonical} {value}");
    });
}

fn means(node: &Node<'_>, value: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Number, Object};
    match value {
        Number(number) => node.raw.parse().ok() == number.as_f64(),
        Array(items) => {
            let nodes = node.as_array().unwrap();
            let mut pairs = nodes.iter().zip(items);
            nodes.len() == items.len() && pairs.all(|(node, item)| means(node, item))
        }
        Object(members) => {
            let object = node.as_object().unwrap();
            let has = |(name, value): (&String, _)| means(object.get(name).unwrap(), value);
            object.iter().count() == members.len() && members.iter().all(has)
        }
        text => node.as_str() == text.as_str() && node.as_bool() == text.as_bool(),
    }
}

#[test]
fn the_order_of_members_and_the_spelling_of_numbers_do_not_matter() {
    check(
        (".{0,4}", ".{0,4}", any::<i32>()),
        |(one, other, number)| {
            prop_assume_differ(&one, &other, |one, other| {
                let forth = of(&format!("{{{one}:{number},{other}:[]}}"));
                let back = of(&format!("{{ {other}:[ ], {one} : {number}.0e0 }}"));
                assert_eq!(forth, back);
            });
        },
    );
}

fn prop_assume_differ(one: &str, other: &str, then: impl Fn(String, String)) {
    let text = |name: &str| serde_json::Value::from(name).to_string();
    if one != other {
        then(text(one), text(other));
    }
}
