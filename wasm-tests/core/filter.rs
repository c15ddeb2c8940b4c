use mcp_listen::{
    capabilities::Capabilities,
    filter::{FilterError, SubscriptionFilter},
    limits::Limits,
    uri::UriError,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_event, any_filter, check, uri};

const ALL: Capabilities = Capabilities {
    tools_list_changed: true,
    prompts_list_changed: true,
    resources_list_changed: true,
    resources_subscribe: true,
};

fn read(text: &str) -> Result<SubscriptionFilter, FilterError> {
    SubscriptionFilter::from_json(text, &Limits::default())
}

#[test]
fn absent_and_false_are_the_same() {
    assert_eq!(
        read("{}"),
        read(r#"{"toolsListChanged":false,"resourceSubscriptions":[]}"#)
    );
    assert!(read("{}").unwrap().is_empty());
}

#[test]
fn unknown_members_are_left_out() {
    let filter = read(r#"{"toolsListChanged":true,"taskIds":["t"],"ToolsListChanged":1}"#).unwrap();
    assert_eq!(filter.to_json(), r#"{"toolsListChanged":true}"#);
}

#[test]
fn a_uri_named_often_is_listed_once_in_its_first_place() {
    let filter = read(r#"{"resourceSubscriptions":["b","a","b","b","a"]}"#).unwrap();
    assert_eq!(filter.to_json(), r#"{"resourceSubscriptions":["b","a"]}"#);
}

#[test]
fn wrong_types_say_which() {
    for (text, error) in [
        ("null", FilterError::NotAnObject),
        ("[]", FilterError::NotAnObject),
        (
            r#"{"toolsListChanged":"true"}"#,
            FilterError::NotAFlag("toolsListChanged"),
        ),
        (
            r#"{"promptsListChanged":1}"#,
            FilterError::NotAFlag("promptsListChanged"),
        ),
        (
            r#"{"resourcesListChanged":null}"#,
            FilterError::NotAFlag("resourcesListChanged"),
        ),
        (r#"{"resourceSubscriptions":"x"}"#, FilterError::NotUris),
        (r#"{"resourceSubscriptions":null}"#, FilterError::NotUris),
        (r#"{"resourceSubscriptions":[["x"]]}"#, FilterError::NotUris),
        (
            r#"{"resourceSubscriptions":[""]}"#,
            FilterError::Uri(UriError::Empty),
        ),
        (
            r#"{"resourceSubscriptions":["a\u0000"]}"#,
            FilterError::Uri(UriError::Control),
        ),
    ] {
        assert_eq!(read(text), Err(error), "{text}");
    }
}

#[test]
fn the_number_of_different_uris_is_bounded() {
    let named = |count: usize| {
        let uris: Vec<String> = (0..count).map(|place| format!("\"u{place}\"")).collect();
        read(&format!(
            r#"{{"resourceSubscriptions":[{}]}}"#,
            uris.join(",")
        ))
    };
    assert!(named(255).is_ok());
    assert_eq!(named(256).unwrap().resource_subscriptions.len(), 256);
    assert_eq!(named(257), Err(FilterError::TooManyUris));
    let same = vec!["\"x\""; 1_000].join(",");
    assert!(read(&format!(r#"{{"resourceSubscriptions":[{same}]}}"#)).is_ok());
}

#[test]
fn the_length_of_a_uri_is_bounded() {
    let named = |length: usize| {
        read(&format!(
            r#"{{"resourceSubscriptions":["{}"]}}"#,
            "x".repeat(length)
        ))
    };
    assert!(named(2_047).is_ok());
    assert!(named(2_048).is_ok());
    assert_eq!(named(2_049), Err(FilterError::Uri(UriError::TooLong)));
}

#[test]
fn uris_match_as_exact_strings() {
    let filter = read(r#"{"resourceSubscriptions":["note://a"]}"#).unwrap();
    for (text, is_accepted) in [
        ("note://a", true),
        ("note://A", false),
        ("note://a/", false),
        ("note://a/b", false),
    ] {
        let event = mcp_listen::event::ServerEvent::ResourceUpdated { uri: uri(text) };
        assert_eq!(filter.accepts(&event), is_accepted, "{text}");
    }
}

#[test]
fn every_filter_survives_the_way_to_json_and_back() {
    check(any_filter(), |filter| {
        assert_eq!(read(&filter.to_json()), Ok(filter));
    });
}

#[test]
fn what_is_honored_is_requested_and_advertised_and_authorized() {
    check(
        (any_filter(), any_filter(), any_event()),
        |(requested, authorized, event)| {
            assert_eq!(requested.honored(ALL, None), requested);
            assert!(requested.honored(Capabilities::default(), None).is_empty());
            let honored = requested.honored(ALL, Some(&authorized));
            assert!(honored.is_subset_of(&requested));
            assert!(honored.is_subset_of(&authorized));
            assert_eq!(
                honored.accepts(&event),
                requested.accepts(&event) && authorized.accepts(&event)
            );
        },
    );
}

#[test]
fn each_capability_opens_its_own_kind() {
    let all = read(r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a"]}"#).unwrap();
    let none = Capabilities::default();
    for (capabilities, honored) in [
        (
            Capabilities {
                tools_list_changed: true,
                ..none
            },
            r#"{"toolsListChanged":true}"#,
        ),
        (
            Capabilities {
                prompts_list_changed: true,
                ..none
            },
            r#"{"promptsListChanged":true}"#,
        ),
        (
            Capabilities {
                resources_list_changed: true,
                ..none
            },
            r#"{"resourcesListChanged":true}"#,
        ),
        (
            Capabilities {
                resources_subscribe: true,
                ..none
            },
            r#"{"resourceSubscriptions":["a"]}"#,
        ),
    ] {
        assert_eq!(all.honored(capabilities, None).to_json(), honored);
    }
}
