//! The body that a publisher posts to a bus that keeps occurrences.

use alloc::{string::String, vec::Vec};
use core::fmt;

use crate::{
    json::{self, Node},
    publish::{self, PublishError},
};

use super::occurrence::{Draft, MAX_DEPTH, OccurrenceError};

/// The changes and occurrences that were posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedEvents {
    /// At least one, in order, each as compact JSON; an occurrence has the kind `event`.
    pub events: Vec<String>,
    /// Whether the body was an array.
    pub is_array: bool,
}

/// Why a body has no valid events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PostedError {
    /// As for a bus without occurrences.
    Publish(PublishError),
    /// The occurrence at this index, counted from 0, is not valid.
    Occurrence(usize, OccurrenceError),
}

/// Reads the body of a publish: a change as [`publish::events`] reads it, an occurrence as
/// [`Draft::from_json`] does, or a non-empty array of both.
///
/// # Errors
/// A [`PostedError`] for the first event that is not valid.
pub fn posted(body: &[u8]) -> Result<PostedEvents, PostedError> {
    let malformed = |_| PostedError::Publish(PublishError::Malformed);
    let document = json::read(body, MAX_DEPTH + 2).map_err(malformed)?;
    let (nodes, is_array) = publish::parts(&document).map_err(PostedError::Publish)?;
    let events = nodes.into_iter().enumerate().map(|(place, node)| {
        if node.get("kind").and_then(Node::as_str) == Some("event") {
            let draft = Draft::from_node(node);
            return draft
                .map(|draft| draft.to_json())
                .map_err(|error| PostedError::Occurrence(place, error));
        }
        publish::event(node)
            .map(|event| event.to_json())
            .map_err(|error| PostedError::Publish(PublishError::Event(place, error)))
    });
    Ok(PostedEvents {
        events: events.collect::<Result<_, _>>()?,
        is_array,
    })
}

impl PostedError {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Publish(error) => error.code(),
            Self::Occurrence(_, error) => error.code(),
        }
    }

    /// Returns the index of the invalid event, counted from 0.
    pub fn index(self) -> Option<usize> {
        match self {
            Self::Publish(error) => error.index(),
            Self::Occurrence(index, _) => Some(index),
        }
    }
}

impl fmt::Display for PostedError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publish(error) => error.fmt(formatter),
            Self::Occurrence(_, error) => error.fmt(formatter),
        }
    }
}

impl core::error::Error for PostedError {}
