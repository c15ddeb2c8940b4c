//! Frames and messages as their senders write them.

use mcp_listen::{
    event::ServerEvent,
    filter::SubscriptionFilter,
    message,
    position::{Cursor, Position},
    topic::Topic,
    wire::{
        Backlog, Batch, BatchAck, BusMessage, EdgeMessage, Follow, FollowResponse, Followed,
        SessionCall, SessionInterest,
    },
};

use crate::any::{claim, id, uri};

/// A fresh follow with all topics of an edge.
pub fn follow(filter: &SubscriptionFilter) -> String {
    Follow::fresh(1, filter.topics()).to_json()
}

pub fn event(event: &ServerEvent, position: u64) -> String {
    let previous = position.checked_sub(1).map(Position);
    let events = [(Position(position), event.to_json())];
    Batch::for_edge(previous, Position(position), None, events.into_iter())
}

pub fn acknowledged(raw: &str, honored: &SubscriptionFilter) -> String {
    message::acknowledged(&id(raw), honored)
}

pub fn notification(raw: &str, event: &ServerEvent) -> String {
    message::notification(&id(raw), event)
}

pub fn result(raw: &str) -> String {
    message::listen_result(&id(raw), None)
}

/// One frame of every other kind, of edges and of shards.
pub fn others() -> Vec<String> {
    let follow = Follow {
        seq: 3,
        add: vec![Topic::Tools],
        drop: vec![Topic::Prompts],
        since: Some(Position(1)),
        joined: vec![claim("s 1")],
        ..Follow::default()
    };
    let cursor = Cursor {
        epoch: "e".into(),
        position: Position(2),
    };
    let events = [(Position(2), ServerEvent::ToolsListChanged.to_json())];
    let batch = Batch::for_shard(&cursor, None, None, events.into_iter(), false);
    let stale = FollowResponse::Stale { seq: 2 }.to_json();
    let room = Some(9);
    let full = FollowResponse::Full { seq: 2, room }.to_json();
    let ack = BatchAck {
        edges: 2,
        is_retired: true,
    };
    let joined = Follow {
        joined: vec![claim("s 1")],
        ..Follow::fresh(1, vec![Topic::Everything]).since(&cursor)
    };
    vec![
        follow.to_json(),
        batch,
        stale,
        full,
        ack.to_json(),
        SessionCall::Changed(claim("s 1")).to_json(),
        EdgeMessage::Detach.to_json(),
        joined.to_json(),
        BusMessage::session_interest(&[uri("a")], true),
        followed(1, &cursor),
    ]
}

/// The reply to a fresh follow of session `s`.
pub fn followed(seq: u64, cursor: &Cursor) -> String {
    let interest = SessionInterest {
        session: claim("s 1"),
        uris: vec![uri("a")],
        is_paused: false,
    };
    FollowResponse::Followed(Followed {
        seq,
        cursor: cursor.clone(),
        missed: Some(Backlog {
            after: cursor.position,
            events: Vec::new(),
        }),
        is_settled: false,
        interests: vec![interest],
        room: None,
    })
    .to_json()
}
