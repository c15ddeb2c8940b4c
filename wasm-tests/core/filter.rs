use mcp_listen::{
    capabilities::Capabilities,
    event::ServerEvent,
    filter::{FilterError, SubscriptionFilter},
    limits::Limits,
    name::NameError,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_event, any_filter, check, uri};

fn read(text: &str) -> Result<SubscriptionFilter, FilterError> {
    SubscriptionFilter::from_json(text, &Limits::default())
}

#[test]
fn absent_and_false_are_the_same() {
    assert_eq!(
        read("{}"),
        read(r#"{"toolsListChanged":false,"resourceSubscriptions":[],"taskIds":[]}"#)
    );
    assert!(read("{}").unwrap().is_empty());
}

#[test]
fn unknown_members_are_omitted() {
    let filter =
        read(r#"{"toolsListChanged":true,"eventIds":["t"],"TaskIds":1,"ToolsListChanged":1}"#)
            .unwrap();
    assert_eq!(filter.to_json(), r#"{"toolsListChanged":true}"#);
}

#[test]
fn a_repeated_name_is_listed_once_in_first_place() {
    for member in ["resourceSubscriptions", "taskIds"] {
        let filter = read(&format!(r#"{{"{member}":["b","a","b","b","a"]}}"#)).unwrap();
        assert_eq!(filter.to_json(), format!(r#"{{"{member}":["b","a"]}}"#));
    }
}

#[test]
fn a_wrong_type_names_its_member() {
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
            FilterError::Uri(NameError::Empty),
        ),
        (
            r#"{"resourceSubscriptions":["a\u0000"]}"#,
            FilterError::Uri(NameError::Control),
        ),
        (r#"{"taskIds":"x"}"#, FilterError::NotTaskIds),
        (r#"{"taskIds":null}"#, FilterError::NotTaskIds),
        (r#"{"taskIds":[1]}"#, FilterError::NotTaskIds),
        (r#"{"taskIds":[""]}"#, FilterError::TaskId(NameError::Empty)),
        (
            r#"{"taskIds":["a\r"]}"#,
            FilterError::TaskId(NameError::Control),
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
    assert_eq!(named(2_049), Err(FilterError::Uri(NameError::TooLong)));
}

#[test]
fn the_number_and_the_length_of_task_ids_are_bounded() {
    let many = |count: usize| {
        let ids: Vec<String> = (0..count).map(|place| format!("\"t{place}\"")).collect();
        read(&format!(r#"{{"taskIds":[{}]}}"#, ids.join(",")))
    };
    assert_eq!(many(256).unwrap().task_ids.len(), 256);
    assert_eq!(many(257), Err(FilterError::TooManyTaskIds));
    let long = |length: usize| read(&format!(r#"{{"taskIds":["{}"]}}"#, "x".repeat(length)));
    assert!(long(2_048).is_ok());
    assert_eq!(long(2_049), Err(FilterError::TaskId(NameError::TooLong)));
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
fn each_member_makes_a_filter_non_empty() {
    let empty = SubscriptionFilter::default();
    for text in [
        r#"{"toolsListChanged":true}"#,
        r#"{"promptsListChanged":true}"#,
        r#"{"resourcesListChanged":true}"#,
        r#"{"eventsListChanged":true}"#,
        r#"{"resourceSubscriptions":["a"]}"#,
        r#"{"taskIds":["a"]}"#,
    ] {
        let filter = read(text).unwrap();
        assert!(!filter.is_empty(), "{text}");
        assert!(!filter.is_subset_of(&empty), "{text}");
        assert!(empty.is_subset_of(&filter), "{text}");
    }
}

#[test]
fn filters_round_trip_through_json() {
    check(any_filter(), |filter| {
        assert_eq!(read(&filter.to_json()), Ok(filter));
    });
}

#[test]
fn what_is_honored_is_requested_and_advertised_and_authorized() {
    check(
        (any_filter(), any_filter(), any_event()),
        |(requested, authorized, event)| {
            assert_eq!(requested.honored(Capabilities::ALL, None), requested);
            assert!(requested.honored(Capabilities::default(), None).is_empty());
            let honored = requested.honored(Capabilities::ALL, Some(&authorized));
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
fn each_capability_covers_one_kind_of_topic() {
    let all = read(r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"eventsListChanged":true,"resourceSubscriptions":["a"],"taskIds":["a"]}"#).unwrap();
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
        (
            Capabilities {
                events_list_changed: true,
                ..none
            },
            r#"{"eventsListChanged":true}"#,
        ),
        (
            Capabilities {
                tasks: true,
                ..none
            },
            r#"{"taskIds":["a"]}"#,
        ),
    ] {
        assert_eq!(all.honored(capabilities, None).to_json(), honored);
    }
}

#[test]
fn the_uri_under_which_buses_carry_changes_of_event_types_is_no_resource() {
    let named = read(r#"{"resourceSubscriptions":["mcp-event:","mcp-event:a"]}"#).unwrap();
    assert_eq!(
        named.to_json(),
        r#"{"resourceSubscriptions":["mcp-event:a"]}"#
    );
    let listening = read(r#"{"eventsListChanged":true}"#).unwrap();
    assert!(listening.accepts(&ServerEvent::EventsListChanged));
    assert!(!named.accepts(&ServerEvent::EventsListChanged));
    assert_eq!(SubscriptionFilter::from(listening.topics()), listening);
}
