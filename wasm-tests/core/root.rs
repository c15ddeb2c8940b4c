//! What a root decides between its bus, its log and its sessions.

use mcp_listen::{
    bus::{BatchCall, EdgeId, JournalEntry, Route, Shard, ShardId},
    clock::Millis,
    event::ServerEvent,
    position::Position,
    root::{RootOutput, RootReceived},
    session::{Ask, SessionStore as _},
    topic::Topic,
    wire::{Claim, Follow, ProtocolError},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{claim, updated, uri},
    follow::{self, Receivers as _},
    log::{Root, Unreadable},
    session_root::SessionRoot,
};

const NOW: Millis = Millis(0);
/// How long the session lives without a request or a stream.
const IDLE: Millis = Millis(1_000);

impl SessionRoot {
    /// Attaches the stream of the session at a new edge.
    fn join(&mut self) -> (EdgeId, RootReceived) {
        let edge = self.root.bus_mut().connect();
        let follow = of_stream(1).to_json();
        (edge, self.root.handle_message(edge, &follow, NOW).unwrap())
    }

    /// The shard with the stream of the session, according to the store.
    fn shard_of_session(&self) -> Option<u32> {
        self.rows.get("s").unwrap().unwrap().shard
    }
}

fn of_stream(stream: u32) -> Follow {
    Follow {
        joined: vec![claim(&format!("s {stream}"))],
        ..Follow::fresh(stream.into(), vec![Topic::Tools])
    }
}

#[test]
fn the_edge_of_a_session_follows_its_subscriptions() {
    let mut world = SessionRoot::new();
    world.watch("a");
    let (edge, received) = world.join();
    let RootReceived::Followed {
        session, frames, ..
    } = received
    else {
        panic!("{received:?}")
    };
    assert_eq!((session, frames.len()), (Some(claim("s 1")), 1));
    assert_eq!(world.publish(&updated("a")).edges(), [edge]);
    assert_eq!(world.publish(&updated("b")).edges(), []);
    world.watch("b");
    let outputs = world.outputs();
    assert!(matches!(&outputs[..], [RootOutput::Send(to, _)] if *to == edge));
    assert_eq!(world.publish(&updated("b")).edges(), [edge]);
}

#[test]
fn an_edge_whose_session_is_over_is_released() {
    let mut world = SessionRoot::new();
    world.ask(Ask::End {
        is_forwarded: false,
    });
    let (_, received) = world.join();
    assert_eq!(received, RootReceived::Released);
}

#[test]
fn a_frame_that_cannot_be_read_is_dropped() {
    let mut world = SessionRoot::new();
    let edge = world.root.bus_mut().connect();
    let received = world.root.handle_message(edge, "{", NOW).unwrap();
    assert_eq!(received, RootReceived::Dropped(ProtocolError::Malformed));
    let reply = world.root.handle_follow(ShardId(1), "{", NOW).unwrap();
    assert_eq!(reply, Err(ProtocolError::Malformed));
}

#[test]
fn a_restored_edge_follows_the_subscriptions_of_its_session() {
    let mut world = SessionRoot::new();
    world.join();
    world.watch("a");
    world.root = Root::new(world.log.clone(), Some(world.rows.clone()));
    let topics = [Topic::Tools].into_iter().collect();
    let restored = world.root.restore(&topics, None, 1, Some(&claim("s 1")));
    let edge = restored.unwrap().unwrap();
    world.root.handle_restored(NOW).unwrap();
    assert_eq!(world.publish(&updated("a")).edges(), [edge]);
    assert_eq!(world.shard_of_session(), Some(0));
}

#[test]
fn an_edge_is_not_restored_if_its_session_is_over() {
    let mut world = SessionRoot::new();
    let topics = [Topic::Tools].into_iter().collect();
    for session in ["s 0", "other 1"] {
        let claim: Claim = claim(session);
        world.join();
        let restored = world.root.restore(&topics, None, 1, Some(&claim)).unwrap();
        assert_eq!(restored, None, "{session}");
    }
    assert_eq!(world.root.bus().registry().attached(), 2);
}

#[test]
fn a_session_has_no_stream_once_its_edge_was_not_restored() {
    let mut world = SessionRoot::new();
    world.join();
    assert_eq!(world.shard_of_session(), Some(0));
    world.root = Root::new(world.log.clone(), Some(world.rows.clone()));
    world.root.handle_restored(NOW).unwrap();
    assert_eq!(world.shard_of_session(), None);
}

#[test]
fn events_after_a_failed_read_of_the_log_are_replayed() {
    let mut world = SessionRoot::new();
    let since = mcp_listen::root::Log::cursor(&world.log);
    for event in [
        ServerEvent::ToolsListChanged,
        ServerEvent::PromptsListChanged,
        updated("a"),
    ] {
        world.publish(&event);
    }
    let topics = vec![Topic::Tools, Topic::Resource(uri("a"))];
    let follow = Follow::fresh(1, topics).since(&since).to_json();
    let edge = world.root.bus_mut().connect();
    world.log.fail_after(1);
    let failed = world.root.handle_message(edge, &follow, NOW);
    assert_eq!(failed, Err(Unreadable));
    let again = world.root.bus_mut().connect();
    let received = world.root.handle_message(again, &follow, NOW);
    assert_eq!(replayed(received), [Position(1), Position(3)]);
}

#[test]
fn the_index_of_the_log_is_dropped_once_the_log_was_trimmed() {
    let mut world = SessionRoot::new();
    let since = mcp_listen::root::Log::cursor(&world.log);
    world.publish(&ServerEvent::ToolsListChanged);
    let edge = world.root.bus_mut().connect();
    let follow = Follow::fresh(1, vec![Topic::Tools]).since(&since);
    let received = world
        .root
        .handle_message(edge, &follow.to_json(), NOW)
        .unwrap();
    assert_eq!(replayed(Ok(received)), [Position(1)]);
    world.publish(&updated("a"));
    assert!(world.root.bus().is_log_indexed(), "nothing was trimmed");
    world.log.trim(1);
    world.publish(&updated("b"));
    assert!(!world.root.bus().is_log_indexed());
}

/// Returns the positions of the events that a reply replays.
fn replayed(received: Result<RootReceived, Unreadable>) -> Vec<Position> {
    let Ok(RootReceived::Followed { frames, .. }) = received else {
        panic!("{received:?}")
    };
    frames[1..]
        .iter()
        .flat_map(|it| follow::positions(it))
        .collect()
}

#[test]
fn the_sessions_of_a_closed_shard_have_no_stream() {
    let mut world = SessionRoot::new();
    let bus = world.root.bus_mut();
    bus.set_shards(Position(0), 0, 1);
    let Route::Shard(shard) = bus.route("EU", 1, None) else {
        panic!("no shard was opened")
    };
    let follow = Follow {
        is_fresh: false,
        is_low: true,
        ..of_stream(1)
    };
    let reply = world.root.handle_follow(shard, &follow.to_json(), NOW);
    reply.unwrap().unwrap();
    assert_eq!(world.shard_of_session(), Some(shard.0));
    world.outputs();
    // Reports without an edge let the root close it.
    for call in 0.. {
        let ack = r#"{"v":1,"type":"ack","edges":0,"retired":true}"#;
        let bus = world.root.bus_mut();
        bus.handle_ack(shard, call, ack, NOW, 0.5).unwrap();
        let outputs = world.outputs();
        if outputs.contains(&RootOutput::Persist(JournalEntry::Closed(shard))) {
            break;
        }
        assert!(call < 10, "it is not closed: {outputs:?}");
    }
    assert_eq!(world.shard_of_session(), None);
}

/// Returns the calls of the root to shards.
fn batches(root: &mut Root, now: Millis) -> Vec<BatchCall> {
    let outputs = std::iter::from_fn(|| root.poll_output(now, now).unwrap());
    let batches = outputs.filter_map(|output| match output {
        RootOutput::Batch(call) => Some(call),
        _ => None,
    });
    batches.collect()
}

#[test]
fn sessions_end_whose_shard_restarted_together_with_the_root() {
    let mut world = SessionRoot::new();
    let restore = |root: &mut Root| {
        let bus = root.bus_mut();
        bus.set_shards(Position(0), 2, 10);
        bus.restore_shard(ShardId(1), "EU", 1, false);
        bus.restore_shard(ShardId(2), "EU", 1, false);
    };
    restore(&mut world.root);
    let follow = of_stream(2).to_json();
    world.ask(Ask::Open { resumes: true });
    let reply = world.root.handle_follow(ShardId(1), &follow, NOW).unwrap();
    reply.unwrap();
    assert_eq!(world.shard_of_session(), Some(1));

    world.root = Root::new(world.log.clone(), Some(world.rows.clone()));
    restore(&mut world.root);
    let mut shard = Shard::new(2);
    let mut now = NOW + IDLE;
    world.root.sweep(now).unwrap();
    assert_eq!(batches(&mut world.root, now), [], "it was just used");
    now = now + Millis(1);
    world.root.sweep(now).unwrap();
    let [call] = <[BatchCall; 1]>::try_from(batches(&mut world.root, now)).unwrap();
    assert_eq!(call.shard, ShardId(1), "the other one is not woken");
    let ack = shard.handle_batch(&call.text, now).unwrap();
    let bus = world.root.bus_mut();
    bus.handle_ack(ShardId(1), call.call, &ack, now, 0.5)
        .unwrap();
    now = now + Millis(10_000);
    shard.handle_timeout(now, 0.5);
    let follow = shard.poll_call(now).unwrap();
    let reply = world.root.handle_follow(ShardId(1), &follow.text, now);
    reply.unwrap().unwrap();
    assert_eq!(world.shard_of_session(), None);
    world.root.sweep(now + IDLE + Millis(1)).unwrap();
    assert_eq!(world.root.sessions_mut().unwrap().count(), Ok(0));
}

#[test]
fn a_shard_that_has_reported_is_not_asked_by_a_sweep() {
    let mut world = SessionRoot::new();
    world.root.bus_mut().set_shards(Position(0), 1, 10);
    let bus = world.root.bus_mut();
    bus.restore_shard(ShardId(1), "EU", 0, false);
    batches(&mut world.root, NOW);
    let follow = of_stream(1).to_json();
    let reply = world.root.handle_follow(ShardId(1), &follow, NOW).unwrap();
    reply.unwrap();
    let now = NOW + IDLE + Millis(1);
    world.root.sweep(now).unwrap();
    assert_eq!(batches(&mut world.root, now), []);
}
