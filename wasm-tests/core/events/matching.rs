use mcp_listen::events::matching::{
    Expected, MatchResult, MatchRule, is_match_result, match_results, match_results_by_class,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn rule(text: &str) -> Option<MatchRule> {
    MatchRule::from_json(text)
}

fn matches(rule_text: &str, arguments: &str, data: &str) -> bool {
    let expected = rule(rule_text).unwrap().expected(arguments).unwrap();
    expected.is_met(data)
}

#[test]
fn each_given_argument_equals_its_place_in_the_payload() {
    let by_two = r#"{"customer":"/customer/id","kind":"/kinds/1"}"#;
    let data = r#"{"customer":{"id":"c1"},"kinds":["a","b"]}"#;
    for (arguments, is_met) in [
        ("{}", true),
        (r#"{"other":1}"#, true),
        (r#"{"customer":"c1"}"#, true),
        (r#"{"customer":"c1","kind":"b"}"#, true),
        (r#"{"customer":"c1","kind":"a"}"#, false),
        (r#"{"customer":"c2"}"#, false),
        (r#"{"customer":null}"#, false),
    ] {
        assert_eq!(matches(by_two, arguments, data), is_met, "{arguments}");
    }
    assert!(
        !matches(by_two, r#"{"customer":"c1"}"#, "{}"),
        "nothing is there"
    );
}

#[test]
fn values_are_equal_however_they_are_written() {
    for (one, other, is_equal) in [
        ("1", "1.0", true),
        ("1e3", "1000", true),
        ("1", "\"1\"", false),
        ("0", "-0", true),
        (r#""\u00e9/""#, r#""é\/""#, true),
        (r#"{"a":1,"b":[2]}"#, r#"{ "b": [2.0], "a": 1 }"#, true),
        ("[1,2]", "[2,1]", false),
        ("null", "null", true),
        ("true", "false", false),
    ] {
        let (arguments, data) = (format!(r#"{{"x":{one}}}"#), format!(r#"{{"y":{other}}}"#));
        assert_eq!(
            matches(r#"{"x":"/y"}"#, &arguments, &data),
            is_equal,
            "{one} {other}"
        );
    }
}

#[test]
fn pointers_follow_rfc_6901() {
    let data = r#"{"":1,"a/b":2,"m~n":3,"~1":7,"list":[4,[5]],"c":{"":6}}"#;
    for (pointer, value) in [
        ("/", "1"),
        ("/a~1b", "2"),
        ("/m~0n", "3"),
        ("/~01", "7"),
        ("/list/0", "4"),
        ("/list/1/0", "5"),
        ("/c/", "6"),
        ("", data),
    ] {
        let arguments = format!(r#"{{"x":{value}}}"#);
        assert!(
            matches(&format!(r#"{{"x":"{pointer}"}}"#), &arguments, data),
            "{pointer}"
        );
    }
    for pointer in [
        "/list/00",
        "/list/+0",
        "/list/-",
        "/list/2",
        "/a",
        "/list/0/0",
    ] {
        let rule = format!(r#"{{"x":"{pointer}"}}"#);
        assert!(!matches(&rule, r#"{"x":4}"#, data), "{pointer}");
    }
    for pointer in ["a", "~", "/~", "/~2", "/~~01"] {
        assert_eq!(rule(&format!(r#"{{"x":"{pointer}"}}"#)), None, "{pointer}");
    }
}

#[test]
fn a_rule_is_host_or_pointers_by_argument() {
    assert_eq!(rule("\"host\""), Some(MatchRule::Host));
    assert_eq!(rule("{}"), Some(MatchRule::Everything));
    for text in ["1", "\"x\"", r#"{"a":1}"#, "[]"] {
        assert_eq!(rule(text), None, "{text}");
    }
}

#[test]
fn without_a_yes_of_the_server_nothing_matches() {
    let expected = MatchRule::Host.expected(r#"{"a":1}"#).unwrap();
    assert_eq!(expected.for_host(), Some(r#"{"a":1}"#));
    assert!(!expected.is_met("{}"));
    assert_eq!(
        MatchRule::Everything.expected("{}"),
        Some(Expected::Everything)
    );
    assert_eq!(MatchRule::Host.expected("{"), None);
}

#[test]
fn results_other_than_those_of_the_protocol_are_failures() {
    let read =
        match_results(r#"[true,false,{"data":{ "a": 1.0 }},null,"yes",1,{"data":[]},{}]"#).unwrap();
    let changed = MatchResult::Transformed(r#"{"a":1.0}"#.into());
    assert_eq!(
        read[..3],
        [MatchResult::Matched, MatchResult::NotMatched, changed]
    );
    assert!(
        read[3..]
            .iter()
            .all(|result| *result == MatchResult::Failed)
    );
    let large = format!(r#"[{{"data":{{"a":"{}"}}}}]"#, "x".repeat(200_000));
    assert_eq!(match_results(&large), Some(vec![MatchResult::Failed]));
    assert_eq!((match_results("{}"), match_results("[")), (None, None));
}

#[test]
fn a_result_is_read_alone() {
    let nested = |depth: usize| {
        let (open, close) = (r#"{"a":"#.repeat(depth - 1), "}".repeat(depth - 1));
        format!(r#"{{"data":{open}{{}}{close}}}"#)
    };
    for text in ["true", "false", r#"{"data":{}}"#, &nested(32)] {
        assert!(is_match_result(text), "{text}");
        assert!(match_results(&format!("[{text}]")).is_some(), "{text}");
    }
    let half = r#"{"data":{"title":"\ud83d"}}"#;
    for text in [
        half,
        &nested(33),
        "null",
        "1",
        r#"{"data":[]}"#,
        "{}",
        "{",
        "",
    ] {
        assert!(!is_match_result(text), "{text}");
    }
}

#[test]
fn results_name_the_class_that_they_are_for() {
    let read = match_results_by_class(r#"[{"class":3,"results":[true]},{"class":4,"results":[]}]"#);
    assert_eq!(
        read,
        Some(vec![(3, vec![MatchResult::Matched]), (4, Vec::new())])
    );
    for text in [
        "{}",
        "[1]",
        r#"[{"class":-1,"results":[]}]"#,
        r#"[{"class":1}]"#,
    ] {
        assert_eq!(match_results_by_class(text), None, "{text}");
    }
}
