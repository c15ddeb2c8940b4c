//! Every JSON-RPC message that this crate writes; no other place writes one.

use alloc::{borrow::ToOwned, string::String};

use crate::{
    json,
    vocabulary::{
        error::{Reason, Rejection},
        event::ServerEvent,
        filter::SubscriptionFilter,
        id::RequestId,
        task,
    },
};

/// The protocol revision that `subscriptions/listen` belongs to.
pub const PROTOCOL_VERSION: &str = "2026-07-28";
/// The method that opens a subscription.
pub const LISTEN: &str = "subscriptions/listen";
/// The method that tells a server's capabilities.
pub const DISCOVER: &str = "server/discover";
/// The id under which we ask the server behind us, where it stands alone.
pub const DISCOVER_ID: &str = "mcp-listen:discover";
/// The method that opens a session of an earlier revision.
pub const INITIALIZE: &str = "initialize";
/// The method that says that a session is in use.
pub const INITIALIZED: &str = "notifications/initialized";
/// The method with which a session asks for the updates of a resource.
pub const SUBSCRIBE: &str = "resources/subscribe";
/// The method with which a session asks for them no longer.
pub const UNSUBSCRIBE: &str = "resources/unsubscribe";
/// The method that takes back a request.
pub const CANCELLED: &str = "notifications/cancelled";
/// The method of the first message of a subscription.
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// The method that tells that the list of tools changed.
pub const TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";
/// The method that tells that the list of prompts changed.
pub const PROMPTS_LIST_CHANGED: &str = "notifications/prompts/list_changed";
/// The method that tells that the list of resources changed.
pub const RESOURCES_LIST_CHANGED: &str = "notifications/resources/list_changed";
/// The method that tells that a resource changed.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// The method that tells the state of a task.
pub const TASK_STATUS: &str = "notifications/tasks";
/// Key in the `_meta` of a subscription's messages: the id of the listen request.
pub const META_SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
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
    let (before, after) = around(ACKNOWLEDGED, &format!(",\"notifications\":{filter}"));
    [&before, id.raw(), &after].concat()
}

/// The notification that tells the subscription `id` of `event`
/// (2026-07-28, Subscriptions: Receiving Notifications; SEP-2663, Task Status Notifications).
pub fn notification(id: &RequestId, event: &ServerEvent) -> String {
    let (before, after) = around_id(event);
    [&before, id.raw(), &after].concat()
}

/// What stands before and after the subscription's id in [`notification`]: for many subscriptions the rest is the same.
pub fn around_id(event: &ServerEvent) -> (String, String) {
    let params = params_of(event).map_or_else(String::new, |params| format!(",{params}"));
    around(method_of(event), &params)
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

/// The error that answers the request `id` of a server for what this client does not offer.
pub fn method_not_found(id: &RequestId) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"method not found"}}}}"#
    )
}

/// The result of the listen request `id`: its graceful end
/// (2026-07-28, Subscriptions: Graceful Closure). `server_info` is compact JSON.
pub fn listen_result(id: &RequestId, server_info: Option<&str>) -> String {
    let info = server_info.map_or_else(String::new, |info| {
        format!(",\"io.modelcontextprotocol/serverInfo\":{info}")
    });
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","_meta":{{"{META_SUBSCRIPTION_ID}":{id}{info}}}}}}}"#
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

/// The `server/discover` request `id` that asks the server behind us for its capabilities.
pub fn discover_request(id: &str) -> String {
    let mut id_text = String::new();
    json::push_string(&mut id_text, id);
    request(
        &id_text,
        DISCOVER,
        (PROTOCOL_VERSION, "{}", &own_info()),
        "",
    )
}

/// The `server/discover` request with which a client asks a server whether it speaks `version`;
/// `client_info` is compact JSON (2026-07-28, Discovery).
pub fn probe_request(id: &RequestId, version: &str, client_info: Option<&str>) -> String {
    let info = client_info.map_or_else(own_info, str::to_owned);
    request(id.raw(), DISCOVER, (version, "{}", &info), "")
}

/// The listen request with which a client opens the subscription `id`; it declares the extensions
/// that the filter needs, and `client_info` is compact JSON (2026-07-28, Subscriptions: Opening a Stream).
pub fn listen_request(
    id: &RequestId,
    filter: &SubscriptionFilter,
    client_info: Option<&str>,
) -> String {
    let info = client_info.map_or_else(own_info, str::to_owned);
    let capabilities = if filter.task_ids.is_empty() {
        "{}".to_owned()
    } else {
        format!(r#"{{"extensions":{{"{}":{{}}}}}}"#, task::EXTENSION)
    };
    let filter = format!(",\"notifications\":{}", filter.to_json());
    let meta = (PROTOCOL_VERSION, capabilities.as_str(), info.as_str());
    request(id.raw(), LISTEN, meta, &filter)
}

/// `notifications/cancelled`: a client gives up its request, or a server a subscription that it
/// can no longer serve (2026-07-28, Cancellation).
pub fn cancelled(id: &RequestId) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{CANCELLED}","params":{{"requestId":{id}}}}}"#)
}

/// The `initialize` request with which a client opens a session of `version`; `client_info` is
/// compact JSON (2025-11-25, Lifecycle: Initialization).
pub fn initialize_request(id: &RequestId, version: &str, client_info: Option<&str>) -> String {
    let info = client_info.map_or_else(own_info, str::to_owned);
    let mut params = String::from("\"protocolVersion\":");
    json::push_string(&mut params, version);
    params.push_str(",\"capabilities\":{},\"clientInfo\":");
    params.push_str(&info);
    plain_request(id, INITIALIZE, &params)
}

/// The notification with which a client begins to use its session (2025-11-25, Lifecycle: Initialization).
pub fn initialized() -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{INITIALIZED}"}}"#)
}

/// The request of a session, [`SUBSCRIBE`] or [`UNSUBSCRIBE`], that concerns the resource `uri`
/// (2025-11-25, Resources: Subscriptions).
pub fn resource_request(id: &RequestId, method: &str, uri: &str) -> String {
    let mut params = String::from("\"uri\":");
    json::push_string(&mut params, uri);
    plain_request(id, method, &params)
}

/// A request without the `_meta` of 2026-07-28; `params` are the members of its parameters.
fn plain_request(id: &RequestId, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
}

/// A request with what each says of its client: version, capabilities and name, the latter two
/// compact JSON (2026-07-28, Base protocol, Per-request fields).
fn request(
    id: &str,
    method: &str,
    (version, capabilities, info): (&str, &str, &str),
    params: &str,
) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{"{META_PROTOCOL_VERSION}":"{version}","{META_CLIENT_CAPABILITIES}":{capabilities},"{META_CLIENT_INFO}":{info}}}{params}}}}}"#
    )
}

fn own_info() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(r#"{{"name":"mcp-listen","version":"{version}"}}"#)
}

fn method_of(event: &ServerEvent) -> &'static str {
    match event {
        ServerEvent::ToolsListChanged => TOOLS_LIST_CHANGED,
        ServerEvent::PromptsListChanged => PROMPTS_LIST_CHANGED,
        ServerEvent::ResourcesListChanged => RESOURCES_LIST_CHANGED,
        ServerEvent::ResourceUpdated { .. } => RESOURCE_UPDATED,
        ServerEvent::TaskStatus { .. } => TASK_STATUS,
        ServerEvent::ForAudience { event, .. } => method_of(event),
        // No stream tells of it: it ends.
        ServerEvent::Revoked { .. } => "",
    }
}

/// The members of a notification's parameters, without the braces.
fn params_of(event: &ServerEvent) -> Option<String> {
    match event.change() {
        ServerEvent::ResourceUpdated { uri } => {
            let mut params = String::from("\"uri\":");
            json::push_string(&mut params, uri);
            Some(params)
        }
        ServerEvent::TaskStatus { task } => Some(task.members().to_owned()),
        _ => None,
    }
}

/// A stamped message, before and after the id.
fn around(method: &str, params: &str) -> (String, String) {
    let before = format!(
        r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"{META_SUBSCRIPTION_ID}":"#
    );
    (before, format!("}}{params}}}}}"))
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
