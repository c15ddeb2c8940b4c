use alloc::{string::String, vec::Vec};

use crate::{
    bus::{BatchCall, EdgeCloseReason, EdgeId, JournalEntry, Persist},
    wire::{Claim, ProtocolError, SessionCall},
};

/// An output of a root.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootOutput {
    /// Store this before any later output is carried out, and before any request gets its reply.
    Persist(JournalEntry),
    /// Call a shard with a batch.
    Batch(BatchCall),
    /// Send a frame to an edge.
    Send(EdgeId, String),
    /// Close the connection of an edge.
    Close(EdgeId, EdgeCloseReason),
    /// Call a shard about a session, and
    /// [`Sessions::handle_confirmed`](crate::session::Sessions::handle_confirmed) once it has
    /// confirmed.
    CallShard {
        /// The shard.
        shard: u32,
        /// The call.
        call: SessionCall,
        /// Whether the request that led to it waits for the shard.
        is_awaited: bool,
    },
}

/// The result of an edge's frame.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootReceived {
    /// The edge now follows other topics, or was refused: store this, carry out the outputs, and
    /// then send the frames.
    Followed {
        /// What to store about the edge.
        persist: Persist,
        /// The session whose stream the edge holds, for a fresh follow.
        session: Option<Claim>,
        /// The response, and the events that the edge missed.
        frames: Vec<String>,
    },
    /// The session of the edge's stream has ended, belongs to another principal or has had a newer
    /// stream: close its connection.
    Released,
    /// There is no room for the topics of the edge. It was removed from the bus; close its
    /// connection.
    Full,
    /// The edge has detached and was removed from the bus.
    Detached,
    /// The frame was dropped, and changed nothing.
    Dropped(ProtocolError),
}
