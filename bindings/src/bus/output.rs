use js_sys::Uint32Array;
use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::{
        BatchCall, Delivery, EdgeCloseReason, FollowCall, JournalEntry, Persist, ShardId,
        ShardOutput, ShardReceived,
    },
    position::Position,
    root::{RootOutput, RootReceived},
    topic::Topic,
    wire::{Claim, ProtocolError},
};

use super::number;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The result of a frame from an edge. */
export type Received =
  /** The edge follows other topics from now on: store this before sending `frames`. */
  | ({ kind: 'followed'; frames: string[] } & Kept)
  /**
   * There is no room for the edge's topics: it has been removed, and its connection has to be
   * closed.
   */
  | { kind: 'full' }
  /**
   * The session of the edge's stream has ended, belongs to another principal, or has had a newer
   * stream since: its connection has to be closed.
   */
  | { kind: 'released' }
  /** The edge has detached. */
  | { kind: 'detached' }
  /** The frame was dropped. */
  | { kind: 'dropped'; code: string };

/** What to store about an edge. */
export interface Kept {
  /** Whether to store all that `Bus.kept` returns. */
  keepsAll?: boolean;
  /** How the stored topics have changed, as JSON text. */
  change?: string | undefined;
  /** The claim of the session whose stream the edge holds, for a fresh follow. */
  session?: string | undefined;
}

/** An output of a bus or a shard. */
export type BusOutput =
  | JournalEntry
  /** A frame for these edges. */
  | { kind: 'send'; text: string; edges: Uint32Array }
  /** A call of a bus to a shard. */
  | { kind: 'batch'; shard: number; call: number; text: string }
  /** A call of a shard to its root. Its number has to be durable before the call is made. */
  | { kind: 'follow'; call: number; text: string }
  /**
   * A message about a session for a shard; `Bus.confirmed` confirms it. If it `isAwaited`, the
   * request that caused it gets its response afterwards.
   */
  | { kind: 'callShard'; shard: number; text: string; isAwaited: boolean }
  /** What is stored about the edge has changed: all of it, or as `change` says. */
  | { kind: 'keep'; edge: number; change?: string }
  | { kind: 'close'; edge: number; reason: EdgeCloseReason }
  /** The call of the root with this ticket is complete. */
  | { kind: 'done'; call: number };

/** An entry of the journal of shards: a change to store. */
export type JournalEntry =
  /** A new shard, opened for edges of this continent. */
  | { kind: 'opened'; shard: number; continent: string }
  /** The shard accepts no more edges. */
  | { kind: 'leaving'; shard: number }
  | { kind: 'closed'; shard: number }
  /**
   * As of the call `call`, the shard follows `add` and no longer `drop`; if it `isFresh`, it
   * follows nothing else.
   */
  | {
      kind: 'follows';
      shard: number;
      call: number;
      isFresh: boolean;
      add: string[];
      drop: string[];
    }
  /** Every shard has received what was published up to this position. */
  | { kind: 'settled'; position: number };

/**
 * Why an edge is closed: it may have missed something, and has to reconnect; it has to ask the root
 * for another shard; there is no room for its topics; its stream has ended.
 */
export type EdgeCloseReason = 'lost' | 'redirected' | 'full' | 'over';
";

/// One type for all outputs; each kind omits the members that it does not have.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    edge: Option<u32>,
    #[serde(
        skip_serializing_if = "JsValue::is_undefined",
        with = "serde_wasm_bindgen::preserve"
    )]
    edges: JsValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    continent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_awaited: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_fresh: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    add: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drop: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<f64>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Received {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    keeps_all: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    frames: Vec<String>,
}

impl Received {
    pub(super) fn of(kind: &'static str) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    pub(super) fn followed(keeps: &Persist, session: Option<&Claim>, frames: Vec<String>) -> Self {
        let change = if let Persist::Delta(delta) = keeps {
            Some(delta.to_json())
        } else {
            None
        };
        Self {
            // To store everything is never wrong.
            keeps_all: !matches!(keeps, Persist::Nothing | Persist::Delta(_)),
            change,
            session: session.map(Claim::to_text),
            frames,
            ..Self::of("followed")
        }
    }

    pub(super) fn dropped(error: ProtocolError) -> Self {
        Self {
            code: Some(error.code()),
            ..Self::of("dropped")
        }
    }

    /// `None` for a result that these bindings do not know.
    pub(super) fn from_root(received: RootReceived) -> Option<Self> {
        Some(match received {
            RootReceived::Followed {
                persist,
                session,
                frames,
            } => Self::followed(&persist, session.as_ref(), frames),
            RootReceived::Released => Self::of("released"),
            RootReceived::Full => Self::of("full"),
            RootReceived::Detached => Self::of("detached"),
            RootReceived::Dropped(error) => Self::dropped(error),
            _ => return None,
        })
    }

    /// `None` for a result that these bindings do not know.
    pub(super) fn from_shard(received: ShardReceived) -> Option<Self> {
        Some(match received {
            ShardReceived::Followed { persist, session } => {
                Self::followed(&persist, session.as_ref(), Vec::new())
            }
            ShardReceived::Detached => Self::of("detached"),
            _ => return None,
        })
    }
}

impl Output {
    fn of(kind: &'static str) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    fn of_shard(kind: &'static str, ShardId(shard): ShardId) -> Self {
        Self {
            shard: Some(shard),
            ..Self::of(kind)
        }
    }

    fn of_edge(kind: &'static str, edge: u32) -> Self {
        Self {
            edge: Some(edge),
            ..Self::of(kind)
        }
    }

    fn send(text: String, edges: &[u32]) -> Self {
        Self {
            text: Some(text),
            edges: Uint32Array::from(edges).into(),
            ..Self::of("send")
        }
    }

    fn close(edge: u32, reason: EdgeCloseReason) -> Self {
        Self {
            reason: Some(reason.name()),
            ..Self::of_edge("close", edge)
        }
    }

    /// `None` for an output that these bindings do not know.
    pub(super) fn from_root(output: RootOutput) -> Option<Self> {
        Some(match output {
            RootOutput::Persist(entry) => return Self::from_entry(entry),
            RootOutput::Batch(call) => call.into(),
            RootOutput::Send(edge, frame) => Self::send(frame, &[edge.0]),
            RootOutput::Close(edge, reason) => Self::close(edge.0, reason),
            RootOutput::CallShard {
                shard,
                call,
                is_awaited,
            } => Self {
                text: Some(call.to_json()),
                is_awaited: Some(is_awaited),
                ..Self::of_shard("callShard", ShardId(shard))
            },
            _ => return None,
        })
    }

    /// `None` for an output that these bindings do not know.
    pub(super) fn from_shard(output: ShardOutput) -> Option<Self> {
        Some(match output {
            ShardOutput::Send(delivery) => delivery.into(),
            ShardOutput::PersistAll(edge) => Self::of_edge("keep", edge.0),
            ShardOutput::PersistChange(edge, delta) => Self {
                change: Some(delta.to_json()),
                ..Self::of_edge("keep", edge.0)
            },
            ShardOutput::Close(edge, reason) => Self::close(edge.0, reason),
            ShardOutput::Done(ticket) => Self {
                call: Some(ticket.into()),
                ..Self::of("done")
            },
            _ => return None,
        })
    }

    fn from_entry(entry: JournalEntry) -> Option<Self> {
        Some(match entry {
            JournalEntry::Opened { shard, continent } => Self {
                continent: Some(continent.into()),
                ..Self::of_shard("opened", shard)
            },
            JournalEntry::Leaving(shard) => Self::of_shard("leaving", shard),
            JournalEntry::Closed(shard) => Self::of_shard("closed", shard),
            JournalEntry::Follows {
                shard,
                seq,
                is_fresh,
                add,
                drop,
            } => Self {
                call: Some(number(Position(seq))),
                is_fresh: Some(is_fresh),
                add: Some(texts(&add)),
                drop: Some(texts(&drop)),
                ..Self::of_shard("follows", shard)
            },
            JournalEntry::Settled(position) => Self {
                position: Some(number(position)),
                ..Self::of("settled")
            },
            _ => return None,
        })
    }
}

impl From<BatchCall> for Output {
    fn from(
        BatchCall {
            shard, call, text, ..
        }: BatchCall,
    ) -> Self {
        Self {
            call: Some(call.into()),
            text: Some(text),
            ..Self::of_shard("batch", shard)
        }
    }
}

impl From<FollowCall> for Output {
    fn from(FollowCall { seq, text, .. }: FollowCall) -> Self {
        Self {
            call: Some(number(Position(seq))),
            text: Some(text),
            ..Self::of("follow")
        }
    }
}

impl From<Delivery> for Output {
    fn from(delivery: Delivery) -> Self {
        let edges: Vec<u32> = delivery.edges.iter().map(|edge| edge.0).collect();
        Self::send(delivery.message, &edges)
    }
}

fn texts(topics: &[Topic]) -> Vec<String> {
    topics.iter().map(Topic::to_text).collect()
}
