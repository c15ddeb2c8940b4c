use std::collections::BTreeSet;

use mcp_listen::{
    bus::{Mark, Position, ShardId},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    topic::Topic,
    wire::{Batch, Follow, FollowAnswer},
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

/// A world with shards: those of the first edges, which have come to rest there.
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
fn the_root_lets_its_edges_go_when_it_opens_shards_and_they_miss_nothing() {
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
    let heard = world.listeners.iter().map(|listener| listener.heard.len());
    // The last one attached after that.
    assert_eq!(heard.collect::<Vec<_>>(), [2, 2, 2, 0]);
}

#[test]
fn an_event_goes_once_to_each_shard_that_follows_it_and_to_no_other() {
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
    world.publish(&updated("nobody's"));
    assert!(world.mail.is_empty());
    world.publish(&ServerEvent::ToolsListChanged);
    world.publish(&ServerEvent::ToolsListChanged);
    // One batch is on its way to each: what comes meanwhile makes the next one.
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
    assert_eq!(world.listeners[0].heard.len(), 200);
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
        if matches!(mail, Mail::Taken { .. }) && largest == 65 {
            // The second half is lost on its way: the first has not reached further than it says.
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
    assert_eq!(world.listeners.last().unwrap().heard.len(), 100);
}

#[test]
fn a_shard_that_answers_late_is_called_again_and_hears_each_event_once() {
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
    assert_eq!(world.listeners[0].heard.len(), 1);
}

#[test]
fn an_overloaded_shard_is_left_alone_for_longer() {
    let wait = |is_overloaded: bool| {
        let mut world = sharded(&[]);
        world.publish(&ServerEvent::ToolsListChanged);
        for mail in std::mem::take(&mut world.mail) {
            world.fail(&mail, is_overloaded);
        }
        world.bus.poll_timeout().unwrap() - world.now
    };
    assert_eq!(wait(false), Millis(150));
    assert_eq!(wait(true), Millis(3_250));
}

#[test]
fn what_is_too_much_to_keep_for_a_shard_it_reads_from_the_log() {
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
    assert!(last.heard.contains(&Position(2)), "what was left out");
    assert_eq!(last.heard.last(), Some(&Position(1_502)));
}

#[test]
fn what_one_answer_cannot_carry_counts_as_gone_from_the_log() {
    let mark = Mark {
        epoch: "e".into(),
        position: Position(0),
    };
    let mut root = bus_with_shards(mark, Position(0), 0, 1);
    root.place("EU", 1, None);
    let follow = |seq: u64, since: Option<Position>| Follow {
        seq,
        since,
        add: vec![Topic::Everything],
        ..Follow::default()
    };
    let answer = root.handle_follow(ShardId(1), &follow(1, None).to_json());
    answer.unwrap();
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
    let Ok(FollowAnswer::Followed(told)) = FollowAnswer::from_json(&reply.finish(&mut root)[0])
    else {
        panic!("not followed");
    };
    let missed = told.missed.unwrap();
    let first = missed.events.first().unwrap().0;
    assert_eq!(missed.after, first.previous());
    assert!((500..540).contains(&missed.events.len()));
}

#[test]
fn what_the_log_has_lost_is_made_up_for() {
    let mut world = sharded(&[]);
    world.publish(&ServerEvent::ToolsListChanged);
    world.mail.clear();
    for _ in 0..3 {
        world.publish(&updated("nobody's"));
    }
    world.trim(2);
    world.restart_root(false);
    world.come_to_rest();
    world.check_promises();
}

#[test]
fn a_restarted_root_sends_again_what_was_not_taken() {
    let mut world = sharded(&[]);
    world.publish(&ServerEvent::ToolsListChanged);
    world.mail.clear();
    world.restart_root(false);
    assert_eq!(batches(&world).len(), 2);
    world.come_to_rest();
    world.check_promises();
    world.ring();
    let Position(settled) = world.disk.settled;
    assert_eq!(settled, 1);
    world.restart_root(false);
    assert!(world.mail.is_empty());
}

#[test]
fn nothing_is_settled_before_every_shard_has_answered() {
    let mut world = sharded(&[]);
    world.publish(&ServerEvent::ToolsListChanged);
    let held = world.mail.pop().unwrap();
    while !world.mail.is_empty() {
        let mail = world.mail.remove(0);
        world.arrive(mail);
    }
    world.ring();
    assert_eq!(world.disk.settled, Position(0));
    world.arrive(held);
    world.come_to_rest();
    world.ring();
    assert_eq!(world.disk.settled, Position(1));
}

#[test]
fn a_call_that_a_shard_which_began_anew_never_answers_leaves_nothing_to_wait_for() {
    let epoch = Mark {
        epoch: "e".into(),
        position: Position(0),
    };
    let mut root = bus_with_shards(epoch, Position(0), 0, 1);
    root.place("EU", 1, None);
    let shard = ShardId(1);
    let taken = r#"{"v":1,"type":"taken","edges":0}"#;
    let call = root.poll_batch(Millis(0)).unwrap().call;
    root.handle_taken(shard, call, taken, Millis(0), 0.5)
        .unwrap();
    let follow = |seq: u64| {
        format!(r#"{{"v":1,"type":"follow","seq":{seq},"fresh":true,"edges":1,"add":["tools"]}}"#)
    };
    root.handle_follow(shard, &follow(1)).unwrap();
    let event = ServerEvent::ToolsListChanged;
    root.publish(&event);
    assert!(root.poll_batch(Millis(0)).is_some());
    // The shard was reset with the call on its way, and has everything from its answer.
    root.handle_follow(shard, &follow(2)).unwrap();
    root.handle_timeout(Millis(10_000), 0.5);
    assert!(root.is_settled());
    assert_eq!(root.poll_timeout(), None);
}

#[test]
fn keys_that_nobody_wants_are_dropped_even_when_the_first_try_fails() {
    let mut world = sharded(&[watching("a")]);
    let followed = |world: &World, topic: &str| {
        let topic = Topic::Resource(uri(topic));
        world
            .disk
            .topics
            .iter()
            .any(|(_, followed)| *followed == topic)
    };
    assert!(followed(&world, "a"));
    let home = world.listeners.last().unwrap().home.unwrap();
    world.cut(PER_SHARD as usize + 1, true);
    // Edges come back: the topic is kept until an event comes for nothing.
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
    // The next call says it again, whatever it is made for.
    world.listen_at(watching("b"), home);
    world.come_to_rest();
    assert!(!followed(&world, "a"));
    world.publish(&updated("a"));
    assert!(world.mail.is_empty());
}

#[test]
fn a_shard_is_not_forgotten_before_its_edges_have_gone() {
    let mut world = sharded(&[]);
    for listener in 0..PER_SHARD as usize {
        world.cut(listener, true);
    }
    world.pass(10);
    world.publish(&ServerEvent::ToolsListChanged);
    let held: Vec<Mail> = std::mem::take(&mut world.mail);
    // Their edges are few, and they are to let them go, while they have yet to take a batch.
    world.pass(9_990);
    for mail in std::mem::take(&mut world.mail) {
        world.arrive(mail);
    }
    assert!(
        world
            .disk
            .shards
            .values()
            .all(|(_, _, is_leaving)| *is_leaving)
    );
    for mail in held {
        world.arrive(mail);
    }
    let taken = world
        .mail
        .iter()
        .position(|mail| matches!(mail, Mail::Taken { .. }));
    let taken = world.mail.remove(taken.unwrap());
    world.arrive(taken);
    assert_eq!(world.disk.shards.len(), 2);
    world.come_to_rest();
    assert!(world.disk.shards.is_empty() && world.disk.topics.is_empty());
    world.check_promises();
    // The root holds its edges itself again.
    assert_eq!(world.listeners[PER_SHARD as usize].home, None);
}
