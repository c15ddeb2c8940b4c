use alloc::{borrow::ToOwned, string::String};

use crate::{
    json::{self, Node},
    message::{
        ACKNOWLEDGED, CANCELLED, EVENTS_LIST_CHANGED, META_SUBSCRIPTION_ID, PROMPTS_LIST_CHANGED,
        RESOURCE_UPDATED, RESOURCES_LIST_CHANGED, TASK_STATUS, TOOLS_LIST_CHANGED,
    },
    vocabulary::{
        event::ServerEvent, filter::SubscriptionFilter, id::RequestId, limits::Limits, task::Task,
        uri::Uri,
    },
};

/// A message from a server, as far as it concerns a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Incoming {
    /// The subscription is open with this filter.
    Acknowledged(SubscriptionFilter),
    /// Something changed.
    Changed(ServerEvent),
    /// The result of the listen request: its graceful end.
    Result,
    /// The server cancels the subscription.
    Cancelled,
    /// The listen request is refused.
    Refused {
        /// The JSON-RPC error code.
        code: i32,
        /// The server's message.
        text: String,
    },
    /// A response to the listen request that is neither a result nor an error.
    Invalid,
    /// An acknowledgment without a filter.
    MalformedAcknowledgment,
    /// Another notification of the subscription, without a required member.
    Malformed,
}

impl Incoming {
    /// Reads one message. Returns it with the id of the subscription that it names; `None` if it
    /// names none.
    pub fn read(message: &[u8], limits: &Limits) -> Option<(RequestId, Self)> {
        let document = json::read(message, limits.depth).ok()?;
        let root = &document.root;
        let Some(method) = root.get("method") else {
            let id = id_in(root.get("id"), limits)?;
            return Some((id, Self::from_response(root)));
        };
        if root.get("id").is_some() {
            return None;
        }
        let params = root.get("params")?;
        if method.as_str() == Some(CANCELLED) {
            return Some((id_in(params.get("requestId"), limits)?, Self::Cancelled));
        }
        let id = id_in(params.get("_meta")?.get(META_SUBSCRIPTION_ID), limits)?;
        Some((
            id,
            Self::from_notification(method.as_str()?, Some(params), limits)?,
        ))
    }

    /// Reads a notification of a session, which names no subscription (2025-11-25, Tools, Prompts,
    /// Resources).
    pub fn read_plain(message: &[u8], limits: &Limits) -> Option<Self> {
        let document = json::read(message, limits.depth).ok()?;
        let root = &document.root;
        let method = root.get("method")?.as_str()?;
        let is_ours = root.get("id").is_none() && ![ACKNOWLEDGED, TASK_STATUS].contains(&method);
        is_ours
            .then(|| Self::from_notification(method, root.get("params"), limits))
            .flatten()
    }

    /// Reads a notification; `None` for an unknown one, which may belong to another protocol.
    fn from_notification(method: &str, params: Option<&Node<'_>>, limits: &Limits) -> Option<Self> {
        let member = |name: &str| params.and_then(|params| params.get(name));
        let event = match method {
            ACKNOWLEDGED => {
                let filter = member("notifications");
                let filter =
                    filter.and_then(|node| SubscriptionFilter::from_node(node, limits).ok());
                return Some(filter.map_or(Self::MalformedAcknowledgment, Self::Acknowledged));
            }
            TOOLS_LIST_CHANGED => Some(ServerEvent::ToolsListChanged),
            PROMPTS_LIST_CHANGED => Some(ServerEvent::PromptsListChanged),
            RESOURCES_LIST_CHANGED => Some(ServerEvent::ResourcesListChanged),
            EVENTS_LIST_CHANGED => Some(ServerEvent::EventsListChanged),
            RESOURCE_UPDATED => {
                let uri = member("uri").and_then(Node::as_str);
                let uri = uri.and_then(|uri| Uri::new(uri, limits.uri_bytes).ok());
                uri.map(ServerEvent::of_resource)
            }
            TASK_STATUS => {
                let task = Task::from_node(params).ok();
                task.map(|task| ServerEvent::TaskStatus { task })
            }
            _ => return None,
        };
        Some(event.map_or(Self::Malformed, Self::Changed))
    }

    /// Reads a response. A result without `resultType` is complete (2026-07-28, Base protocol,
    /// Results).
    fn from_response(root: &Node<'_>) -> Self {
        let kind = root.get("result").map(|result| result.get("resultType"));
        match (kind, root.get("error")) {
            (Some(None), None) => Self::Result,
            (Some(Some(kind)), None) if kind.as_str() == Some("complete") => Self::Result,
            (None, Some(error)) => Self::Refused {
                code: error
                    .get("code")
                    .and_then(|code| code.raw.parse().ok())
                    .unwrap_or_default(),
                text: text_in(error),
            },
            _ => Self::Invalid,
        }
    }
}

fn id_in(node: Option<&Node<'_>>, limits: &Limits) -> Option<RequestId> {
    RequestId::from_node(node?, limits.id_bytes)
}

fn text_in(error: &Node<'_>) -> String {
    let text = error.get("message").and_then(Node::as_str);
    text.unwrap_or_default().to_owned()
}
