//! MCP Events (`io.modelcontextprotocol/events`, SEP-3415): what happened, with a payload and a
//! cursor, beside the cues that say "read this again".
//!
//! An occurrence is a row in a separate log, at a position of the bus. What the bus carries is a
//! cue for one group, so a stream of events is followed, healed and drained as any other stream;
//! its readers then read the log after their positions.

pub mod catalogue;
pub mod cursor;
pub mod error;
pub mod exchange;
mod identity;
mod jcs;
mod log;
pub mod matching;
mod name;
mod occurrence;
pub mod page;
mod posted;
mod streams;
mod timestamp;
pub mod webhook;

pub use identity::{ArgumentsError, canonical_arguments, identity, subscription_id};
pub use jcs::canonical;
pub use log::{Appended, EventLog, EventRows, NameRow, NewRow, Removed, StoredRow, Window};
pub use name::{EventName, EventNameError};
pub use occurrence::{Draft, MAX_ARGUMENT_BYTES, MAX_DATA_BYTES, MAX_DEPTH, OccurrenceError};
pub use posted::{PostedError, PostedEvents, posted};
pub use streams::{EventReading, EventStreams, Opening};

use alloc::{boxed::Box, string::String};

use crate::vocabulary::{capabilities, event::ServerEvent, limits::Limits, scope::Name, uri::Uri};

/// The extension's name in the capabilities of clients and servers.
pub const EXTENSION: &str = capabilities::EVENTS;

/// The prefix of the groups in which cues for occurrences travel: followed by the group of the
/// occurrence, or by nothing for an occurrence that every caller may receive. No server may use it
/// in the name of a group.
pub const GROUP_PREFIX: &str = "mcp-events:";

/// Returns the cue for readers of `name` when the log has a new occurrence.
pub fn cue(name: &EventName, group: Option<&Name>) -> Option<ServerEvent> {
    Some(ServerEvent::ForGroup {
        group: cue_group(group.map_or("", |group| group))?,
        event: Box::new(ServerEvent::ResourceUpdated { uri: topic(name)? }),
    })
}

/// Returns the group that a reader of occurrences for `group` follows; `""` stands for those of
/// every caller. `None` if the name of the group is too long.
pub fn cue_group(group: &str) -> Option<Name> {
    let mut text = String::from(GROUP_PREFIX);
    text.push_str(group);
    Name::new(&text).ok()
}

/// Returns the URI that a reader of `name` follows.
pub fn topic(name: &EventName) -> Option<Uri> {
    let mut text = String::from(TOPIC_PREFIX);
    text.push_str(name);
    Uri::new(&text, Limits::default().uri_bytes).ok()
}

/// Without a name it is the URI under which buses carry changes of the list of event types.
const TOPIC_PREFIX: &str = "mcp-event:";
