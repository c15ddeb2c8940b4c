//! The messages between edges and their bus, as tests write them. The epoch of the log is `e`.

use mcp_listen::{
    bus::{Bus, EdgeId, FollowReply, Publication, Received},
    event::ServerEvent,
    filter::SubscriptionFilter,
    position::{Cursor, Position},
    topic::{Topic, Topics},
    wire::{Backlog, BusMessage, Follow, FollowResponse, Followed, SessionInterest},
};

use crate::any::{claim, uri};

/// Publishes without a time.
pub(crate) trait Publish {
    fn publish(&mut self, event: &ServerEvent) -> Publication;
}

impl Publish for Bus {
    fn publish(&mut self, event: &ServerEvent) -> Publication {
        self.publish_at(event, None)
    }
}

/// The edges that receive a published event.
pub(crate) trait Receivers {
    /// Returns the edges, ascending.
    fn edges(&self) -> Vec<EdgeId>;
    /// Returns the frame for an edge.
    fn message_for(&self, edge: EdgeId) -> Option<&str>;
}

impl Receivers for Publication {
    fn edges(&self) -> Vec<EdgeId> {
        let all = self.deliveries.iter();
        let mut edges: Vec<EdgeId> = all.flat_map(|it| it.edges.iter().copied()).collect();
        edges.sort_unstable();
        edges
    }

    fn message_for(&self, edge: EdgeId) -> Option<&str> {
        let mut all = self.deliveries.iter();
        let delivery = all.find(|delivery| delivery.edges.contains(&edge))?;
        Some(&delivery.message)
    }
}

/// Returns all topics of a filter.
pub(crate) fn topics(filter: &SubscriptionFilter) -> Topics {
    filter.topics().into_iter().collect()
}

/// Returns a fresh follow with all topics of an edge.
pub(crate) fn fresh(seq: u64, filter: &SubscriptionFilter) -> Follow {
    Follow::fresh(seq, filter.topics())
}

pub(crate) fn everything(seq: u64) -> Follow {
    Follow::fresh(seq, vec![Topic::Everything])
}

/// Returns a follow that adds and drops topics.
pub(crate) fn change(seq: u64, add: &SubscriptionFilter, drop: &SubscriptionFilter) -> Follow {
    Follow {
        seq,
        add: add.topics(),
        drop: drop.topics(),
        ..Follow::default()
    }
}

/// Returns the reply to a fresh follow: events after `after` come in batches, and the log ends at
/// `head`.
pub(crate) fn attached(seq: u64, after: u64, head: u64) -> String {
    format!(
        r#"{{"v":1,"type":"followed","seq":{seq},"epoch":"e","position":{head},"after":{after},"events":[]}}"#
    )
}

/// Returns the reply for the stream of session `s`, which is subscribed to these resources.
pub(crate) fn joined(seq: u64, head: u64, uris: &[&str]) -> String {
    let interest = SessionInterest {
        session: claim("s 1"),
        uris: uris.iter().map(|name| uri(name)).collect(),
        is_paused: false,
    };
    let position = Position(head);
    let epoch = "e".into();
    FollowResponse::Followed(Followed {
        seq,
        cursor: Cursor { epoch, position },
        missed: Some(Backlog {
            after: position,
            events: Vec::new(),
        }),
        is_settled: false,
        interests: vec![interest],
        room: None,
    })
    .to_json()
}

/// Returns the reply to a change.
pub(crate) fn confirmed(seq: u64, head: u64) -> String {
    format!(r#"{{"v":1,"type":"followed","seq":{seq},"epoch":"e","position":{head}}}"#)
}

/// Returns the batch of one event.
pub(crate) fn batch(previous: u64, position: u64, event: &ServerEvent) -> String {
    let event = event.to_json();
    format!(
        r#"{{"v":1,"type":"batch","previous":{previous},"through":{position},"events":[{{"position":{position},"event":{event}}}]}}"#
    )
}

/// Returns the positions of the events in a batch.
pub(crate) fn positions(text: &str) -> Vec<Position> {
    let Ok(BusMessage::Batch(batch)) = BusMessage::from_json(text) else {
        panic!("{text}")
    };
    batch
        .events
        .into_iter()
        .map(|(position, _)| position)
        .collect()
}

/// Passes the frame of an edge to a bus.
pub(crate) fn accepted(bus: &mut Bus, edge: EdgeId, text: &str) -> FollowReply {
    match bus.handle_message(edge, text) {
        Ok(Received::Followed(reply)) => *reply,
        other => panic!("{other:?} to {text}"),
    }
}

/// Returns the only frame of a reply without missed events.
pub(crate) fn reply_to(bus: &mut Bus, edge: EdgeId, follow: &Follow) -> FollowResponse {
    let reply = accepted(bus, edge, &follow.to_json());
    let frames = reply.finish(bus);
    FollowResponse::from_json(&frames[0]).unwrap()
}
