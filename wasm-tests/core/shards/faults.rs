//! Under any fault of the calls between a root and its shards, every listener receives its events.
//!
//! The model checker runs a root and its shards too, and checks the same of what they send. There
//! most calls arrive at once; here each one waits until a step lets it arrive or fail, so many
//! more fail while events wait. This draws arbitrary names, and runs as WebAssembly.

use mcp_listen::{bus::ShardId, event::ServerEvent, filter::SubscriptionFilter};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::world::World;
use crate::any::{any_event, any_filter, check};

/// One step.
#[derive(Clone, Debug)]
enum Act {
    Listen(SubscriptionFilter, bool),
    /// An edge is placed but never connects.
    Stray(bool),
    Publish(ServerEvent),
    Cut(usize),
    Leave(usize),
    Probe(usize),
    Return(usize),
    Arrive(usize),
    ArriveTwice(usize),
    Fail(usize, bool),
    /// Neither the call nor the news of its failure arrives.
    Vanish(usize),
    Pass(u64),
    Ring,
    Trim(u64),
    RestartRoot(bool),
    RestartShard(usize),
    Hibernate(usize),
}

fn any_act() -> impl Strategy<Value = Act> {
    let place = || 0..8usize;
    prop_oneof![
        6 => (any_filter(), any::<bool>()).prop_map(|(filter, is_far)| Act::Listen(filter, is_far)),
        2 => any::<bool>().prop_map(Act::Stray),
        10 => any_event().prop_map(Act::Publish),
        2 => place().prop_map(Act::Cut),
        2 => place().prop_map(Act::Leave),
        1 => place().prop_map(Act::Probe),
        3 => place().prop_map(Act::Return),
        14 => place().prop_map(Act::Arrive),
        1 => place().prop_map(Act::ArriveTwice),
        2 => (place(), any::<bool>()).prop_map(|(at, is_overloaded)| Act::Fail(at, is_overloaded)),
        1 => place().prop_map(Act::Vanish),
        3 => (0..12_000u64).prop_map(Act::Pass),
        2 => Just(Act::Ring),
        1 => (0..6u64).prop_map(Act::Trim),
        1 => any::<bool>().prop_map(Act::RestartRoot),
        1 => place().prop_map(Act::RestartShard),
        1 => place().prop_map(Act::Hibernate),
    ]
}

fn act(world: &mut World, act: Act) {
    match act {
        Act::Listen(filter, is_far) => {
            world.listen(filter, continent(is_far));
        }
        Act::Stray(is_far) => world.stray(continent(is_far)),
        Act::Publish(event) => {
            world.publish(&event);
        }
        Act::Cut(at) => of_listeners(world, at, |world, listener| world.cut(listener, false)),
        Act::Leave(at) => of_listeners(world, at, |world, listener| world.cut(listener, true)),
        Act::Probe(at) => of_listeners(world, at, World::probe),
        Act::Return(at) => {
            let lost = world.lost();
            if let Some(listener) = lost.get(at % lost.len().max(1)) {
                world.come(*listener);
            }
        }
        Act::Arrive(at) => of_mail(world, at, |world, at| {
            let mail = world.mail.remove(at);
            world.arrive(mail);
        }),
        Act::ArriveTwice(at) => of_mail(world, at, |world, at| {
            let mail = world.mail[at].clone();
            world.arrive(mail);
        }),
        Act::Fail(at, is_overloaded) => of_mail(world, at, |world, at| {
            let mail = world.mail.remove(at);
            world.fail(&mail, is_overloaded);
        }),
        Act::Vanish(at) => of_mail(world, at, |world, at| {
            world.mail.remove(at);
        }),
        Act::Pass(ms) => world.pass(ms),
        Act::Ring => world.ring(),
        Act::Trim(count) => world.trim(count),
        Act::RestartRoot(keeps_sockets) => world.restart_root(keeps_sockets),
        Act::RestartShard(at) => of_shards(world, at, World::restart_shard),
        Act::Hibernate(at) => of_shards(world, at, World::hibernate),
    }
}

fn continent(is_far: bool) -> &'static str {
    if is_far { "OC" } else { "EU" }
}

fn of_listeners(world: &mut World, at: usize, act: impl Fn(&mut World, usize)) {
    let listeners = world.listeners.iter().enumerate();
    let attached = listeners.filter(|(_, listener)| listener.is_attached());
    let attached: Vec<usize> = attached.map(|(number, _)| number).collect();
    if let Some(listener) = attached.get(at % attached.len().max(1)) {
        act(world, *listener);
    }
}

fn of_mail(world: &mut World, at: usize, act: impl Fn(&mut World, usize)) {
    if !world.mail.is_empty() {
        act(world, at % world.mail.len());
    }
}

fn of_shards(world: &mut World, at: usize, act: impl Fn(&mut World, ShardId)) {
    let shards: Vec<ShardId> = world.shards.keys().copied().collect();
    if let Some(shard) = shards.get(at % shards.len().max(1)) {
        act(world, *shard);
    }
}

#[test]
fn every_listener_receives_its_events_under_any_fault() {
    check(vec(any_act(), 0..80), |acts| {
        let mut world = World::new();
        for next in acts {
            act(&mut world, next);
        }
        world.come_to_rest();
        world.check_promises();
        world.clear();
        world.come_to_rest();
        world.publish_what_is_followed();
        world.come_to_rest();
        world.check_forgotten();
    });
}
