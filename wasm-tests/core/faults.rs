//! Whatever happens between bus and edge, the last change of each subject is cued.

use mcp_listen::{clock::Millis, edge::Patience, event::ServerEvent};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{any_event, any_filter, check},
    world::{Door, World},
};

#[derive(Clone, Debug)]
enum Step {
    Publish(ServerEvent),
    Settle,
    Pass(u64),
    /// The frame that would come next is lost, comes twice, after the one behind it, or is cut short.
    Drop,
    Repeat,
    Swap,
    Truncate,
    Cut,
    BeginAnew,
    Door(Door),
    Draw(f64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let doors = prop::sample::select(
        &[
            Door::Open,
            Door::Open,
            Door::Shut,
            Door::Overloaded,
            Door::Silent,
        ][..],
    );
    prop_oneof![
        12 => any_event().prop_map(Step::Publish),
        6 => Just(Step::Settle),
        4 => (0u64..3_000).prop_map(Step::Pass),
        1 => (0u64..60_000).prop_map(Step::Pass),
        2 => Just(Step::Drop),
        2 => Just(Step::Repeat),
        2 => Just(Step::Swap),
        1 => Just(Step::Truncate),
        2 => Just(Step::Cut),
        1 => Just(Step::BeginAnew),
        3 => doors.prop_map(Step::Door),
        2 => (0.0..1.0).prop_map(Step::Draw),
    ]
}

fn take(world: &mut World, step: Step) {
    match step {
        Step::Publish(event) => world.publish(&event),
        Step::Settle => world.settle(),
        Step::Pass(span) => world.pass(span),
        Step::Drop => drop(world.wire.pop_front()),
        Step::Repeat => {
            let frame = world.wire.front().cloned();
            world.wire.extend(frame);
        }
        Step::Swap if world.wire.len() > 1 => world.wire.swap(0, 1),
        Step::Truncate => {
            if let Some(frame) = world.wire.front_mut() {
                frame.truncate(frame.len() / 2);
            }
        }
        Step::Swap => {}
        Step::Cut => world.cut(),
        Step::BeginAnew => world.begin_anew(),
        Step::Door(door) => world.door = door,
        Step::Draw(random) => world.random = random,
    }
}

/// Runs through faults, then lets a bus that is well do its part for long enough.
fn run(world: &mut World, steps: Vec<Step>, last: Option<&ServerEvent>) {
    for step in steps {
        take(world, step);
    }
    world.door = Door::Open;
    world.pass(60_000);
    if let Some(event) = last {
        world.publish(event);
    }
    world.pass(20_000);
}

fn schedules() -> impl Strategy<Value = (mcp_listen::filter::SubscriptionFilter, Vec<Step>, u64)> {
    let window = prop_oneof![Just(1_000u64), 0..8u64];
    // Of tasks the stream may end instead, which another test shows.
    let filter = any_filter().prop_map(|filter| mcp_listen::filter::SubscriptionFilter {
        tools_list_changed: true,
        task_ids: Vec::new(),
        ..filter
    });
    (filter, vec(any_step(), 0..60), window)
}

#[test]
fn a_gap_is_closed_by_the_next_event_at_the_latest() {
    check(schedules(), |(filter, steps, window)| {
        let mut world = World::new(filter, Patience::default()).with_window(window);
        run(&mut world, steps, Some(&ServerEvent::ToolsListChanged));
        assert!(world.owed.is_empty(), "{:?}", world.owed);
        assert!(!world.has_ended);
    });
}

#[test]
fn a_gap_is_closed_without_another_event_where_the_bus_is_asked() {
    let patience = Patience {
        verify: Millis(15_000),
        ..Patience::default()
    };
    check(schedules(), |(filter, steps, window)| {
        let mut world = World::new(filter, patience).with_window(window);
        run(&mut world, steps, None);
        assert!(world.owed.is_empty(), "{:?}", world.owed);
        assert!(!world.has_ended);
    });
}

#[test]
fn of_tasks_the_last_state_is_told_or_the_stream_ends() {
    let schedules = (any_filter(), vec(any_step(), 0..60));
    check(schedules, |(filter, steps)| {
        let filter = mcp_listen::filter::SubscriptionFilter {
            tools_list_changed: true,
            ..filter
        };
        let mut world = World::new(filter, Patience::default());
        run(&mut world, steps, Some(&ServerEvent::ToolsListChanged));
        assert!(world.has_ended || world.owed.is_empty(), "{:?}", world.owed);
    });
}

#[test]
fn connections_that_just_break_lose_nothing_with_a_bus_of_the_former_version() {
    check(schedules(), |(filter, steps, window)| {
        let mut world = World::new(filter, Patience::default()).with_window(window);
        world.is_former = true;
        let steps = steps
            .into_iter()
            .filter(|step| !matches!(step, Step::Drop | Step::Repeat | Step::Swap));
        run(&mut world, steps.collect(), None);
        assert!(world.owed.is_empty(), "{:?}", world.owed);
        assert!(!world.has_ended);
    });
}
