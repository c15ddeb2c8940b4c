//! The tasks of the Tasks extension (SEP-2663): their ids, and the states that are told of.

use alloc::sync::Arc;
use alloc::{boxed::Box, string::String};
use core::{fmt, ops::Deref};

use crate::{
    json::{self, Node, Object},
    vocabulary::{
        limits::Limits,
        name::{self, NameError, serde_text},
    },
};

/// The extension's name among the capabilities of clients and servers.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// Bytes of one task's state as compact JSON, at most.
pub const MAX_BYTES: usize = 16_384;

/// A task's id: not empty, no control characters, never normalised.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(Arc<str>);

/// The whole state of one task, as `tasks/get` would tell it; what is not known of it is kept as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    id: TaskId,
    members: Box<str>,
}

/// Why a JSON value is no state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskError {
    /// Missing, or not an object.
    NotAnObject,
    /// `taskId` is missing or not a string.
    MissingId,
    /// `taskId` is not one that can be listened to.
    Id(NameError),
    /// `status` is missing or not a string.
    MissingStatus,
    /// More than [`MAX_BYTES`] bytes.
    TooLarge,
}

impl TaskId {
    /// Takes `text` of at most `max_bytes` bytes as it stands.
    ///
    /// # Errors
    /// A [`NameError`]; nothing but emptiness, control characters and length is refused.
    pub fn new(text: &str, max_bytes: usize) -> Result<Self, NameError> {
        name::checked(text, max_bytes).map(Self)
    }
}

serde_text!(TaskId, |text| TaskId::new(text, usize::MAX));

impl Task {
    /// Reads a state from its JSON object. Only `taskId` and `status` are looked at; `_meta` and
    /// `resultType` belong to the answer that the state may come from, and are left out.
    ///
    /// # Errors
    /// A [`TaskError`] that says what is wrong.
    pub fn from_node(node: Option<&Node<'_>>) -> Result<Self, TaskError> {
        let object = node
            .and_then(Node::as_object)
            .ok_or(TaskError::NotAnObject)?;
        let id = object.get("taskId").and_then(Node::as_str);
        let id = TaskId::new(
            id.ok_or(TaskError::MissingId)?,
            Limits::default().task_id_bytes,
        )
        .map_err(TaskError::Id)?;
        if object.get("status").and_then(Node::as_str).is_none() {
            return Err(TaskError::MissingStatus);
        }
        let members = members_of(object).into_boxed_str();
        if members.len() + BRACES > MAX_BYTES {
            return Err(TaskError::TooLarge);
        }
        Ok(Self { id, members })
    }

    /// Which task.
    pub fn id(&self) -> &TaskId {
        &self.id
    }

    /// The members of the state's JSON object, compact and without the braces; never empty.
    pub fn members(&self) -> &str {
        &self.members
    }
}

fn members_of(object: &Object<'_>) -> String {
    let mut out = String::new();
    for (name, node) in object
        .iter()
        .filter(|(name, _)| !OF_AN_ANSWER.contains(name))
    {
        if !out.is_empty() {
            out.push(',');
        }
        json::push_string(&mut out, name);
        out.push(':');
        out.push_str(&json::to_compact(node));
    }
    out
}

impl Deref for TaskId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => formatter.write_str("the task is not an object"),
            Self::MissingId => formatter.write_str("the task has no taskId"),
            Self::Id(error) => write!(formatter, "the taskId {error}"),
            Self::MissingStatus => formatter.write_str("the task has no status"),
            Self::TooLarge => write!(formatter, "the task has more than {MAX_BYTES} bytes"),
        }
    }
}

impl core::error::Error for TaskError {}

const OF_AN_ANSWER: [&str; 2] = ["_meta", "resultType"];
const BRACES: usize = 2;
