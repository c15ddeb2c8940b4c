use mcp_listen::{capabilities::Capabilities, filter::SubscriptionFilter};

use crate::key::Key;

/// The kind of request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    Listen,
    Initialize,
    Initialized,
    Ping,
    Subscribe(Key),
    Unsubscribe(Key),
    Open,
    End,
}

/// An HTTP request: its method, its header fields as lines, and its body.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl Request {
    /// A listen with this JSON-RPC id.
    pub(crate) fn listen(raw_id: &str, filter: &SubscriptionFilter) -> Self {
        let filter = filter.to_json();
        let params = format!(r#"{{{META},"notifications":{filter}}}"#);
        let method = "subscriptions/listen";
        let mut request = Self::post(method, Some(raw_id), &params);
        request
            .headers
            .push_str("\nmcp-protocol-version: 2026-07-28\nmcp-method: subscriptions/listen");
        request
    }

    /// A request of an earlier revision, in this session.
    pub(crate) fn of_session(asks: Asks, session: Option<&str>, last_id: Option<&str>) -> Self {
        let uri = |key: Key| format!(r#"{{"uri":"{}"}}"#, key.name());
        let mut request = match asks {
            Asks::Initialize | Asks::Listen => Self::post("initialize", Some("1"), INITIALIZE),
            Asks::Initialized => Self::post("notifications/initialized", None, "{}"),
            Asks::Ping => Self::post("ping", Some("2"), "{}"),
            Asks::Subscribe(key) => Self::post("resources/subscribe", Some("3"), &uri(key)),
            Asks::Unsubscribe(key) => Self::post("resources/unsubscribe", Some("4"), &uri(key)),
            Asks::Open => Self::bare("GET"),
            Asks::End => Self::bare("DELETE"),
        };
        if let Some(session) = session {
            let field = format!("\nmcp-session-id: {session}\nmcp-protocol-version: 2025-11-25");
            request.headers.push_str(&field);
        }
        if let Some(last_id) = last_id {
            let field = format!("\nlast-event-id: {last_id}");
            request.headers.push_str(&field);
        }
        request
    }

    fn bare(method: &'static str) -> Self {
        Self {
            method,
            headers: "host: mcp.example\naccept: text/event-stream".to_owned(),
            body: String::new(),
        }
    }

    fn post(method: &str, id: Option<&str>, params: &str) -> Self {
        let id = id.map_or_else(String::new, |id| format!(r#""id":{id},"#));
        Self {
            method: "POST",
            headers: POST.to_owned(),
            body: format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{params}}}"#),
        }
    }
}

/// The reply of the upstream server to `initialize`.
pub(crate) fn initialize_result(capabilities: Capabilities) -> String {
    let capabilities = capabilities.to_json();
    let result = format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
}

pub(crate) const URL: &str = "https://mcp.example/mcp";
const POST: &str = "host: mcp.example\ncontent-type: application/json\n\
    accept: application/json, text/event-stream";
const INITIALIZE: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
