//! What edges and their bus say to each other, as the tests write it. The log is `e`.

use mcp_listen::{
    bus::{Bus, EdgeId, FollowReply, Mark, Position, Publication, Received},
    event::ServerEvent,
    filter::SubscriptionFilter,
    topic::{Topic, Topics},
    wire::{Follow, FollowAnswer, Followed, Missed, Watched},
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

/// Who receives a published event.
pub(crate) trait Receivers {
    /// The edges, ascending.
    fn edges(&self) -> Vec<EdgeId>;
    /// The frame for an edge.
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

/// All topics of a filter.
pub(crate) fn topics(filter: &SubscriptionFilter) -> Topics {
    filter.topics().into_iter().collect()
}

/// All that an edge wants.
pub(crate) fn fresh(seq: u64, filter: &SubscriptionFilter) -> Follow {
    Follow::fresh(seq, filter.topics())
}

pub(crate) fn everything(seq: u64) -> Follow {
    Follow::fresh(seq, vec![Topic::Everything])
}

/// What an edge wants more, and less.
pub(crate) fn change(seq: u64, add: &SubscriptionFilter, drop: &SubscriptionFilter) -> Follow {
    Follow {
        seq,
        add: add.topics(),
        drop: drop.topics(),
        ..Follow::default()
    }
}

/// A fresh follow is answered: what is missing after `after` comes in batches, and the log ends at
/// `head`.
pub(crate) fn attached(seq: u64, after: u64, head: u64) -> String {
    format!(
        r#"{{"v":1,"type":"followed","seq":{seq},"epoch":"e","position":{head},"after":{after},"events":[]}}"#
    )
}

/// The stream of session `s` is answered, which watches these resources; the log ends at `head`.
pub(crate) fn joined(seq: u64, head: u64, uris: &[&str]) -> String {
    let watched = Watched {
        session: claim("s 1"),
        uris: uris.iter().map(|name| uri(name)).collect(),
        is_held: false,
    };
    joined_as(seq, head, watched)
}

/// The same, where its client may not be ready.
pub(crate) fn joined_as(seq: u64, head: u64, watched: Watched) -> String {
    let position = Position(head);
    let epoch = "e".into();
    FollowAnswer::Followed(Followed {
        seq,
        mark: Mark { epoch, position },
        missed: Some(Missed {
            after: position,
            events: Vec::new(),
        }),
        is_settled: false,
        watches: vec![watched],
        room: None,
    })
    .to_json()
}

/// A change is answered.
pub(crate) fn confirmed(seq: u64, head: u64) -> String {
    format!(r#"{{"v":1,"type":"followed","seq":{seq},"epoch":"e","position":{head}}}"#)
}

/// The batch of one event.
pub(crate) fn batch(previous: u64, position: u64, event: &ServerEvent) -> String {
    let event = event.to_json();
    format!(
        r#"{{"v":1,"type":"batch","previous":{previous},"through":{position},"events":[{{"position":{position},"event":{event}}}]}}"#
    )
}

/// A bus takes what an edge says.
pub(crate) fn taken(bus: &mut Bus, edge: EdgeId, text: &str) -> FollowReply {
    match bus.handle_message(edge, text) {
        Ok(Received::Followed(reply)) => *reply,
        other => panic!("{other:?} to {text}"),
    }
}

/// What a bus answers, and what its edge has missed of all that was published.
pub(crate) fn answers(bus: &mut Bus, mut reply: FollowReply, log: &[ServerEvent]) -> Vec<String> {
    if let Some(Position(after)) = reply.replay_after() {
        let missed = usize::try_from(after).unwrap();
        for (position, event) in (after + 1..).zip(log.iter().skip(missed)) {
            reply.push_event(bus, Position(position), event);
        }
    }
    reply.finish(bus)
}

/// The one answer of a bus where nothing was missed.
pub(crate) fn answered(bus: &mut Bus, edge: EdgeId, follow: &Follow) -> FollowAnswer {
    let reply = taken(bus, edge, &follow.to_json());
    let frames = answers(bus, reply, &[]);
    FollowAnswer::from_json(&frames[0]).unwrap()
}
