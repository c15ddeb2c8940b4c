use std::collections::BTreeSet;

use mcp_listen::{
    bus::ShardId,
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    position::{Cursor, Position},
    topic::Topic,
    wire::{Batch, Follow, FollowResponse},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::world::{Mail, PER_SHARD, World, bus_with_shards};
use crate::any::{task, updated, uri};
use crate::follow::Publish as _;

fn watching(text: &str) -> SubscriptionFilter {
    SubscriptionFilter {
        resource_subscriptions: vec![uri(text)],
        ..SubscriptionFilter::default()
    }
}

/// A world with shards, whose first edges have settled there.
pub(super) fn sharded(filters: &[SubscriptionFilter]) -> World {
    let mut world = World::new();
    for _ in 0..=PER_SHARD {
        world.listen(tools(), "EU");
    }
    for filter in filters {
        world.listen(filter.clone(), "EU");
    }
    world.come_to_rest();
    world
}

pub(super) fn tools() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    }
}

fn batches(world: &World) -> Vec<(ShardId, Batch)> {
    let batches = world.mail.iter().filter_map(|mail| match mail {
        Mail::Batch { shard, text, .. } => Some((*shard, Batch::from_json(text).unwrap())),
        _ => None,
    });
    batches.collect()
}

#[test]
fn edges_of_the_root_move_to_shards_without_a_loss() {
    let mut world = World::new();
    for _ in 0..PER_SHARD {
        world.listen(tools(), "EU");
    }
    assert!(world.shards.is_empty());
    world.publish(&ServerEvent::ToolsListChanged);
    world.listen(tools(), "EU");
    assert_eq!(world.lost().len(), PER_SHARD as usize);
    world.publish(&ServerEvent::ToolsListChanged);
    world.come_to_rest();
    world.check_promises();
    assert_eq!(world.shards.len(), 2);
    let received = world
        .listeners
        .iter()
        .map(|listener| listener.received.len());
    // The last one attached after that.
    assert_eq!(received.collect::<Vec<_>>(), [2, 2, 2, 0]);
}

#[test]
fn an_event_goes_once_to_each_shard_that_follows_it() {
    let mut world = sharded(&[watching("a"), watching("b"), watching("a")]);
    let shards = world.shards.len();
    assert!(shards >= 3);
    let home = world.listeners[PER_SHARD as usize + 1].home.unwrap();
    world.publish(&updated("a"));
    let to: Vec<ShardId> = batches(&world).iter().map(|(shard, _)| *shard).collect();
    assert!(
        to.contains(&home) && to.len() < shards,
        "{to:?} of {shards}"
    );
    world.come_to_rest();
    world.publish(&updated("unfollowed"));
    assert!(world.mail.is_empty());
    world.publish(&ServerEvent::ToolsListChanged);
    world.publish(&ServerEvent::ToolsListChanged);
    // One batch is in flight to each: later events form the next one.
    let tools = &world.listeners[..=PER_SHARD as usize];
    let homes: BTreeSet<_> = tools.iter().filter_map(|listener| listener.home).collect();
    let to: BTreeSet<_> = batches(&world)
        .iter()
        .map(|(shard, _)| Some(*shard))
        .collect();
    assert_eq!(batches(&world).len(), homes.len());
    assert_eq!(to, homes.into_iter().map(Some).collect());
    world.come_to_rest();
    world.check_promises();
}

#[test]
fn a_storm_costs_a_shard_two_calls() {
    let mut world = sharded(&[]);
    let before = world.calls;
    for _ in 0..200 {
        world.publish(&ServerEvent::ToolsListChanged);
    }
    world.come_to_rest();
    assert_eq!(world.calls - before, 2 * world.shards.len());
    assert_eq!(world.listeners[0].received.len(), 200);
}

#[test]
fn large_events_are_spread_over_calls() {
    let filter = SubscriptionFilter {
        task_ids: vec![crate::any::task_id("t")],
        ..SubscriptionFilter::default()
    };
    let mut world = sharded(&[filter]);
    let text = "x".repeat(16_000);
    let state = task(&format!(
        r#"{{"taskId":"t","status":"working","x":"{text}"}}"#
    ));
    for _ in 0..100 {
        world.publish(&state);
    }
    let mut largest = 0;
    while !world.mail.is_empty() {
        for (_, batch) in batches(&world) {
            largest = largest.max(batch.events.len());
        }
        let mail = world.mail.remove(0);
        if matches!(mail, Mail::BatchAck { .. }) && largest == 65 {
            // The second half is lost: the first batch reaches only as far as it says.
            largest = 66;
            world.arrive(mail);
            let next = world.mail.remove(0);
            world.fail(&next, false);
            continue;
        }
        world.arrive(mail);
    }
    world.come_to_rest();
    world.check_promises();
    assert_eq!(world.listeners.last().unwrap().received.len(), 100);
}

#[test]
fn a_late_shard_is_called_again_and_delivers_each_event_once() {
    let mut world = sharded(&[]);
    world.publish(&ServerEvent::ToolsListChanged);
    let late = std::mem::take(&mut world.mail);
    world.pass(9_999);
    assert!(world.mail.is_empty());
    world.pass(1);
    world.pass(200);
    assert_eq!(batches(&world).len(), 2);
    world.mail.extend(late);
    world.come_to_rest();
    world.check_promises();
    assert_eq!(world.listeners[0].received.len(), 1);
}

#[test]
fn an_overloaded_shard_gets_a_longer_pause() {
    let wait = |is_overloaded: bool| {
        let mut world = sharded(&[]);
        world.publish(&ServerEvent::ToolsListChanged);
        for mail in std::mem::take(&mut world.mail) {
            world.fail(&mail, is_overloaded);
        }
        world.root.bus().poll_timeout().unwrap() - world.now
    };
    assert_eq!(wait(false), Millis(150));
    assert_eq!(wait(true), Millis(3_250));
}

#[test]
fn events_beyond_the_outbox_are_read_from_the_log() {
    let both = SubscriptionFilter {
        tools_list_changed: true,
        ..watching("a")
    };
    let mut world = sharded(&[both]);
    world.publish(&ServerEvent::ToolsListChanged);
    let silent = std::mem::take(&mut world.mail);
    world.publish(&updated("a"));
    for _ in 0..1_500 {
        world.publish(&ServerEvent::ToolsListChanged);
    }
    assert!(world.mail.is_empty());
    for mail in silent {
        world.arrive(mail);
    }
    world.come_to_rest();
    world.check_promises();
    let last = world.listeners.last().unwrap();
    assert!(last.received.contains(&Position(2)), "what was left out");
    assert_eq!(last.received.last(), Some(&Position(1_502)));
}

#[test]
fn events_beyond_one_reply_count_as_trimmed() {
    let cursor = Cursor {
        epoch: "e".into(),
        position: Position(0),
    };
    let mut root = bus_with_shards(cursor, Position(0), 0, 1);
    root.route("EU", 1, None);
    let follow = |seq: u64, since: Option<Position>| Follow {
        seq,
        since,
        add: vec![Topic::Everything],
        ..Follow::default()
    };
    let reply = root.handle_follow(ShardId(1), &follow(1, None).to_json());
    reply.unwrap();
    let text = "x".repeat(16_000);
    let state = |id: u64| {
        task(&format!(
            r#"{{"taskId":"{id}","status":"working","x":"{text}"}}"#
        ))
    };
    for id in 1..=600 {
        root.publish(&state(id));
    }
    let since = follow(2, Some(Position(0))).to_json();
    let mut reply = root.handle_follow(ShardId(1), &since).unwrap();
    assert_eq!(reply.replay_after(), Some(Position(0)));
    for id in 1..=600 {
        reply.push_event(&root, Position(id), &state(id));
    }
    let Ok(FollowResponse::Followed(reported)) =
        FollowResponse::from_json(&reply.finish(&mut root)[0])
    else {
        panic!("not followed");
    };
    let missed = reported.missed.unwrap();
    let first = missed.events.first().unwrap().0;
    assert_eq!(missed.after, first.previous());
    assert!((500..540).contains(&missed.events.len()));
}

#[test]
fn trimmed_events_are_recovered_by_cues() {
    let mut world = sharded(&[]);
    world.publish(&ServerEvent::ToolsListChanged);
    world.mail.clear();
    for _ in 0..3 {
        world.publish(&updated("unfollowed"));
    }
    world.trim(2);
    world.restart_root(false);
    world.come_to_rest();
    world.check_promises();
}

#[test]
fn a_restarted_root_resends_unconfirmed_events() {
    let mut world = sharded(&[]);
    world.publish(&ServerEvent::ToolsListChanged);
    world.mail.clear();
    world.restart_root(false);
    assert_eq!(batches(&world).len(), 2);
    world.come_to_rest();
    world.check_promises();
    world.ring();
    let Position(settled) = world.disk.rows.settled;
    assert_eq!(settled, 1);
    world.restart_root(false);
    assert!(world.mail.is_empty());
}

#[test]
fn nothing_is_settled_before_every_shard_has_confirmed() {
    let mut world = sharded(&[]);
    world.publish(&ServerEvent::ToolsListChanged);
    let held = world.mail.pop().unwrap();
    while !world.mail.is_empty() {
        let mail = world.mail.remove(0);
        world.arrive(mail);
    }
    world.ring();
    assert_eq!(world.disk.rows.settled, Position(0));
    world.arrive(held);
    world.come_to_rest();
    world.ring();
    assert_eq!(world.disk.rows.settled, Position(1));
}

#[test]
fn a_pending_call_of_a_restarted_shard_is_forgotten() {
    let epoch = Cursor {
        epoch: "e".into(),
        position: Position(0),
    };
    let mut root = bus_with_shards(epoch, Position(0), 0, 1);
    root.route("EU", 1, None);
    let shard = ShardId(1);
    let ack = r#"{"v":1,"type":"ack","edges":0}"#;
    let call = root.poll_batch(Millis(0)).unwrap().call;
    root.handle_ack(shard, call, ack, Millis(0), 0.5).unwrap();
    let follow = |seq: u64| {
        format!(r#"{{"v":1,"type":"follow","seq":{seq},"fresh":true,"edges":1,"add":["tools"]}}"#)
    };
    root.handle_follow(shard, &follow(1)).unwrap();
    let event = ServerEvent::ToolsListChanged;
    root.publish(&event);
    assert!(root.poll_batch(Millis(0)).is_some());
    // The shard was reset during the call, and has everything from its reply.
    root.handle_follow(shard, &follow(2)).unwrap();
    root.handle_timeout(Millis(10_000), 0.5);
    assert!(root.is_settled());
    assert_eq!(root.poll_timeout(), None);
}

#[test]
fn unwanted_topics_are_dropped_after_a_failed_call() {
    let mut world = sharded(&[watching("a")]);
    let followed = |world: &World, topic: &str| {
        let topic = Topic::Resource(uri(topic));
        world.disk.rows.has_follower(&topic)
    };
    assert!(followed(&world, "a"));
    let home = world.listeners.last().unwrap().home.unwrap();
    world.cut(PER_SHARD as usize + 1, true);
    // Edges return: the topic stays until an unwanted event arrives.
    assert!(world.mail.is_empty() && followed(&world, "a"));
    world.publish(&updated("a"));
    let batch = world.mail.remove(0);
    world.arrive(batch);
    let follow = world
        .mail
        .iter()
        .position(|mail| matches!(mail, Mail::Follow { .. }));
    let follow = world.mail.remove(follow.unwrap());
    world.fail(&follow, false);
    // The next call repeats it, whatever its purpose.
    world.listen_at(watching("b"), home);
    world.come_to_rest();
    assert!(!followed(&world, "a"));
    world.publish(&updated("a"));
    assert!(world.mail.is_empty());
}

#[test]
fn a_shard_is_not_removed_before_its_edges_are_gone() {
    let mut world = sharded(&[]);
    for listener in 0..PER_SHARD as usize {
        world.cut(listener, true);
    }
    world.pass(10);
    world.publish(&ServerEvent::ToolsListChanged);
    let held: Vec<Mail> = std::mem::take(&mut world.mail);
    // Their edges are few, and they have to close them, while a batch is still pending.
    world.pass(9_990);
    for mail in std::mem::take(&mut world.mail) {
        world.arrive(mail);
    }
    assert!(!world.disk.rows.has_shards());
    for mail in held {
        world.arrive(mail);
    }
    let ack = world
        .mail
        .iter()
        .position(|mail| matches!(mail, Mail::BatchAck { .. }));
    let ack = world.mail.remove(ack.unwrap());
    world.arrive(ack);
    assert_eq!(world.disk.rows.shards.len(), 2);
    world.come_to_rest();
    assert!(world.disk.rows.shards.is_empty() && world.disk.rows.topics.is_empty());
    world.check_promises();
    // The root holds its edges itself again.
    assert_eq!(world.listeners[PER_SHARD as usize].home, None);
}
