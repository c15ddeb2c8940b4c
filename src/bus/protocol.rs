//! The messages between an edge and its bus: JSON text, one message a frame, each with
//! the version `"v":1`. A receiver ignores members that it does not know, and drops
//! messages of a version or type that it does not know, so that a new edge can meet an
//! old bus and the other way round.

use std::fmt;

use crate::{
    clock::Millis,
    event::{EventError, ServerEvent},
    json::{self, Document, Node},
    limits::Limits,
    position::{Mark, Position},
};

use super::{adjust::Adjust, frames::event_frame, interest::Interest};

/// What an edge tells its bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EdgeMessage {
    /// Send me these events from now on, in place of those of any earlier attach. Answered with
    /// [`BusMessage::Attached`].
    Attach(Attach),
    /// Send me more, or less, from now on. Answered with [`BusMessage::Adjusted`].
    Adjust(Adjust),
    /// Send me nothing more.
    Detach,
}

/// How an edge attaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// The events it wants.
    pub interest: Interest,
    /// The 2025 session whose stream it holds: the bus adds the URIs that the session
    /// subscribed to, and says so with [`BusMessage::Interest`] whenever they change.
    pub session: Option<Box<str>>,
    /// What it has seen already: where the log still reaches back so far, the bus answers
    /// with just this mark and goes on from there.
    pub since: Option<Mark>,
}

/// What a bus tells an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BusMessage {
    /// Every event after this mark that matches will be sent.
    Attached(Mark),
    /// A published event that matches.
    Event {
        /// Its place in the log.
        position: Position,
        /// The place of what this edge was sent before it: the event, or the mark in
        /// [`BusMessage::Attached`]. Where that is another one than the edge knows of, something
        /// was lost between them. `None`: the bus cannot tell.
        previous: Option<Position>,
        /// When it was published, in milliseconds since 1970 on the clock of the bus. `None`: the bus does not tell.
        at: Option<Millis>,
        /// What changed.
        event: ServerEvent,
    },
    /// From now on this is what the edge is sent.
    Interest {
        /// The events that match.
        interest: Interest,
        /// Whether the client of its session has yet to say that it is ready: it must be sent nothing
        /// until then (2025-11-25, Lifecycle: Initialization).
        is_held: bool,
    },
    /// The adjustment with this number is done: every matching event that is published from now on will be sent.
    Adjusted(u64),
    /// There is no room for what the adjustment with this number adds: nothing of that was added. What it drops was dropped.
    Refused(u64),
}

/// Where an event stands among those that an edge is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its place in the log.
    pub position: Position,
    /// As in [`BusMessage::Event`].
    pub previous: Option<Position>,
}

/// Why a frame is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// Not a JSON object with the members that its type needs.
    Malformed,
    /// A version that this code does not speak.
    UnknownVersion,
    /// A type that this code does not know.
    UnknownType,
    /// An event that this code does not know.
    Event(EventError),
    /// A message that is out of place: from an edge that is gone, or an event before any attach was answered.
    OutOfPlace,
}

impl EdgeMessage {
    /// Reads one frame.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = read(text)?;
        match type_of(&document)? {
            "attach" => Attach::from_node(&document.root).map(Self::Attach),
            "adjust" => Adjust::from_node(&document.root).map(Self::Adjust),
            "detach" => Ok(Self::Detach),
            _ => Err(ProtocolError::UnknownType),
        }
    }

    /// The message as one frame.
    pub fn to_json(&self) -> String {
        match self {
            Self::Attach(attach) => {
                format!(r#"{{"v":{VERSION},"type":"attach",{}}}"#, attach.members())
            }
            Self::Adjust(adjust) => {
                format!(r#"{{"v":{VERSION},"type":"adjust",{}}}"#, adjust.members())
            }
            Self::Detach => format!(r#"{{"v":{VERSION},"type":"detach"}}"#),
        }
    }
}

impl BusMessage {
    /// Whether the frame that confirms an attach says that the bus takes an [`EdgeMessage::Adjust`].
    pub fn offers_adjust(text: &str) -> bool {
        let is_set = |document: Document<'_>| document.root.get("adjust").and_then(Node::as_bool);
        read(text).map(is_set) == Ok(Some(true))
    }

    /// The most bytes that the names of the edge may count, where a frame tells that.
    pub fn room_in(text: &str) -> Option<usize> {
        let document = read(text).ok()?;
        let room = document.root.get("room").and_then(Node::as_u53)?;
        usize::try_from(room).ok()
    }

    /// Where the log ended when the bus confirmed an attach or an adjustment, if the frame names it.
    /// A stream that waited for the confirmation takes nothing at or before that position.
    pub fn head_in(text: &str) -> Option<Position> {
        let document = read(text).ok()?;
        document
            .root
            .get("head")
            .and_then(Node::as_u53)
            .map(Position)
    }

    /// Whether the frame that confirms an attach may answer the one that named `since`. A frame that does not say what its
    /// attach named may answer any.
    pub fn answers(text: &str, since: Option<Position>) -> bool {
        let is_other = |document: Document<'_>| {
            let named = document.root.get("since");
            named.is_some_and(|named| named.as_u53().map(Position) != since)
        };
        !read(text).is_ok_and(is_other)
    }

    /// Reads one frame.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped.
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        let document = read(text)?;
        let root = &document.root;
        match type_of(&document)? {
            "attached" => mark_in(root).map(Self::Attached),
            "interest" => Ok(Self::Interest {
                interest: Interest::from_node(root)?,
                is_held: root.get("held").and_then(Node::as_bool) == Some(true),
            }),
            "adjusted" => seq_in(root).map(Self::Adjusted),
            "refused" => seq_in(root).map(Self::Refused),
            "event" => Ok(Self::Event {
                position: position_in(root)?,
                previous: previous_in(root)?,
                at: root.get("at").and_then(Node::as_u53).map(Millis),
                event: ServerEvent::from_node(root.get("event").ok_or(ProtocolError::Malformed)?)
                    .map_err(ProtocolError::Event)?,
            }),
            _ => Err(ProtocolError::UnknownType),
        }
    }

    /// The message as one frame.
    pub fn to_json(&self) -> String {
        match self {
            Self::Attached(mark) => {
                format!(
                    r#"{{"v":{VERSION},"type":"attached",{}}}"#,
                    mark_members(mark)
                )
            }
            Self::Interest { interest, is_held } => format!(
                r#"{{"v":{VERSION},"type":"interest","interest":{}{}}}"#,
                interest.to_json(),
                if *is_held { ",\"held\":true" } else { "" }
            ),
            Self::Adjusted(seq) => {
                format!(r#"{{"v":{VERSION},"type":"adjusted","seq":{seq}}}"#)
            }
            Self::Refused(seq) => {
                format!(r#"{{"v":{VERSION},"type":"refused","seq":{seq}}}"#)
            }
            Self::Event {
                position,
                previous,
                at,
                event,
            } => event_frame(*position, *previous, *at, &event.to_json()),
        }
    }
}

impl Place {
    /// The place that a frame tells, even of an event that cannot be read.
    pub fn in_frame(text: &str) -> Option<Self> {
        let document = read(text).ok()?;
        Some(Self {
            position: position_in(&document.root).ok()?,
            previous: previous_in(&document.root).ok()?,
        })
    }
}

impl Attach {
    /// An attach without a session and without a past.
    pub fn new(interest: Interest) -> Self {
        Self {
            interest,
            session: None,
            since: None,
        }
    }

    fn from_node(root: &Node<'_>) -> Result<Self, ProtocolError> {
        Ok(Self {
            interest: Interest::from_node(root)?,
            session: root
                .get("session")
                .map(|session| session.as_str().ok_or(ProtocolError::Malformed))
                .transpose()?
                .map(Into::into),
            // Without a mark that can be read the bus says where it stands, and the edge cues everything.
            since: root.get("since").and_then(|since| mark_in(since).ok()),
        })
    }

    fn members(&self) -> String {
        let interest = self.interest.to_json();
        let session = self.session.as_deref().map_or_else(String::new, |session| {
            format!(",\"session\":{}", quoted(session))
        });
        let since = self.since.as_ref().map_or_else(String::new, |since| {
            format!(",\"since\":{{{}}}", mark_members(since))
        });
        format!("\"interest\":{interest}{session}{since}")
    }
}

impl ProtocolError {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed-frame",
            Self::UnknownVersion => "unknown-frame-version",
            Self::UnknownType => "unknown-frame-type",
            Self::Event(error) => error.code(),
            Self::OutOfPlace => "frame-out-of-place",
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => formatter.write_str("the frame is malformed"),
            Self::UnknownVersion => formatter.write_str("the frame's version is not known"),
            Self::UnknownType => formatter.write_str("the frame's type is not known"),
            Self::Event(error) => error.fmt(formatter),
            Self::OutOfPlace => formatter.write_str("the frame is out of place"),
        }
    }
}

impl std::error::Error for ProtocolError {}

fn read(text: &str) -> Result<Document<'_>, ProtocolError> {
    let document = parse(text)?;
    match document.root.get("v").and_then(Node::as_u53) {
        Some(VERSION) => Ok(document),
        Some(_) => Err(ProtocolError::UnknownVersion),
        None => Err(ProtocolError::Malformed),
    }
}

pub(super) fn parse(text: &str) -> Result<Document<'_>, ProtocolError> {
    json::read(text.as_bytes(), EDGE_LIMITS.depth)
        .ok()
        .filter(|document| !document.has_duplicate_key)
        .ok_or(ProtocolError::Malformed)
}

fn type_of<'d>(document: &'d Document<'_>) -> Result<&'d str, ProtocolError> {
    text_in(&document.root, "type")
}

fn text_in<'n>(node: &'n Node<'_>, key: &str) -> Result<&'n str, ProtocolError> {
    let text = node.get(key).and_then(Node::as_str);
    text.ok_or(ProtocolError::Malformed)
}

fn mark_in(node: &Node<'_>) -> Result<Mark, ProtocolError> {
    Ok(Mark {
        epoch: text_in(node, "epoch")?.into(),
        position: position_in(node)?,
    })
}

pub(super) fn mark_members(mark: &Mark) -> String {
    let epoch = quoted(&mark.epoch);
    format!("\"epoch\":{epoch},\"position\":{}", mark.position.0)
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    json::push_string(&mut out, text);
    out
}

pub(super) fn seq_in(node: &Node<'_>) -> Result<u64, ProtocolError> {
    let seq = node.get("seq").and_then(Node::as_u53);
    seq.ok_or(ProtocolError::Malformed)
}

fn position_in(node: &Node<'_>) -> Result<Position, ProtocolError> {
    let number = node.get("position").and_then(Node::as_u53);
    number.map(Position).ok_or(ProtocolError::Malformed)
}

fn previous_in(node: &Node<'_>) -> Result<Option<Position>, ProtocolError> {
    let previous = node.get("previous").map(Node::as_u53);
    let number = previous.map(|number| number.ok_or(ProtocolError::Malformed));
    Ok(number.transpose()?.map(Position))
}

pub(super) const VERSION: u64 = 1;
/// Edges are ours and have applied their own limits, which may be wider than the defaults.
/// A frame nests one deeper than the event in it.
pub(super) const EDGE_LIMITS: Limits = Limits {
    body_bytes: usize::MAX,
    depth: 65,
    id_bytes: 256,
    uris: usize::MAX,
    uri_bytes: usize::MAX,
    task_ids: usize::MAX,
    task_id_bytes: usize::MAX,
};
