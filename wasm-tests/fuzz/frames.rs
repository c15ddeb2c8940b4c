//! Frames and messages as their senders write them.

use mcp_listen::{
    bus::{
        Attach, Batch, BusMessage, EdgeMessage, Follow, FollowAnswer, Interest, Mark, Position,
        SessionCall, Taken,
    },
    event::ServerEvent,
    filter::SubscriptionFilter,
    message,
    topic::Topic,
};

use crate::any::id;

pub fn attach(filter: &SubscriptionFilter) -> String {
    EdgeMessage::Attach(Attach::new(Interest::Filter(filter.clone()))).to_json()
}

pub fn event(event: &ServerEvent, position: u64) -> String {
    let (event, position) = (event.clone(), Position(position));
    BusMessage::Event {
        position,
        previous: position.0.checked_sub(1).map(Position),
        at: None,
        event,
    }
    .to_json()
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

/// One of each other kind, of the edges and of the shards.
pub fn others() -> Vec<String> {
    let follow = Follow {
        seq: 3,
        add: vec![Topic::Tools],
        since: Some(Position(1)),
        joined: vec!["s".into()],
        ..Follow::default()
    };
    let mark = Mark {
        epoch: "e".into(),
        position: Position(2),
    };
    let event = ServerEvent::ToolsListChanged.to_json();
    let batch = Batch::write(
        &mark,
        None,
        None,
        &[(Position(2), event.as_str().into())],
        false,
    );
    let answer = FollowAnswer::Stale { seq: 2 }.to_json();
    let taken = Taken {
        edges: 2,
        is_retired: true,
    };
    let attached = BusMessage::Attached(mark).to_json();
    let session = r#"{"v":1,"type":"attach","interest":"everything","session":"s","since":{"epoch":"e","position":3}}"#;
    vec![
        follow.to_json(),
        batch,
        answer,
        taken.to_json(),
        SessionCall::Changed("s".into()).to_json(),
        EdgeMessage::Detach.to_json(),
        attached,
        session.to_owned(),
    ]
}
