//! The body that a publisher posts: one event, or several that belong together.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use crate::{
    json::{self, Document, Node},
    message,
    vocabulary::{
        event::{ServerEvent, ServerEventError},
        limits::Limits,
        scope::Name,
        task,
    },
};

/// The events that were posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// At least one event, in order.
    pub events: Vec<ServerEvent>,
    /// Whether the body was an array.
    pub is_array: bool,
}

/// Why a body contains no valid events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PublishError {
    /// Not JSON in UTF-8, or an object with a duplicate key.
    Malformed,
    /// An empty array.
    Empty,
    /// The event at this index, counted from 0, is not valid.
    Event(usize, ServerEventError),
}

/// Reads the body of a publish: an event, or a non-empty array of events. An event is written as a
/// [`ServerEvent`], as its notification, or with the name of its class in the official Python SDK.
/// Either may have a `group` member. A disconnect is refused: the right to publish changes does
/// not include the right to end the streams of callers.
///
/// # Errors
/// A [`PublishError`] for the first event that is not valid.
pub fn events(body: &[u8]) -> Result<Posted, PublishError> {
    let document =
        json::read(body, Limits::default().depth).map_err(|_| PublishError::Malformed)?;
    let (nodes, is_array) = parts(&document)?;
    let events = nodes.into_iter().enumerate();
    let events = events
        .map(|(place, node)| event(node).map_err(|error| PublishError::Event(place, error)))
        .collect::<Result<_, _>>()?;
    Ok(Posted { events, is_array })
}

/// Returns the events of a body, at least one, and whether it is an array.
pub(crate) fn parts<'n, 'a>(
    document: &'n Document<'a>,
) -> Result<(Vec<&'n Node<'a>>, bool), PublishError> {
    if document.has_duplicate_key {
        return Err(PublishError::Malformed);
    }
    let several = document.root.as_array();
    let nodes = several.map_or_else(|| vec![&document.root], |nodes| nodes.iter().collect());
    if nodes.is_empty() {
        return Err(PublishError::Empty);
    }
    Ok((nodes, several.is_some()))
}

pub(crate) fn event(node: &Node<'_>) -> Result<ServerEvent, ServerEventError> {
    match (read(node)?, node.get("group")) {
        (ServerEvent::Disconnect { .. }, _) => Err(ServerEventError::Disconnect),
        (event @ ServerEvent::ForGroup { .. }, _) | (event, None) => Ok(event),
        (change, Some(group)) => Ok(ServerEvent::ForGroup {
            group: Name::from_node(group).ok_or(ServerEventError::Group)?,
            event: Box::new(change),
        }),
    }
}

fn read(node: &Node<'_>) -> Result<ServerEvent, ServerEventError> {
    let method = node.get("method").and_then(Node::as_str);
    let (name, params) = match method {
        Some(method) => (method, node.get("params")),
        None => (
            node.get("kind").and_then(Node::as_str).unwrap_or_default(),
            Some(node),
        ),
    };
    match name {
        message::TOOLS_LIST_CHANGED | "ToolsListChanged" => Ok(ServerEvent::ToolsListChanged),
        message::PROMPTS_LIST_CHANGED | "PromptsListChanged" => Ok(ServerEvent::PromptsListChanged),
        message::RESOURCES_LIST_CHANGED | "ResourcesListChanged" => {
            Ok(ServerEvent::ResourcesListChanged)
        }
        message::EVENTS_LIST_CHANGED => Ok(ServerEvent::EventsListChanged),
        message::RESOURCE_UPDATED | "ResourceUpdated" => {
            ServerEvent::updated(params.and_then(|params| params.get("uri")))
        }
        message::TASK_STATUS => task::Task::from_node(params)
            .map(|task| ServerEvent::TaskStatus { task })
            .map_err(ServerEventError::Task),
        _ if method.is_some() => Err(ServerEventError::UnknownKind),
        _ => ServerEvent::from_node(node),
    }
}

impl PublishError {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed-body",
            Self::Empty => "no-events",
            Self::Event(_, error) => error.code(),
        }
    }

    /// Returns the index of the invalid event, counted from 0.
    pub fn index(self) -> Option<usize> {
        match self {
            Self::Event(place, _) => Some(place),
            Self::Malformed | Self::Empty => None,
        }
    }
}

impl fmt::Display for PublishError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => formatter.write_str("the body is not JSON in UTF-8"),
            Self::Empty => formatter.write_str("the body holds no events"),
            Self::Event(_, error) => error.fmt(formatter),
        }
    }
}

impl core::error::Error for PublishError {}
