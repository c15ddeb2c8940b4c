use alloc::{boxed::Box, string::String};
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    clock::{Millis, read_span, write_span},
    json,
    vocabulary::capabilities::Capabilities,
};

use super::Claim;

/// A new session. The host provides its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewSession {
    /// The principal; `None`: the session belongs to all callers without a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Box<str>>,
    /// The network address of a caller without a name, whose sessions are counted together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Box<str>>,
    /// The session's id at the upstream server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_id: Option<Box<str>>,
    /// The notifications that the client was offered: the JSON text of server capabilities.
    pub capabilities: Box<str>,
    /// How long the session lives without a request or a stream.
    #[serde(
        rename = "idleMs",
        deserialize_with = "read_span",
        serialize_with = "write_span"
    )]
    pub idle: Duration,
}

/// What a store keeps of a session, in addition to its subscriptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The values with which it began.
    pub new: NewSession,
    /// The event id that stands for "everything published before the session began". Every stream
    /// continues from there whose client names no event id: it may have received nothing since.
    pub since: Box<str>,
    /// When it was last used; may lag by up to a tenth of `idle`.
    pub used_at: Millis,
    /// The client has not reported that it is ready (2025-11-25, Lifecycle: Initialization).
    pub is_paused: bool,
    /// The number of its subscriptions.
    pub uris: usize,
    /// The bytes that they count, see [`SessionLimits`](super::SessionLimits).
    pub uri_bytes: usize,
    /// The number of streams that were opened for it.
    pub opened: u64,
    /// The number of the newest stream that was ever attached; 0 if none was. Older ones are no
    /// longer attached.
    pub attached: u64,
    /// The shard that holds its stream, [`ROOT`] for the bus itself; `None` if it has no stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<u32>,
    /// That shard may not know its subscriptions, or that the client is ready.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_unconfirmed: bool,
}

impl NewSession {
    /// Reads the text form; `None` if it is invalid.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    /// Returns the key that identifies the caller, by name or address; `None` if there is neither.
    pub fn caller(&self) -> Option<String> {
        match (&self.principal, &self.address) {
            (Some(name), _) => Some(format!("name {name}")),
            (None, Some(address)) => Some(format!("address {address}")),
            (None, None) => None,
        }
    }
}

impl Session {
    /// Reads the text of [`Session::to_json`]; `None` if it is invalid.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    /// Returns the session as a store keeps it.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }

    /// Whether its caller has a name.
    pub fn is_named(&self) -> bool {
        self.new.principal.is_some()
    }

    /// Returns the claim of its newest attached stream.
    pub fn claim(&self, id: &str) -> Claim {
        Claim {
            session: id.into(),
            stream: self.attached,
            principal: self.new.principal.clone(),
        }
    }

    /// Whether a stream of this number was opened, and no newer one was attached.
    pub(super) fn admits(&self, stream: u64) -> bool {
        (self.attached.max(1)..=self.opened).contains(&stream)
    }

    /// Whether the client was offered subscriptions to resources.
    pub(super) fn may_subscribe(&self) -> bool {
        Capabilities::from_json(&self.new.capabilities).resources_subscribe
    }

    /// Returns the shard that holds its stream; `None` if none does.
    pub(super) fn at_shard(&self) -> Option<u32> {
        self.shard.filter(|shard| *shard != ROOT)
    }

    /// Returns when a sweep has to check it: it then ends unless it was used, or its shard needs
    /// another call.
    pub fn ends_at(&self) -> Millis {
        let idle = Millis::from(self.new.idle);
        let span = if self.is_unconfirmed {
            idle.min(AGAIN)
        } else {
            idle
        };
        self.used_at + span
    }
}

/// The number of the bus itself among shards, which are numbered from 1.
pub const ROOT: u32 = 0;
/// Milliseconds until a call that a shard has not confirmed is repeated.
const AGAIN: Millis = Millis(5_000);
