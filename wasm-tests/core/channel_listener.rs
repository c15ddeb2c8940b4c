//! One subscription on a message channel, to a server of any revision.

use mcp_listen::{
    capabilities::Capabilities,
    client::{
        CloseReason, HttpAction, Listener, Loss, ServerHint, SubscriptionOptions,
        SubscriptionOutput,
    },
    clock::Millis,
    event::ServerEvent,
    id::{Ids, RequestId},
    message,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{any::updated, subscription::watched};

const TOOLS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

const ASKED: ServerHint = ServerHint::Discover { is_page: false };

fn joined(hint: ServerHint) -> Listener {
    let ids = Ids::default();
    Listener::on_channel(
        watched(&["a"]),
        SubscriptionOptions::default(),
        hint,
        ids,
        Millis(0),
    )
}

fn sent(listener: &mut Listener) -> Vec<String> {
    let transfers = std::iter::from_fn(|| listener.poll_action());
    let messages = transfers.filter_map(|transfer| match transfer {
        HttpAction::Send(_, request) => request.body,
        _ => None,
    });
    messages.collect()
}

fn reported(listener: &mut Listener) -> Vec<SubscriptionOutput> {
    std::iter::from_fn(|| listener.poll_output()).collect()
}

fn say(listener: &mut Listener, message: &str) -> bool {
    listener.handle_message(message.as_bytes(), Millis(0))
}

fn id(number: u64) -> RequestId {
    RequestId::from_text(&format!("mcp-listen:{number}"))
}

fn open() -> Listener {
    let mut listener = joined(ServerHint::Modern);
    assert!(sent(&mut listener)[0].contains("subscriptions/listen"));
    let honored = watched(&["a"]);
    assert!(say(&mut listener, &message::acknowledged(&id(1), &honored)));
    assert_eq!(
        reported(&mut listener),
        [SubscriptionOutput::Acknowledged(honored)]
    );
    listener
}

#[test]
fn a_server_on_a_channel_is_probed_first() {
    let mut listener = joined(ASKED);
    let first = sent(&mut listener);
    assert_eq!(first.len(), 1, "{first:?}");
    assert!(first[0].contains("server/discover"));
    let response = r#"{"id":"mcp-listen:1","result":{"supportedVersions":["2026-07-28"]}}"#;
    assert!(say(&mut listener, response));
    assert!(sent(&mut listener)[0].contains("subscriptions/listen"));
    assert_eq!(listener.version(), Some("2026-07-28"));
}

#[test]
fn a_server_that_does_not_respond_to_discover_gets_a_session() {
    let mut listener = joined(ASKED);
    sent(&mut listener);
    let deadline = listener.poll_timeout().unwrap();
    assert_eq!(deadline, Millis(5_000));
    listener.handle_timeout(deadline);
    assert!(sent(&mut listener)[0].contains("\"initialize\""));
    let response = r#"{"id":"mcp-listen:2","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}}}}"#;
    assert!(say(&mut listener, response));
    let messages = sent(&mut listener);
    assert!(messages[0].contains("notifications/initialized"));
    assert!(messages[1].contains("resources/subscribe"));
    assert_eq!(listener.version(), Some("2025-06-18"));
}

#[test]
fn a_session_begun_by_another_component_is_joined() {
    let mut listener = joined(ServerHint::Joined(Capabilities::ALL));
    assert!(sent(&mut listener)[0].contains("resources/subscribe"));
    assert!(!say(&mut listener, TOOLS), "changes are everybody's");
    assert_eq!(
        reported(&mut listener),
        [],
        "nothing before the acknowledgment"
    );
    assert!(say(&mut listener, r#"{"id":"mcp-listen:1","result":{}}"#));
    let changed = SubscriptionOutput::Changed(ServerEvent::ToolsListChanged);
    let acknowledged = SubscriptionOutput::Acknowledged(watched(&["a"]));
    assert_eq!(reported(&mut listener), [acknowledged, changed]);
    assert!(!say(&mut listener, r#"{"id":5,"method":"ping"}"#));
    assert!(sent(&mut listener).is_empty(), "its owner responds");
    listener.cancel();
    assert!(sent(&mut listener)[0].contains("resources/unsubscribe"));
}

#[test]
fn in_its_own_session_the_client_responds_to_server_requests() {
    let mut listener = joined(ServerHint::Legacy);
    sent(&mut listener);
    let response = r#"{"id":"mcp-listen:1","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}}}}"#;
    say(&mut listener, response);
    sent(&mut listener);
    say(&mut listener, r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#);
    assert_eq!(
        sent(&mut listener),
        [r#"{"jsonrpc":"2.0","id":5,"result":{}}"#]
    );
}

#[test]
fn messages_for_other_components_are_ignored() {
    let mut listener = open();
    assert!(!say(&mut listener, r#"{"id":1,"result":{}}"#));
    assert!(!say(&mut listener, TOOLS));
    let other = message::notification(&id(9), &ServerEvent::ToolsListChanged);
    assert!(!say(&mut listener, &other));
    let own = message::notification(&id(1), &updated("a"));
    assert!(say(&mut listener, &own));
    assert_eq!(
        reported(&mut listener),
        [SubscriptionOutput::Changed(updated("a"))]
    );
}

#[test]
fn leaving_a_channel_sends_a_cancellation() {
    let mut listener = open();
    listener.cancel();
    assert_eq!(sent(&mut listener), [message::cancelled(&id(1))]);
    assert!(listener.is_ended());
    let own = message::notification(&id(1), &updated("a"));
    assert!(
        !say(&mut listener, &own),
        "a late response belongs to no request"
    );
    assert_eq!(reported(&mut listener), []);
    listener.cancel();
    assert!(
        sent(&mut listener).is_empty(),
        "only what is open is cancelled"
    );
}

#[test]
fn an_unacknowledged_subscription_is_cancelled() {
    let mut listener = joined(ServerHint::Modern);
    sent(&mut listener);
    listener.handle_timeout(Millis(30_000));
    assert_eq!(sent(&mut listener), [message::cancelled(&id(1))]);
    let lost = SubscriptionOutput::Ended(CloseReason::Lost(Loss::NotAcknowledged));
    assert_eq!(reported(&mut listener), [lost]);
}

#[test]
fn a_lost_message_reports_everything_and_an_exit_is_a_loss() {
    let mut listener = open();
    listener.handle_gap();
    let changes = [ServerEvent::ToolsListChanged, updated("a")];
    assert_eq!(
        reported(&mut listener),
        changes.map(SubscriptionOutput::Changed)
    );
    listener.handle_exit();
    let lost = SubscriptionOutput::Ended(CloseReason::Lost(Loss::Disconnected));
    assert_eq!(reported(&mut listener), [lost]);
    listener.handle_exit();
    assert_eq!(reported(&mut listener), [], "an end is reported once");
}
