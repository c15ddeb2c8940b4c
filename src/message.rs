//! Every JSON-RPC message that this crate writes, but for those of events.

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
/// The method that returns a server's capabilities.
pub const DISCOVER: &str = "server/discover";
/// The request id with which the MCP server is asked for its capabilities, if it is asked on
/// its own.
pub const DISCOVER_ID: &str = "mcp-listen:discover";
/// The method that opens a session of an earlier revision.
pub const INITIALIZE: &str = "initialize";
/// The method that confirms that a session is in use.
pub const INITIALIZED: &str = "notifications/initialized";
/// The method with which a session subscribes to a resource.
pub const SUBSCRIBE: &str = "resources/subscribe";
/// The method with which a session unsubscribes from a resource.
pub const UNSUBSCRIBE: &str = "resources/unsubscribe";
/// The method that cancels a request.
pub const CANCELLED: &str = "notifications/cancelled";
/// The method of the first message of a subscription.
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// The method that notifies of a changed list of tools.
pub const TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";
/// The method that notifies of a changed list of prompts.
pub const PROMPTS_LIST_CHANGED: &str = "notifications/prompts/list_changed";
/// The method that notifies of a changed list of resources.
pub const RESOURCES_LIST_CHANGED: &str = "notifications/resources/list_changed";
/// The method that notifies of a changed list of event types.
pub const EVENTS_LIST_CHANGED: &str = "notifications/events/list_changed";
/// The method that notifies of a changed resource.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// The method that notifies of the state of a task.
pub const TASK_STATUS: &str = "notifications/tasks";
/// Key in the `_meta` of a subscription's messages: the id of the listen request.
pub const META_SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Key in a request's `_meta`: the client's protocol revision.
pub const META_PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Key in a request's `_meta`: the client's capabilities.
pub const META_CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Key in a request's `_meta`: the client's name and version.
pub const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

/// Returns `notifications/subscriptions/acknowledged`, the first message of a subscription
/// (2026-07-28, Subscriptions: Acknowledgment).
pub fn acknowledged(id: &RequestId, honored: &SubscriptionFilter) -> String {
    let filter = honored.to_json();
    let (before, after) = around(ACKNOWLEDGED, &format!(",\"notifications\":{filter}"));
    [&before, id.raw(), &after].concat()
}

/// Returns the notification of `event` for the subscription `id` (2026-07-28, Subscriptions:
/// Receiving Notifications; SEP-2663, Task Status Notifications).
pub fn notification(id: &RequestId, event: &ServerEvent) -> String {
    let (before, after) = around_id(event);
    [&before, id.raw(), &after].concat()
}

/// Returns what precedes and follows the subscription's id in [`notification`]: it is the same for
/// every subscription.
pub fn around_id(event: &ServerEvent) -> (String, String) {
    let params = params_of(event).map_or_else(String::new, |params| format!(",{params}"));
    around(method_of(event), &params)
}

/// Returns the notification of `event` for a session, without any member of 2026-07-28 (2025-11-25,
/// Tools, Prompts, Resources).
pub fn plain_notification(event: &ServerEvent) -> String {
    let params =
        params_of(event).map_or_else(String::new, |params| format!(",\"params\":{{{params}}}"));
    format!(
        r#"{{"jsonrpc":"2.0","method":"{}"{params}}}"#,
        method_of(event)
    )
}

/// Returns the response to the request `id`; `result` is compact JSON.
pub fn result(id: &RequestId, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// Returns the error response to the server's request `id` for a method that this client does not
/// offer.
pub fn method_not_found(id: &RequestId) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"method not found"}}}}"#
    )
}

/// Returns the response to the listen request `id`, which ends it gracefully (2026-07-28,
/// Subscriptions: Graceful Closure). `server_info` is compact JSON.
pub fn listen_result(id: &RequestId, server_info: Option<&str>) -> String {
    let info = server_info.map_or_else(String::new, |info| {
        format!(",\"io.modelcontextprotocol/serverInfo\":{info}")
    });
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\",\
         \"_meta\":{{\"{META_SUBSCRIPTION_ID}\":{id}{info}}}}}}}"
    )
}

/// Returns the JSON-RPC error response to a rejected request; without an id if none could be read
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

/// Returns the `server/discover` request with which the MCP server is asked for its
/// capabilities.
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

/// Returns the `server/discover` request with which a client asks a server whether it speaks
/// `version`; `client_info` is compact JSON (2026-07-28, Discovery).
pub fn probe_request(id: &RequestId, version: &str, client_info: Option<&str>) -> String {
    let info = client_info.map_or_else(own_info, str::to_owned);
    request(id.raw(), DISCOVER, (version, "{}", &info), "")
}

/// Returns the listen request with which a client opens the subscription `id`. It declares the
/// extensions that the filter requires; `client_info` is compact JSON (2026-07-28, Subscriptions:
/// Opening a Stream).
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

/// Returns `notifications/cancelled`, with which a client cancels its request, or a server a
/// subscription that it can no longer serve (2026-07-28, Cancellation).
pub fn cancelled(id: &RequestId) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{CANCELLED}","params":{{"requestId":{id}}}}}"#)
}

/// Returns the `initialize` request with which a client opens a session of `version`; `client_info`
/// is compact JSON (2025-11-25, Lifecycle: Initialization).
pub fn initialize_request(id: &RequestId, version: &str, client_info: Option<&str>) -> String {
    let info = client_info.map_or_else(own_info, str::to_owned);
    let mut params = String::from("\"protocolVersion\":");
    json::push_string(&mut params, version);
    params.push_str(",\"capabilities\":{},\"clientInfo\":");
    params.push_str(&info);
    plain_request(id, INITIALIZE, &params)
}

/// Returns the notification with which a client starts to use its session (2025-11-25, Lifecycle:
/// Initialization).
pub fn initialized() -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{INITIALIZED}"}}"#)
}

/// Returns a session's request, [`SUBSCRIBE`] or [`UNSUBSCRIBE`], for the resource `uri`
/// (2025-11-25, Resources: Subscriptions).
pub fn resource_request(id: &RequestId, method: &str, uri: &str) -> String {
    let mut params = String::from("\"uri\":");
    json::push_string(&mut params, uri);
    plain_request(id, method, &params)
}

/// Returns a request without the `_meta` of 2026-07-28; `params` are the members of its parameters.
fn plain_request(id: &RequestId, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
}

/// Returns a request with its `_meta`: version, capabilities and client info, the latter two
/// compact JSON (2026-07-28, Base protocol, Per-request fields).
fn request(
    id: &str,
    method: &str,
    (version, capabilities, info): (&str, &str, &str),
    params: &str,
) -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{"#,
            r#""{v}":"{version}","{c}":{capabilities},"{i}":{info}}}{params}}}}}"#
        ),
        v = META_PROTOCOL_VERSION,
        c = META_CLIENT_CAPABILITIES,
        i = META_CLIENT_INFO,
        id = id,
        method = method,
        version = version,
        capabilities = capabilities,
        info = info,
        params = params,
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
        ServerEvent::EventsListChanged => EVENTS_LIST_CHANGED,
        ServerEvent::ResourceUpdated { .. } => RESOURCE_UPDATED,
        ServerEvent::TaskStatus { .. } => TASK_STATUS,
        ServerEvent::ForGroup { event, .. } => method_of(event),
        // A disconnect is never sent: it ends the stream.
        ServerEvent::Disconnect { .. } => "",
    }
}

/// Returns the members of a notification's parameters, without the braces.
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

/// Returns a message with a subscription id, as the text before and after the id.
pub(crate) fn around(method: &str, params: &str) -> (String, String) {
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
