//! Every JSON-RPC message that this crate writes; no other place writes one.

use crate::{
    error::{Reason, Rejection},
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::RequestId,
    json,
};

/// The protocol revision that `subscriptions/listen` belongs to.
pub const PROTOCOL_VERSION: &str = "2026-07-28";
/// The method that opens a subscription.
pub const LISTEN: &str = "subscriptions/listen";
/// The method that tells a server's capabilities.
pub const DISCOVER: &str = "server/discover";
/// Key in a request's `_meta`: the protocol revision the client speaks.
pub const META_PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Key in a request's `_meta`: what the client is able to do.
pub const META_CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Key in a request's `_meta`: what the client is.
pub const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

/// `notifications/subscriptions/acknowledged`, the first message of a subscription
/// (2026-07-28, Subscriptions: Acknowledgment).
pub fn acknowledged(id: &RequestId, honored: &SubscriptionFilter) -> String {
    let filter = honored.to_json();
    stamped(
        "notifications/subscriptions/acknowledged",
        id,
        &format!(",\"notifications\":{filter}"),
    )
}

/// The notification that tells the subscription `id` of `event`
/// (2026-07-28, Subscriptions: Receiving Notifications; SEP-2663, Task Status Notifications).
pub fn notification(id: &RequestId, event: &ServerEvent) -> String {
    let params = params_of(event).map_or_else(String::new, |params| format!(",{params}"));
    stamped(method_of(event), id, &params)
}

/// The notification that tells a session of `event`: nothing of 2026-07-28 is on it
/// (2025-11-25, Tools, Prompts, Resources).
pub fn plain_notification(event: &ServerEvent) -> String {
    let params =
        params_of(event).map_or_else(String::new, |params| format!(",\"params\":{{{params}}}"));
    format!(
        r#"{{"jsonrpc":"2.0","method":"{}"{params}}}"#,
        method_of(event)
    )
}

/// The result of the request `id`; `result` is compact JSON.
pub fn result(id: &RequestId, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// The result of the listen request `id`: its graceful end
/// (2026-07-28, Subscriptions: Graceful Closure). `server_info` is compact JSON.
pub fn listen_result(id: &RequestId, server_info: Option<&str>) -> String {
    let info = server_info.map_or_else(String::new, |info| {
        format!(",\"io.modelcontextprotocol/serverInfo\":{info}")
    });
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","_meta":{{"{SUBSCRIPTION_ID}":{id}{info}}}}}}}"#
    )
}

/// The JSON-RPC error that answers a refused request; without an id where none could be read
/// (2026-07-28, Base protocol, Error Responses).
pub fn error(rejection: &Rejection) -> String {
    let reason = &rejection.reason;
    let id = rejection
        .id
        .as_ref()
        .map_or_else(String::new, |id| format!("\"id\":{id},"));
    let mut text = String::new();
    json::push_string(&mut text, reason.text());
    format!(
        r#"{{"jsonrpc":"2.0",{id}"error":{{"code":{},"message":{text}{}}}}}"#,
        reason.json_rpc_code(),
        error_data(reason)
    )
}

/// The `server/discover` request that asks the server behind us for its capabilities.
pub fn discover_request() -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"mcp-listen:discover","method":"{DISCOVER}","params":{{"_meta":{{"{META_PROTOCOL_VERSION}":"{PROTOCOL_VERSION}","{META_CLIENT_CAPABILITIES}":{{}},"{META_CLIENT_INFO}":{{"name":"mcp-listen","version":"{}"}}}}}}}}"#,
        env!("CARGO_PKG_VERSION")
    )
}

fn method_of(event: &ServerEvent) -> &'static str {
    match event {
        ServerEvent::ToolsListChanged => "notifications/tools/list_changed",
        ServerEvent::PromptsListChanged => "notifications/prompts/list_changed",
        ServerEvent::ResourcesListChanged => "notifications/resources/list_changed",
        ServerEvent::ResourceUpdated { .. } => "notifications/resources/updated",
        ServerEvent::TaskStatus { .. } => "notifications/tasks",
    }
}

/// The members of a notification's parameters, without the braces.
fn params_of(event: &ServerEvent) -> Option<String> {
    match event {
        ServerEvent::ResourceUpdated { uri } => {
            let mut params = String::from("\"uri\":");
            json::push_string(&mut params, uri);
            Some(params)
        }
        ServerEvent::TaskStatus { task } => Some(task.members().to_owned()),
        _ => None,
    }
}

fn stamped(method: &str, id: &RequestId, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"{SUBSCRIPTION_ID}":{id}}}{params}}}}}"#
    )
}

fn error_data(reason: &Reason) -> String {
    match reason {
        Reason::UnsupportedVersion { requested } => {
            let mut data = format!(r#","data":{{"supported":["{PROTOCOL_VERSION}"],"requested":"#);
            json::push_string(&mut data, requested);
            data.push('}');
            data
        }
        Reason::MissingExtension(name) => {
            format!(r#","data":{{"requiredCapabilities":{{"extensions":{{"{name}":{{}}}}}}}}"#)
        }
        Reason::LimitExceeded { limit, .. } => format!(r#","data":{{"limit":{limit}}}"#),
        _ => String::new(),
    }
}

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
