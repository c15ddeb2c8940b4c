use mcp_listen::events::{
    catalogue::{Catalogue, CatalogueError, Mode, Modes, advertised, capability},
    error::EventError,
};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::host::name;

fn all() -> Modes {
    Mode::ALL.into_iter().collect()
}

fn read(definitions: &Value) -> Result<Catalogue, CatalogueError> {
    Catalogue::from_json(&definitions.to_string(), all())
}

fn list(catalogue: &Catalogue, after: Option<&str>) -> Value {
    let after = after.map(name);
    serde_json::from_str(&catalogue.list(|_| true, after.as_ref())).unwrap()
}

#[test]
fn every_field_of_an_event_type_is_always_listed() {
    let catalogue = read(&json!({
        "b": {},
        "a": {
            "description": "An \"a\"", "inputSchema": { "type": "object", "title": "in" },
            "payloadSchema": { "title": "out" }, "delivery": ["push"], "_meta": { "x": 1.50 },
            "match": "host",
        },
    }));
    assert_eq!(
        list(&catalogue.unwrap(), None),
        json!({
            "resultType": "complete",
            "events": [
                {
                    "name": "a", "description": "An \"a\"", "delivery": ["push"],
                    "inputSchema": { "type": "object", "title": "in" },
                    "payloadSchema": { "title": "out" }, "_meta": { "x": 1.5 },
                },
                {
                    "name": "b", "description": "", "delivery": ["poll", "push", "webhook"],
                    "inputSchema": { "type": "object" }, "payloadSchema": { "type": "object" },
                },
            ],
        })
    );
}

#[test]
fn a_list_is_sorted_and_has_a_hundred_types_a_page() {
    let names: Vec<String> = (0..250).map(|number| format!("e{number:03}")).collect();
    let definitions: Value = names
        .iter()
        .rev()
        .map(|name| (name.clone(), json!({})))
        .collect();
    let catalogue = read(&definitions).unwrap();
    let (mut listed, mut after, mut pages) = (Vec::new(), None, Vec::new());
    loop {
        let page = list(&catalogue, after.as_deref());
        let events = page["events"].as_array().unwrap();
        pages.push(events.len());
        listed.extend(
            events
                .iter()
                .map(|event| event["name"].as_str().unwrap().to_owned()),
        );
        after = page
            .get("nextCursor")
            .map(|cursor| cursor.as_str().unwrap().to_owned());
        if after.is_none() {
            break;
        }
    }
    assert_eq!((listed, pages), (names, vec![100, 100, 50]));
}

#[test]
fn a_full_last_page_names_no_further_one() {
    let definitions: Value = (0..100)
        .map(|number| (format!("e{number}"), json!({})))
        .collect();
    assert!(
        list(&read(&definitions).unwrap(), None)
            .get("nextCursor")
            .is_none()
    );
}

#[test]
fn what_is_not_shown_takes_no_place_in_a_page() {
    let definitions: Value = (0..150)
        .map(|number| (format!("e{number:03}"), json!({})))
        .collect();
    let catalogue = read(&definitions).unwrap();
    let listed = catalogue.list(|name| name.ends_with('7'), None);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["events"].as_array().unwrap().len(), 15);
    assert!(listed.get("nextCursor").is_none());
}

#[test]
fn a_mode_that_the_bus_lacks_is_never_listed() {
    let definitions =
        json!({ "a": {}, "b": { "delivery": ["webhook", "push"] }, "c": { "delivery": ["poll"] } });
    let served = [Mode::Push].into_iter().collect();
    let catalogue = Catalogue::from_json(&definitions.to_string(), served).unwrap();
    let listed = list(&catalogue, None);
    assert_eq!(listed["events"][0]["delivery"], json!(["push"]));
    assert_eq!(listed["events"][1]["delivery"], json!(["push"]));
    assert_eq!(listed["events"].as_array().unwrap().len(), 2, "{listed}");
    assert!(catalogue.get("c").is_none() && catalogue.modes() == served);
}

#[test]
fn a_definition_that_is_not_valid_is_refused_with_its_code() {
    for (definitions, code) in [
        (json!([]), "malformed-events"),
        (json!({ "a": 1 }), "malformed-events"),
        (json!({ "a b": {} }), "invalid-event-name"),
        (json!({ "mcp.task.updated": {} }), "invalid-event-name"),
        (json!({ "a": { "description": 1 } }), "invalid-description"),
        (json!({ "a": { "delivery": [] } }), "invalid-delivery"),
        (json!({ "a": { "delivery": ["mail"] } }), "invalid-delivery"),
        (json!({ "a": { "inputSchema": true } }), "invalid-schema"),
        (json!({ "a": { "payloadSchema": [] } }), "invalid-schema"),
        (json!({ "a": { "match": "x" } }), "invalid-match"),
        (json!({ "a": { "match": { "b": "c" } } }), "invalid-match"),
        (json!({ "a": { "match": { "b": "/~2" } } }), "invalid-match"),
        (json!({ "a": { "_meta": 1 } }), "invalid-meta"),
    ] {
        assert_eq!(
            read(&definitions).unwrap_err().code(),
            code,
            "{definitions}"
        );
    }
    let twice = Catalogue::from_json(r#"{"a":{},"a":{}}"#, all()).unwrap_err();
    assert_eq!(twice, CatalogueError::Malformed);
}

#[test]
fn both_places_of_a_response_offer_events_with_the_same_settings() {
    let body = json!({
        "jsonrpc": "2.0", "id": 1,
        "result": { "capabilities": {
            "tools": {}, "events": { "old": 1 },
            "extensions": {
                "io.modelcontextprotocol/tasks": {},
                "io.modelcontextprotocol/events": { "old": 1 },
            },
        }, "serverInfo": { "name": "s" } },
    });
    for list_changed in [false, true] {
        let settings = if list_changed {
            json!({ "listChanged": true })
        } else {
            json!({})
        };
        let mut expected = body.clone();
        expected["result"]["capabilities"]["events"] = settings.clone();
        expected["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/events"] =
            settings;
        let text = body.to_string();
        for body in [text.clone(), format!("event: message\ndata: {text}\n\n")] {
            let offered = advertised(body.as_bytes(), capability(list_changed)).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&offered).unwrap(), expected);
        }
    }
}

#[test]
fn a_response_without_capabilities_offers_nothing() {
    for body in [
        "",
        "{}",
        r#"{"result":{}}"#,
        r#"{"error":{}}"#,
        r#"{"result":{"capabilities":1}}"#,
    ] {
        assert_eq!(advertised(body.as_bytes(), "{}"), None, "{body}");
    }
}

fn ended(old: &Value, new: &Value) -> Vec<(String, EventError)> {
    let ended = read(old).unwrap().ended_by(&read(new).unwrap());
    ended
        .into_iter()
        .map(|(name, error)| (name.to_string(), error))
        .collect()
}

fn schema_ended(side: &str, old: &Value, new: &Value) -> bool {
    let [old, new] = [old, new].map(|schema| json!({ "a": { side: schema } }));
    let ended = ended(&old, &new);
    if let [(_, error)] = &ended[..] {
        let expected =
            format!(r#"{{"unsupported":{{"feature":"{side}","reason":"schema_changed"}}}}"#);
        assert_eq!(error.to_json(), expected);
    }
    !ended.is_empty()
}

#[test]
fn a_removed_type_ends_its_subscriptions_as_not_found() {
    let removed = ended(&json!({ "a": {}, "b": {} }), &json!({ "b": {}, "c": {} }));
    assert_eq!(removed.len(), 1);
    assert_eq!(removed[0].0, "a");
    assert_eq!(removed[0].1.to_json(), r#"{"notFound":"event"}"#);
}

#[test]
fn an_addition_to_a_schema_ends_nothing() {
    let old =
        json!({ "type": "object", "properties": { "a": { "enum": [1, 2] } }, "required": ["a"] });
    let mut new = json!({
        "type": "object", "title": "T", "description": "D",
        "properties": { "a": { "enum": [3, 2, 1], "default": 1 }, "b": { "type": "string" } },
        "required": ["a"],
    });
    for side in ["inputSchema", "payloadSchema"] {
        assert!(!schema_ended(side, &old, &new) && !schema_ended(side, &old, &old));
    }
    new["required"] = json!(["a", "b"]);
    assert!(
        !schema_ended("payloadSchema", &old, &new),
        "more is promised"
    );
    new["required"] = json!([]);
    assert!(!schema_ended("inputSchema", &old, &new), "less is demanded");
}

#[test]
fn a_schema_that_breaks_subscriptions_ends_them() {
    let old = json!({
        "type": "object",
        "properties": { "a": { "type": "string" }, "b": { "enum": [1, 2] } },
        "required": ["a"],
    });
    for (pointer, value) in [
        ("/properties", json!({ "b": { "enum": [1, 2] } })),
        ("/properties/a/type", json!("number")),
        ("/properties/b/enum", json!([1])),
        ("/type", json!("array")),
    ] {
        let mut new = old.clone();
        *new.pointer_mut(pointer).unwrap() = value;
        for side in ["inputSchema", "payloadSchema"] {
            assert!(schema_ended(side, &old, &new), "{side} {new}");
        }
    }
    let mut new = old.clone();
    new["required"] = json!(["a", "b"]);
    assert!(schema_ended("inputSchema", &old, &new), "more is demanded");
    new["required"] = json!([]);
    assert!(
        schema_ended("payloadSchema", &old, &new),
        "less is promised"
    );
    let mut new = old.clone();
    new["additionalProperties"] = json!(false);
    assert!(
        schema_ended("inputSchema", &old, &new),
        "what is unknown is a break"
    );
}
