//! A deliverer in any order of steps: whatever is late, fails or is lost, each subscription
//! receives what is for it once everything works again, or learns that it does not.

mod client;
mod judge;
mod peers;
mod world;

use mcp_listen::events::Window;
use proptest::{collection::vec, prelude::*, sample::Index};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::check;

use client::{NAMES, PRINCIPALS, TASTES};
use peers::{Reaction, Reply};
use world::World;

#[derive(Clone, Debug)]
enum Step {
    /// Makes or renews a subscription.
    Subscribe {
        who: usize,
        groups: Vec<usize>,
        /// Up to where the client has everything.
        has: Option<Index>,
        is_allowed: bool,
    },
    /// Publishes, and wakes the deliverer at once or later.
    Publish {
        of: usize,
        value: u64,
        group: Option<usize>,
        is_woken: bool,
    },
    Wake(usize),
    /// The bus reads what was requested, and its reply arrives later.
    Fetch(Index),
    Reply(Index, Reply),
    Respond(Index, Reaction),
    RespondAll(Reaction),
    /// A reply of bus or server, or the outcome of a message never arrives.
    LoseReply(Index),
    LoseOutcome(Index),
    /// Time passes with its alarms. All responses arrive, or none.
    Pass(u64, Option<Reaction>),
    /// Time passes, in which something is published every minute.
    PassWith(usize),
    /// Time passes in which the alarm is late.
    Skip(u64),
    Unsubscribe(usize),
    /// A caller is disconnected, of which the deliverer learns late.
    Disconnect(usize, u64),
    /// What is under way is lost. The alarm remains or is lost, too.
    Restart(bool),
    LoseLog,
}

fn any_groups() -> impl Strategy<Value = Vec<usize>> {
    prop::sample::subsequence(vec![0usize, 1], 0..=2)
}

fn any_subscribe() -> impl Strategy<Value = Step> {
    let has = prop::option::of(any::<Index>());
    let is_allowed = prop::bool::weighted(0.8);
    (0..TASTES.len(), any_groups(), has, is_allowed).prop_map(|(who, groups, has, is_allowed)| {
        Step::Subscribe {
            who,
            groups,
            has,
            is_allowed,
        }
    })
}

fn any_publish() -> impl Strategy<Value = Step> {
    let group = prop::option::weighted(0.3, 0..2usize);
    (0..NAMES.len(), 0..4u64, group, any::<bool>()).prop_map(|(of, value, group, is_woken)| {
        Step::Publish {
            of,
            value,
            group,
            is_woken,
        }
    })
}

fn any_reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        6 => Just(Reply::Succeed),
        2 => Just(Reply::Fail),
        1 => any_groups().prop_map(Reply::Regroup),
        1 => Just(Reply::Deny),
    ]
}

fn any_reaction() -> impl Strategy<Value = Reaction> {
    prop_oneof![
        6 => Just(Reaction::Accept),
        2 => prop::sample::select(vec![302u16, 410, 413, 500, 503]).prop_map(Reaction::Status),
        1 => prop::sample::select(vec![1_000u64, 60_000, 7_200_000]).prop_map(Reaction::Wait),
        1 => Just(Reaction::Refuse),
        1 => Just(Reaction::Unsent),
    ]
}

/// Spans are multiples of half a second: while messages are being sent, a deliverer looks for what
/// is due at most every tenth of a second.
fn any_pass() -> impl Strategy<Value = Step> {
    let spans = vec![500u64, 1_000, 5_000, 31_000, 130_000, 600_000];
    let reaction = prop::option::of(any_reaction());
    (prop::sample::select(spans), reaction).prop_map(|(span, reaction)| Step::Pass(span, reaction))
}

fn any_step() -> impl Strategy<Value = Step> {
    let one = any::<Index>;
    let late = prop::sample::select(vec![0u64, 500, 10_000]);
    let skipped = prop::sample::select(vec![2_000u64, 40_000, 700_000, 270_000_000]);
    prop_oneof![
        5 => any_subscribe(),
        12 => any_publish(),
        3 => (0..NAMES.len()).prop_map(Step::Wake),
        3 => one().prop_map(Step::Fetch),
        10 => (one(), any_reply()).prop_map(|(index, reply)| Step::Reply(index, reply)),
        10 => (one(), any_reaction()).prop_map(|(index, with)| Step::Respond(index, with)),
        6 => any_reaction().prop_map(Step::RespondAll),
        2 => one().prop_map(Step::LoseReply),
        1 => one().prop_map(Step::LoseOutcome),
        8 => any_pass(),
        2 => (0..NAMES.len()).prop_map(Step::PassWith),
        1 => skipped.prop_map(Step::Skip),
        1 => (0..TASTES.len()).prop_map(Step::Unsubscribe),
        1 => (0..PRINCIPALS.len(), late).prop_map(|(who, late)| Step::Disconnect(who, late)),
        3 => any::<bool>().prop_map(Step::Restart),
        1 => Just(Step::LoseLog),
    ]
}

fn take(world: &mut World, step: Step) {
    world.begin();
    let (requests, messages) = world.waiting();
    match step {
        Step::Subscribe {
            who,
            groups,
            has,
            is_allowed,
        } => {
            // A little beyond the end, too.
            let ends = usize::try_from(world.head()).unwrap() + 3;
            let has = has.map(|has| has.index(ends) as u64);
            world.subscribe(who, &groups, has, is_allowed);
        }
        Step::Publish {
            of,
            value,
            group,
            is_woken,
        } => {
            world.publish(of, value, group);
            if is_woken {
                world.wake(of);
            }
        }
        Step::Wake(of) => world.wake(of),
        Step::Fetch(index) if requests > 0 => world.fetch(index.index(requests)),
        Step::Reply(index, reply) if requests > 0 => world.reply(index.index(requests), &reply),
        Step::Respond(index, reaction) if messages > 0 => {
            world.respond(index.index(messages), reaction);
        }
        Step::LoseReply(index) if requests > 0 => world.lose_reply(index.index(requests)),
        Step::LoseOutcome(index) if messages > 0 => world.lose_outcome(index.index(messages)),
        Step::Fetch(_)
        | Step::Reply(..)
        | Step::Respond(..)
        | Step::LoseReply(_)
        | Step::LoseOutcome(_) => {}
        Step::RespondAll(reaction) => world.respond_all(reaction),
        Step::Pass(span, reaction) => world.pass(span, reaction),
        Step::PassWith(of) => {
            for _ in 0..12 {
                world.publish(of, 1, None);
                world.wake(of);
                world.pass(60_000, Some(Reaction::Accept));
            }
        }
        Step::Skip(span) => world.skip(span),
        Step::Unsubscribe(who) => world.unsubscribe(who),
        Step::Disconnect(caller, late) => world.disconnect(caller, late),
        Step::Restart(keeps_alarm) => world.restart(keeps_alarm),
        Step::LoseLog => world.lose_log(),
    }
}

fn run(window: Window, steps: Vec<Step>) {
    let mut world = World::new(window);
    for step in steps {
        take(&mut world, step);
    }
    world.end();
}

#[test]
fn each_subscription_receives_what_is_for_it_once_everything_works_again() {
    check(vec(any_step(), 1..60), |steps| {
        run(Window::default(), steps);
    });
}

#[test]
fn each_subscription_receives_what_the_log_has_and_learns_of_what_it_has_lost() {
    let window = || Window {
        events: 3,
        ..Window::default()
    };
    check(vec(any_step(), 1..60), |steps| run(window(), steps));
}
