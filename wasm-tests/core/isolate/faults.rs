//! Under any fault between bus and isolate, the last change of each topic is cued on every stream.

use mcp_listen::{event::ServerEvent, filter::SubscriptionFilter};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_event, any_filter, check};

use super::world::World;

#[derive(Clone, Debug)]
enum Step {
    Publish(ServerEvent),
    Open(SubscriptionFilter),
    Leave(usize),
    /// The isolate is polled for a call, or one frame is delivered in either direction.
    CarryOut,
    Up,
    Down,
    Settle,
    Pass(u64),
    /// The next frame is lost, duplicated, swapped with the one after it, or truncated.
    Drop,
    DropUp,
    Repeat,
    Swap,
    Truncate,
    Cut,
    Move,
    SendOn,
    StartOver,
    Shut(bool),
    Draw(f64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let life = prop_oneof![
        12 => any_event().prop_map(Step::Publish),
        5 => open().prop_map(Step::Open),
        2 => (0usize..8).prop_map(Step::Leave),
    ];
    let progress = prop_oneof![
        3 => Just(Step::CarryOut),
        3 => Just(Step::Up),
        3 => Just(Step::Down),
        4 => Just(Step::Settle),
        3 => (0u64..3_000).prop_map(Step::Pass),
        1 => (0u64..60_000).prop_map(Step::Pass),
    ];
    let faults = prop_oneof![
        2 => Just(Step::Drop),
        2 => Just(Step::DropUp),
        2 => Just(Step::Repeat),
        2 => Just(Step::Swap),
        1 => Just(Step::Truncate),
        2 => Just(Step::Cut),
        2 => Just(Step::Move),
        1 => Just(Step::SendOn),
        1 => Just(Step::StartOver),
        2 => any::<bool>().prop_map(Step::Shut),
        1 => (0.0..1.0).prop_map(Step::Draw),
    ];
    prop_oneof![5 => life, 4 => progress, 3 => faults]
}

fn open() -> impl Strategy<Value = SubscriptionFilter> {
    any_filter().prop_map(|filter| SubscriptionFilter {
        tools_list_changed: true,
        ..filter
    })
}

fn take(world: &mut World, step: Step) {
    match step {
        Step::Publish(event) => world.publish(&event),
        Step::Open(filter) => drop(world.open(filter)),
        Step::Leave(stream) => world.leave(stream),
        Step::CarryOut => world.carry_out(),
        Step::Up => world.take_up(),
        Step::Down => world.take_down(),
        Step::Settle => world.settle(),
        Step::Pass(span) => world.pass(span),
        Step::Drop => drop(world.down.pop_front()),
        Step::DropUp => drop(world.up.pop_front()),
        Step::Repeat => {
            let frame = world.down.front().cloned();
            world.down.extend(frame);
        }
        Step::Swap if world.down.len() > 1 => world.down.swap(0, 1),
        Step::Swap => {}
        Step::Truncate => {
            if let Some(frame) = world.down.front_mut() {
                frame.truncate(frame.len() / 2);
            }
        }
        Step::Cut => world.cut(),
        Step::Move => world.move_on(),
        Step::SendOn => world.send_on(),
        Step::StartOver => world.start_over(),
        Step::Shut(is_shut) => world.is_shut = is_shut,
        Step::Draw(random) => world.random = random,
    }
}

#[test]
fn no_stream_misses_the_last_change() {
    let window = prop_oneof![Just(1_000u64), 0..8u64];
    let filters = vec(open(), 1..4);
    let schedules = (filters, vec(any_step(), 0..80), window);
    check(schedules, |(filters, steps, window)| {
        let mut world = World::new().with_window(window);
        for filter in filters {
            world.open(filter);
        }
        for step in steps {
            take(&mut world, step);
        }
        world.is_shut = false;
        world.pass(60_000);
        world.publish(&ServerEvent::ToolsListChanged);
        world.pass(20_000);
        for stream in &world.streams {
            let honors_tasks = !stream.filter.task_ids.is_empty();
            let is_complete = stream.expected.is_empty() || stream.has_ended;
            assert!(is_complete, "{:?} of {:?}", stream.expected, stream.written);
            let is_first = stream.written.first().map(|it| it.contains("acknowledged"));
            assert_ne!(is_first, Some(false), "{:?}", stream.written);
            // A stream ends only if its tasks cannot be recovered or it never opened.
            let may_end = honors_tasks || !stream.is_acknowledged();
            assert!(may_end || !stream.has_ended || stream.has_left);
        }
    });
}
