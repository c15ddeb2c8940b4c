use alloc::{boxed::Box, string::String};

use serde::{Deserialize, Serialize};

use crate::{clock::Millis, json, vocabulary::capabilities::Capabilities};

use super::Claim;

/// A session as it begins. Its id comes from the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewSession {
    /// Whose it is; `None`: it belongs to all callers without a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Box<str>>,
    /// The network address of a caller without a name: its sessions are counted together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Box<str>>,
    /// The id that the server behind knows the session by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Box<str>>,
    /// What the client was told that it is notified about: the JSON text of server capabilities.
    pub capabilities: Box<str>,
    /// How long it lives without a request or a stream.
    #[serde(rename = "idleMs")]
    pub idle: Millis,
}

/// What a store keeps of a session, beside the URIs that it watches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// As it began.
    #[serde(rename = "begun")]
    pub new: NewSession,
    /// The event id that says "everything published before the session began": its first stream goes on from there.
    pub since: Box<str>,
    /// When it was used last; up to a tenth of `idle` late.
    pub used_at: Millis,
    /// Its client has yet to say that it is ready (2025-11-25, Lifecycle: Initialization).
    pub is_held: bool,
    /// How many URIs it watches.
    pub uris: usize,
    /// What they count for, see [`Limits`](super::Limits).
    pub uri_bytes: usize,
    /// How many streams were opened for it.
    pub opened: u64,
    /// The newest of them that was ever attached; 0: none was. An older one is not attached any more.
    pub attached: u64,
    /// The shard where its stream is, [`ROOT`] where it is at the bus itself; `None`: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<u32>,
    /// That shard may not know what it watches, or that its client is ready.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_untold: bool,
}

impl NewSession {
    /// Reads one; `None`: it is none.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    /// What tells its caller from others, its name or its address; `None`: nothing does.
    pub fn caller(&self) -> Option<String> {
        match (&self.principal, &self.address) {
            (Some(name), _) => Some(format!("name {name}")),
            (None, Some(address)) => Some(format!("address {address}")),
            (None, None) => None,
        }
    }
}

impl Session {
    /// Reads what [`Session::to_json`] wrote; `None`: it is none.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    /// The session as a store keeps it.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }

    /// Whether its caller has a name.
    pub fn is_named(&self) -> bool {
        self.new.principal.is_some()
    }

    /// What its newest stream claims.
    pub fn claim(&self, id: &str) -> Claim {
        Claim {
            session: id.into(),
            stream: self.attached,
            principal: self.new.principal.clone(),
        }
    }

    /// Whether a stream of this number was opened, and none that is newer was attached.
    pub(super) fn admits(&self, stream: u64) -> bool {
        (self.attached.max(1)..=self.opened).contains(&stream)
    }

    /// Whether its client was told that it may watch resources.
    pub(super) fn may_watch(&self) -> bool {
        Capabilities::from_json(&self.new.capabilities).resources_subscribe
    }

    /// The shard where its stream is; `None`: at none.
    pub(super) fn at_shard(&self) -> Option<u32> {
        self.shard.filter(|shard| *shard != ROOT)
    }

    /// When a sweep has to look at it: it is over then unless it is used before, or its shard is to be told again.
    pub fn ends_at(&self) -> Millis {
        let span = if self.is_untold {
            self.new.idle.min(AGAIN)
        } else {
            self.new.idle
        };
        self.used_at + span
    }
}

/// What stands for the bus itself where shards are counted, which is done from 1.
pub const ROOT: u32 = 0;
/// From a call to a shard until the next one, where it has not taken the first.
const AGAIN: Millis = Millis(5_000);
