//! A stdio channel whose client speaks an earlier revision.

use mcp_listen::{
    capabilities::Capabilities,
    error::Reason,
    event::ServerEvent,
    filter::SubscriptionFilter,
    limits::Limits,
    message,
    stdio::{Channel, ChannelLimits, Input, SubscriptionHandle},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{updated, uri},
    request::body,
    wire::{assert_forwarded, assert_refused, cancel, publish, say, written},
};

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const AGREED: &str = r#"{"jsonrpc": "2.0","id":0,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},"serverInfo":{"name":"n","version":"1"}}}"#;

fn channel(known: Option<Capabilities>) -> Channel {
    let limits = Limits {
        uris: 2,
        ..Limits::default()
    };
    let bounds = ChannelLimits {
        line_bytes: 100_000,
        subscriptions: 1,
    };
    Channel::new(limits, bounds).with_capabilities(known)
}

/// Returns what the client gets for a line of the server.
fn receive(channel: &mut Channel, line: &str) -> Option<String> {
    let given = channel.handle_server_line(format!("{line}\n").into_bytes());
    given.map(|line| String::from_utf8(line).unwrap().trim_end().to_owned())
}

fn asking(method: &str, id: &str, uri: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"uri":"{uri}"}}}}"#)
}

fn done(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

fn unknown(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"?"}}}}"#)
}

fn plain(event: &ServerEvent) -> String {
    message::plain_notification(event)
}

/// Returns the only input that the channel passes to its host.
#[track_caller]
fn asked(channel: &mut Channel) -> (SubscriptionHandle, SubscriptionFilter) {
    match channel.poll_input() {
        Some(Input::Session {
            handle: number,
            requested,
        }) => (number, requested),
        other => panic!("{other:?}"),
    }
}

/// Registers everything in `asked`.
#[track_caller]
fn watch(channel: &mut Channel) -> SubscriptionHandle {
    let (number, _) = asked(channel);
    channel.open_session(number, None);
    number
}

/// Begins a session up to its lists, and returns their handle.
fn begun(channel: &mut Channel) -> SubscriptionHandle {
    assert_forwarded(channel, INITIALIZE);
    assert_eq!(receive(channel, AGREED).as_deref(), Some(AGREED));
    let initialized = Input::Forward(format!("{INITIALIZED}\n").into_bytes());
    channel.handle_bytes(format!("{INITIALIZED}\n").as_bytes());
    assert_eq!(channel.poll_input(), Some(initialized));
    watch(channel)
}

/// Subscribes to a resource of a server that has no such method.
fn subscribed(channel: &mut Channel, id: &str, uri: &str) -> SubscriptionHandle {
    assert_forwarded(channel, &asking("resources/subscribe", id, uri));
    assert_eq!(receive(channel, &unknown(id)), None);
    let number = watch(channel);
    assert_eq!(written(channel), [done(id)]);
    number
}

#[test]
fn advertised_lists_are_notified_without_an_id_once_the_client_is_ready() {
    let mut channel = channel(None);
    assert_forwarded(&mut channel, INITIALIZE);
    assert!(channel.awaits_responses());
    assert_eq!(receive(&mut channel, AGREED).as_deref(), Some(AGREED));
    assert!(!channel.awaits_responses());
    assert_eq!(channel.poll_input(), None);
    let inputs = say(&mut channel, INITIALIZED);
    assert!(matches!(
        inputs.as_slice(),
        [Input::Forward(_), Input::Session { .. }]
    ));
    let mut channel = self::channel(None);
    begun(&mut channel);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    publish(&mut channel, &ServerEvent::PromptsListChanged);
    publish(&mut channel, &updated("a"));
    assert_eq!(
        written(&mut channel),
        [r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#]
    );
    assert_forwarded(&mut channel, INITIALIZED);
}

#[test]
fn a_client_that_does_not_wait_for_the_initialize_response_is_served() {
    let mut channel = channel(None);
    assert_forwarded(&mut channel, INITIALIZE);
    assert_forwarded(&mut channel, INITIALIZED);
    assert_eq!(receive(&mut channel, AGREED).as_deref(), Some(AGREED));
    watch(&mut channel);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    assert_eq!(
        written(&mut channel),
        [plain(&ServerEvent::ToolsListChanged)]
    );
}

#[test]
fn known_capabilities_replace_those_of_the_server() {
    let known = Capabilities {
        prompts_list_changed: true,
        ..Capabilities::default()
    };
    let mut channel = channel(Some(known));
    assert_forwarded(&mut channel, INITIALIZE);
    assert_eq!(
        receive(&mut channel, AGREED).unwrap(),
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{},"prompts":{"listChanged":true},"resources":{}},"serverInfo":{"name":"n","version":"1"}}}"#
    );
    assert_forwarded(&mut channel, &asking("resources/subscribe", "1", "a"));
    assert!(!channel.awaits_responses());
    channel.handle_bytes(format!("{INITIALIZED}\n").as_bytes());
    channel.poll_input();
    assert!(asked(&mut channel).1.prompts_list_changed);
}

#[test]
fn a_failed_or_empty_initialize_opens_nothing() {
    for response in [
        r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":0,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#,
    ] {
        let mut channel = channel(None);
        assert_forwarded(&mut channel, INITIALIZE);
        assert_eq!(receive(&mut channel, response).as_deref(), Some(response));
        assert_forwarded(&mut channel, INITIALIZED);
        assert_forwarded(&mut channel, &asking("resources/subscribe", "1", "a"));
        assert!(!channel.awaits_responses());
    }
}

#[test]
fn a_subscribe_gets_its_response_once_accepted_before_its_updates() {
    let mut channel = channel(None);
    begun(&mut channel);
    assert_forwarded(&mut channel, &asking("resources/subscribe", "\"x\"", "a"));
    let own = r#"{"jsonrpc":"2.0", "id":"x","result":{"_meta":{}}}"#;
    assert_eq!(receive(&mut channel, own), None);
    assert_eq!(written(&mut channel), [""; 0]);
    let (number, requested) = asked(&mut channel);
    assert_eq!(requested.resource_subscriptions, [uri("a")]);
    channel.open_session(number, None);
    publish(&mut channel, &updated("a"));
    publish(&mut channel, &updated("a"));
    assert_eq!(written(&mut channel), [own, &plain(&updated("a"))]);
}

#[test]
fn subscribe_works_if_the_server_does_not_implement_it() {
    let mut channel = channel(None);
    begun(&mut channel);
    subscribed(&mut channel, "1", "a");
    publish(&mut channel, &updated("a"));
    assert_eq!(written(&mut channel), [plain(&updated("a"))]);
    assert_forwarded(&mut channel, &asking("resources/unsubscribe", "2", "a"));
    assert_eq!(channel.subscriptions(), 1);
    assert_eq!(receive(&mut channel, &unknown("2")), Some(done("2")));
    publish(&mut channel, &updated("a"));
    assert_eq!(written(&mut channel), [""; 0]);
    assert_forwarded(&mut channel, &asking("resources/unsubscribe", "3", "a"));
    assert_eq!(receive(&mut channel, &done("3")), Some(done("3")));
}

#[test]
fn a_subscribe_that_the_server_refuses_has_no_effect() {
    let mut channel = channel(None);
    begun(&mut channel);
    assert_forwarded(&mut channel, &asking("resources/subscribe", "1", "a"));
    let refusal = unknown("1").replace("-32601", "-32002");
    assert_eq!(receive(&mut channel, &refusal), Some(refusal));
    assert_eq!(channel.poll_input(), None);
    assert_eq!(channel.subscriptions(), 1);
}

#[test]
fn a_repeated_subscribe_gets_its_response_at_once_and_is_notified_once() {
    let mut channel = channel(None);
    begun(&mut channel);
    subscribed(&mut channel, "1", "a");
    assert_forwarded(&mut channel, &asking("resources/subscribe", "2", "a"));
    assert_eq!(receive(&mut channel, &unknown("2")), Some(done("2")));
    assert_eq!(channel.poll_input(), None);
    publish(&mut channel, &updated("a"));
    assert_eq!(written(&mut channel), [plain(&updated("a"))]);
}

#[test]
fn an_unsubscribe_cancels_a_pending_subscribe() {
    let mut channel = channel(None);
    begun(&mut channel);
    assert_forwarded(&mut channel, &asking("resources/subscribe", "1", "a"));
    assert_forwarded(&mut channel, &asking("resources/unsubscribe", "2", "a"));
    assert_eq!(receive(&mut channel, &unknown("1")), Some(done("1")));
    assert_eq!(receive(&mut channel, &unknown("2")), Some(done("2")));
    assert_forwarded(&mut channel, &asking("resources/subscribe", "3", "a"));
    assert_eq!(receive(&mut channel, &unknown("3")), None);
    let (number, _) = asked(&mut channel);
    say(&mut channel, &asking("resources/unsubscribe", "4", "a"));
    assert_eq!(written(&mut channel), [done("3")]);
    channel.open_session(number, None);
    assert_eq!(channel.subscriptions(), 1);
}

#[test]
fn a_cancelled_request_is_no_longer_awaited() {
    let mut channel = channel(None);
    begun(&mut channel);
    assert_forwarded(&mut channel, &asking("resources/subscribe", "1", "a"));
    assert_forwarded(&mut channel, &cancel("1"));
    assert!(!channel.awaits_responses());
}

#[test]
fn invalid_and_excess_uris_are_refused() {
    let mut channel = channel(None);
    begun(&mut channel);
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        assert_refused(&mut channel, &asking(method, "1", ""), -32_602, "1");
        assert_refused(&mut channel, &asking(method, "1", "a\\n"), -32_602, "1");
    }
    subscribed(&mut channel, "1", "a");
    assert_forwarded(&mut channel, &asking("resources/subscribe", "2", "b"));
    let one_more = asking("resources/subscribe", "3", "c");
    assert_refused(&mut channel, &one_more, -32_602, "3");
    assert_forwarded(&mut channel, &asking("resources/subscribe", "4", "a"));
}

#[test]
fn a_denied_resource_gets_a_response_but_no_notification() {
    let mut channel = channel(None);
    begun(&mut channel);
    assert_forwarded(&mut channel, &asking("resources/subscribe", "1", "a"));
    receive(&mut channel, &unknown("1"));
    let (number, _) = asked(&mut channel);
    let nothing = SubscriptionFilter::default();
    channel.open_session(number, Some(&nothing));
    assert_eq!(written(&mut channel), [done("1")]);
    assert_eq!(channel.subscriptions(), 1);
    assert_forwarded(&mut channel, &asking("resources/subscribe", "2", "a"));
    receive(&mut channel, &unknown("2"));
    let (number, _) = asked(&mut channel);
    channel.refuse(number, Reason::Forbidden);
    let responses = written(&mut channel);
    assert!(responses[0].starts_with(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32600"#));
}

#[test]
fn lists_that_are_opened_again_are_those_that_are_authorized_now() {
    let mut channel = channel(None);
    let number = begun(&mut channel);
    let nothing = SubscriptionFilter::default();
    channel.open_session(number, Some(&nothing));
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    assert_eq!(written(&mut channel), [""; 0]);
    channel.open_session(number, None);
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    assert_eq!(
        written(&mut channel),
        [plain(&ServerEvent::ToolsListChanged)]
    );
    assert_eq!(channel.subscriptions(), 1);
}

#[test]
fn nothing_is_notified_before_the_client_is_ready() {
    let mut channel = channel(None);
    assert_forwarded(&mut channel, INITIALIZE);
    receive(&mut channel, AGREED);
    subscribed(&mut channel, "1", "a");
    publish(&mut channel, &updated("a"));
    assert_eq!(written(&mut channel), [""; 0]);
    channel.handle_bytes(format!("{INITIALIZED}\n").as_bytes());
    channel.poll_input();
    assert_eq!(written(&mut channel), [plain(&updated("a"))]);
}

#[test]
fn a_gap_cues_everything_in_a_session() {
    let mut channel = channel(None);
    begun(&mut channel);
    subscribed(&mut channel, "1", "a");
    channel.handle_gap();
    let cues = [ServerEvent::ToolsListChanged, updated("a")].map(|event| plain(&event));
    assert_eq!(written(&mut channel), cues);
}

#[test]
fn a_closed_bus_is_reported_only_to_pending_requests() {
    let mut channel = channel(None);
    begun(&mut channel);
    subscribed(&mut channel, "1", "a");
    assert_forwarded(&mut channel, &asking("resources/subscribe", "2", "b"));
    receive(&mut channel, &unknown("2"));
    channel.handle_bus_closed();
    let responses = written(&mut channel);
    assert!(responses[0].starts_with(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603"#));
    assert_eq!(responses.len(), 1);
}

#[test]
fn close_sends_pending_cues_and_no_result() {
    let mut channel = channel(None);
    begun(&mut channel);
    subscribed(&mut channel, "1", "a");
    assert_forwarded(&mut channel, &asking("resources/subscribe", "2", "b"));
    receive(&mut channel, &unknown("2"));
    publish(&mut channel, &ServerEvent::ToolsListChanged);
    publish(&mut channel, &updated("a"));
    channel.close();
    let lines = written(&mut channel);
    assert!(lines[0].contains(r#""id":2,"error":{"code":-32603"#));
    assert!(lines[1..].contains(&plain(&ServerEvent::ToolsListChanged)));
    assert!(lines[1..].contains(&plain(&updated("a"))));
    assert_eq!((lines.len(), channel.subscriptions()), (3, 0));
}

#[test]
fn only_awaited_responses_are_changed() {
    let mut channel = channel(None);
    begun(&mut channel);
    assert_forwarded(&mut channel, &asking("resources/subscribe", "1", "a"));
    for line in [
        "garbage",
        "[]",
        &done("\"1\""),
        &done("2"),
        &plain(&ServerEvent::ToolsListChanged),
        r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32601}}"#,
    ] {
        assert_eq!(receive(&mut channel, line).as_deref(), Some(line));
        assert!(channel.awaits_responses(), "{line}");
    }
    let enveloped = body("5", "{}").replace("subscriptions/listen", "resources/subscribe");
    assert_forwarded(&mut channel, &enveloped);
    assert_eq!(receive(&mut channel, &unknown("5")), Some(unknown("5")));
}
