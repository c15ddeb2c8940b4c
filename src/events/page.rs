//! A page of the log: the occurrences of one name after a position, as their readers get them.

use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    clock::Millis,
    json::{self, Node, Raw},
    vocabulary::{
        position::{Cursor, Position},
        scope::Name,
    },
};

use super::{cursor, name::EventName};

/// What a reader asks the log for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogQuery {
    /// The type of the events.
    pub name: EventName,
    /// The cursor of the reader; `None` asks for nothing but the end of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Box<str>>,
    /// Leaves out occurrences that were published longer ago than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<Millis>,
    /// The groups of the caller: occurrences of other groups are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Name>,
    /// Maximum number of occurrences in the page.
    pub max_events: usize,
    /// Maximum bytes of occurrences in the page, except that one is always included.
    pub max_bytes: usize,
    /// Maximum bytes of occurrences that are read for the page, left out or not.
    pub max_scan: usize,
}

/// The occurrences of one name in a part of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The epoch of the log.
    pub epoch: Box<str>,
    /// The end of the log.
    pub head: Position,
    /// Where the page begins: after this position.
    pub from: Position,
    /// The page has every occurrence between `from` and this position that the reader may have.
    pub through: Position,
    /// Whether the log has occurrences of the name after `through`.
    pub more: bool,
    /// Whether an occurrence of the name between the reader's cursor and `from` was removed from
    /// the log, or whether the cursor belongs to no position of this log.
    pub trimmed: bool,
    /// Whether an occurrence was left out because of its age.
    pub skipped: bool,
    /// The occurrences, in order.
    pub events: Vec<PageEvent>,
}

/// One occurrence of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEvent {
    /// Its position in the log.
    pub position: Position,
    /// When it was published, in milliseconds since 1970.
    pub at: Millis,
    /// Its group; `None` if every caller may receive it.
    pub group: Option<Name>,
    /// Its id.
    pub event_id: Box<str>,
    /// When it happened, as ISO 8601 text.
    pub timestamp: Box<str>,
    /// The payload, a compact JSON object.
    pub data: Box<str>,
}

impl LogQuery {
    /// Whether the reader may have an occurrence of this group.
    pub fn may_have(&self, group: Option<&str>) -> bool {
        group.is_none_or(|group| self.groups.iter().any(|own| **own == *group))
    }

    /// Whether the reader has more than a log whose end is at `head`: its cursor is from a copy of
    /// the log that has more.
    pub fn is_ahead_of(&self, head: &Cursor) -> bool {
        let cursor = self.cursor.as_deref().and_then(cursor::from_text);
        cursor.is_some_and(|cursor| cursor.epoch == head.epoch && cursor.position > head.position)
    }

    /// Reads a query; `None` if it is none.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    /// Returns the query as compact JSON.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }
}

impl Page {
    /// Returns an empty page at the end of a log.
    pub fn at_end(head: &Cursor) -> Self {
        Self {
            epoch: head.epoch.clone(),
            head: head.position,
            from: head.position,
            through: head.position,
            more: false,
            trimmed: false,
            skipped: false,
            events: Vec::new(),
        }
    }

    /// Returns the cursor position of a reader that has taken the page.
    pub fn cursor(&self) -> Cursor {
        self.cursor_at(self.through)
    }

    /// Returns a position of the page's log.
    pub fn cursor_at(&self, position: Position) -> Cursor {
        Cursor {
            epoch: self.epoch.clone(),
            position,
        }
    }

    /// Whether the reader has lost its place: it did not get what came after its cursor.
    pub fn is_truncated(&self) -> bool {
        self.trimmed || self.skipped
    }

    /// Reads a page; `None` if it is none.
    pub fn from_json(text: &str) -> Option<Self> {
        let document = json::read(text.as_bytes(), MAX_DEPTH).ok()?;
        let root = &document.root;
        let position = |name| root.get(name).and_then(Node::as_u53).map(Position);
        let flag = |name| root.get(name).and_then(Node::as_bool);
        let events = root.get("events")?.as_array()?;
        Some(Self {
            epoch: root.get("epoch")?.as_str()?.into(),
            head: position("head")?,
            from: position("from")?,
            through: position("through")?,
            more: flag("more")?,
            trimmed: flag("trimmed")?,
            skipped: flag("skipped")?,
            events: events
                .iter()
                .map(PageEvent::from_node)
                .collect::<Option<_>>()?,
        })
    }

    /// Returns the page as compact JSON.
    pub fn to_json(&self) -> String {
        let events = self.events.iter().map(PageEvent::to_json);
        let texts: Vec<Raw<String>> = events.map(Raw).collect();
        json::to_text(&Written {
            epoch: &self.epoch,
            head: self.head,
            from: self.from,
            through: self.through,
            more: self.more,
            trimmed: self.trimmed,
            skipped: self.skipped,
            events: &texts,
        })
    }
}

#[derive(Serialize)]
struct Written<'p> {
    epoch: &'p str,
    head: Position,
    from: Position,
    through: Position,
    more: bool,
    trimmed: bool,
    skipped: bool,
    events: &'p [Raw<String>],
}

impl PageEvent {
    pub(super) fn from_node(node: &Node<'_>) -> Option<Self> {
        let text = |name| node.get(name).and_then(Node::as_str);
        Some(Self {
            position: Position(node.get("position")?.as_u53()?),
            at: Millis(node.get("at")?.as_u53()?),
            group: match node.get("group") {
                Some(group) => Some(Name::from_node(group)?),
                None => None,
            },
            event_id: text("eventId")?.into(),
            timestamp: text("timestamp")?.into(),
            data: json::to_compact(node.get("data")?).into_boxed_str(),
        })
    }

    fn to_json(&self) -> String {
        let mut out = format!("{{\"position\":{},\"at\":{}", self.position.0, self.at.0);
        if let Some(group) = &self.group {
            out.push_str(",\"group\":");
            json::push_string(&mut out, group);
        }
        out.push_str(",\"eventId\":");
        json::push_string(&mut out, &self.event_id);
        out.push_str(",\"timestamp\":");
        json::push_string(&mut out, &self.timestamp);
        out.push_str(",\"data\":");
        out.push_str(&self.data);
        out.push('}');
        out
    }
}

/// The nesting depth of a page: a payload inside an event in the list.
const MAX_DEPTH: usize = super::MAX_DEPTH + 3;
