use mcp_listen::{
    capabilities::{Capabilities, Discovered},
    clock::Millis,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const RESPONSE: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true,"listChanged":false},"extensions":{"io.modelcontextprotocol/tasks":{}},"experimental":{"x":[{}]}},"_meta":{"io.modelcontextprotocol/serverInfo":{ "name":"n",
 "version":"1" }}}}"#;

#[test]
fn a_response_gives_capabilities_and_server_info() {
    let discovered = Discovered {
        capabilities: Capabilities {
            tools_list_changed: true,
            resources_subscribe: true,
            tasks: true,
            ..Capabilities::default()
        },
        server_info: Some(r#"{"name":"n","version":"1"}"#.into()),
        fresh_until: Some(Millis(7)),
        is_public: false,
    };
    assert_eq!(
        Discovered::from_response(RESPONSE.as_bytes(), Millis(7)),
        Some(discovered.clone())
    );
    let stream = format!(
        ": x\n\nevent: message\ndata: {}\n\n",
        RESPONSE.replace('\n', "")
    );
    assert_eq!(
        Discovered::from_response(stream.as_bytes(), Millis(7)),
        Some(discovered)
    );
}

#[test]
fn an_extension_is_declared_by_an_object_under_its_name() {
    for (extensions, tasks) in [
        (r#"{"io.modelcontextprotocol/tasks":{"x":1}}"#, true),
        (r#"{"io.modelcontextprotocol/tasks":true}"#, false),
        (r#"{"io.modelcontextprotocol/tasks":null}"#, false),
        (r#"{"io.modelcontextprotocol/Tasks":{}}"#, false),
        ("[]", false),
    ] {
        let body = format!(r#"{{"result":{{"capabilities":{{"extensions":{extensions}}}}}}}"#);
        let discovered = Discovered::from_response(body.as_bytes(), Millis(0)).unwrap();
        assert_eq!(discovered.capabilities.tasks, tasks, "{extensions}");
    }
}

#[test]
fn changes_of_event_types_are_offered_by_the_extension_alone() {
    for (capabilities, is_offered) in [
        (
            r#"{"extensions":{"io.modelcontextprotocol/events":{"listChanged":true}}}"#,
            true,
        ),
        (
            r#"{"extensions":{"io.modelcontextprotocol/events":{}}}"#,
            false,
        ),
        (
            r#"{"extensions":{"io.modelcontextprotocol/events":{"listChanged":1}}}"#,
            false,
        ),
        (r#"{"events":{"listChanged":true}}"#, false),
    ] {
        let offered = Capabilities::from_json(capabilities).events_list_changed;
        assert_eq!(offered, is_offered, "{capabilities}");
    }
}

#[test]
fn a_response_without_capabilities_is_none() {
    for body in [
        "",
        "x",
        "{}",
        r#"{"error":{"code":-32601}}"#,
        r#"{"result":{}}"#,
        "data: {}\n\n",
    ] {
        assert_eq!(
            Discovered::from_response(body.as_bytes(), Millis(0)),
            None,
            "{body}"
        );
    }
}

#[test]
fn a_response_is_fresh_for_its_ttl_but_at_most_an_hour() {
    for (ttl, fresh_ms) in [
        ("0", 0),
        ("1", 1),
        ("60000", 60_000),
        ("86400000", 3_600_000),
        ("-1", 0),
        ("1.5", 0),
        ("null", 0),
        ("\"60000\"", 0),
        ("99999999999999999999", 0),
    ] {
        let response = format!(r#"{{"result":{{"capabilities":{{}},"ttlMs":{ttl}}}}}"#);
        let discovered = Discovered::from_response(response.as_bytes(), Millis(5)).unwrap();
        assert!(!discovered.is_fresh(Millis(5 + fresh_ms)), "{ttl}");
        assert!(discovered.is_fresh(Millis(4 + fresh_ms)), "{ttl}");
        assert!(!discovered.is_public);
    }
}

#[test]
fn a_response_is_shared_only_if_its_scope_is_public() {
    for (scope, is_public) in [("\"public\"", true), ("\"private\"", false), ("1", false)] {
        let response = format!(r#"{{"result":{{"capabilities":{{}},"cacheScope":{scope}}}}}"#);
        let discovered = Discovered::from_response(response.as_bytes(), Millis(0)).unwrap();
        assert_eq!(discovered.is_public, is_public);
    }
}
