//! The stdio channel of a server, and its lines exactly as written.

use mcp_listen::{
    capabilities::{Capabilities, Discovered},
    event::ServerEvent,
    limits::Limits,
    stdio::{Channel, ChannelLimits, Input, SubscriptionHandle},
};

use crate::request::body;

pub(crate) const PROMPTS: &str = r#"{"promptsListChanged":true}"#;
pub(crate) const TOOLS: &str = r#"{"toolsListChanged":true}"#;

pub(crate) fn channel() -> Channel {
    let bounds = ChannelLimits {
        line_bytes: 100_000,
        subscriptions: 3,
    };
    Channel::new(Limits::default(), bounds)
}

pub(crate) fn discovered() -> Discovered {
    Discovered {
        capabilities: Capabilities::ALL,
        server_info: None,
        fresh_until: None,
        is_public: true,
    }
}

pub(crate) fn written(channel: &mut Channel) -> Vec<String> {
    let lines = std::iter::from_fn(|| channel.poll_line());
    lines
        .map(|line| line.strip_suffix('\n').unwrap().to_owned())
        .collect()
}

pub(crate) fn say(channel: &mut Channel, line: &str) -> Vec<Input> {
    channel.handle_bytes(format!("{line}\n").as_bytes());
    std::iter::from_fn(|| channel.poll_input()).collect()
}

#[track_caller]
pub(crate) fn assert_forwarded(channel: &mut Channel, line: &str) {
    let forwarded = Input::Forward(format!("{line}\n").into_bytes());
    assert_eq!(say(channel, line), [forwarded], "{line}");
    assert_eq!(written(channel), [""; 0], "{line}");
}

#[track_caller]
pub(crate) fn assert_refused(channel: &mut Channel, line: &str, code: i32, id: &str) {
    assert_eq!(say(channel, line), [], "{line}");
    let responses = written(channel);
    let [response] = responses.as_slice() else {
        panic!("{line} gets {responses:?}");
    };
    let id = if id.is_empty() {
        String::new()
    } else {
        format!("\"id\":{id},")
    };
    let start = format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":{code},"#);
    assert!(response.starts_with(&start), "{line} gets {response}");
}

pub(crate) fn request(channel: &mut Channel, id: &str, filter: &str) -> SubscriptionHandle {
    let inputs = say(channel, &body(id, filter));
    let [Input::Listen { handle: number, .. }] = inputs.as_slice() else {
        panic!("{inputs:?} is no listen request");
    };
    *number
}

/// Opens a subscription and takes its acknowledgment.
pub(crate) fn open(channel: &mut Channel, id: &str, filter: &str) -> SubscriptionHandle {
    let number = request(channel, id, filter);
    channel.open(number, &discovered(), None);
    assert_eq!(written(channel), [ack(id, filter)]);
    number
}

pub(crate) fn publish(channel: &mut Channel, event: &ServerEvent) {
    channel.handle_events(vec![event.clone()]);
}

pub(crate) fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

pub(crate) fn meta(id: &str) -> String {
    format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#)
}

pub(crate) fn ack(id: &str, honored: &str) -> String {
    let meta = meta(id);
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{{meta},"notifications":{honored}}}}}"#
    )
}

pub(crate) fn tools_changed(id: &str) -> String {
    let meta = meta(id);
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{{meta}}}}}"#
    )
}

pub(crate) fn result(id: &str) -> String {
    let meta = meta(id);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete",{meta}}}}}"#)
}
