//! Tasks of the Tasks extension (SEP-2663): their ids, and their states.

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

/// The extension's name in the capabilities of clients and servers.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// Maximum bytes of one task's state as compact JSON.
pub const MAX_BYTES: usize = 16_384;

/// A task's id: not empty, without control characters, never normalized.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(Arc<str>);

/// The whole state of one task, as `tasks/get` would return it; unknown members are kept as they
/// are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    id: TaskId,
    members: Box<str>,
}

/// Why a JSON value is not the state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskError {
    /// Missing, or not an object.
    NotAnObject,
    /// `taskId` is missing or not a string.
    MissingId,
    /// `taskId` is not valid.
    Id(NameError),
    /// `status` is missing or not a string.
    MissingStatus,
    /// More than [`MAX_BYTES`] bytes.
    TooLarge,
}

impl TaskId {
    /// Checks `text`, of at most `max_bytes` bytes, without normalizing it.
    ///
    /// # Errors
    /// A [`NameError`]; only emptiness, control characters and length are refused.
    pub fn new(text: &str, max_bytes: usize) -> Result<Self, NameError> {
        name::checked(text, max_bytes).map(Self)
    }
}

serde_text!(TaskId, |text| TaskId::new(text, usize::MAX));

impl Task {
    /// Reads a state from its JSON object. Only `taskId` and `status` are checked. Drops `_meta`
    /// and `resultType`, which belong to the response that the state may come from.
    ///
    /// # Errors
    /// A [`TaskError`] that says what is wrong; text that is not JSON counts as not an object.
    pub fn from_json(text: &str) -> Result<Self, TaskError> {
        let document = json::read(text.as_bytes(), Limits::default().depth);
        let document = document.map_err(|_| TaskError::NotAnObject)?;
        Self::from_node(Some(&document.root))
    }

    /// As [`Task::from_json`], for a member of a larger document.
    pub(crate) fn from_node(node: Option<&Node<'_>>) -> Result<Self, TaskError> {
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

    /// Returns the id of the task.
    pub fn id(&self) -> &TaskId {
        &self.id
    }

    /// Returns the members of the state's JSON object, compact and without the braces; never empty.
    pub fn members(&self) -> &str {
        &self.members
    }
}

fn members_of(object: &Object<'_>) -> String {
    let mut out = String::new();
    for (name, node) in object
        .iter()
        .filter(|(name, _)| !OF_A_RESPONSE.contains(name))
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

const OF_A_RESPONSE: [&str; 2] = ["_meta", "resultType"];
/// Bytes of the braces around the members.
const BRACES: usize = 2;
