use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{invariant::Violation, schedule::Schedule, world::World};

/// Runs a schedule: its steps, then the calm phase in which everything has to come true. Returns
/// the number of published events.
pub(crate) fn run(schedule: &Schedule) -> Result<u64, Violation> {
    let mut world = World::new(schedule.setup, false);
    drive(&mut world, schedule)?;
    Ok(world.events())
}

/// The same, with a trace.
pub(crate) fn trace(schedule: &Schedule) -> (Vec<String>, Result<(), Violation>) {
    let mut world = World::new(schedule.setup, true);
    let outcome = drive(&mut world, schedule);
    (world.take_trace(), outcome)
}

fn drive(world: &mut World, schedule: &Schedule) -> Result<(), Violation> {
    let life = catch_unwind(AssertUnwindSafe(|| {
        for step in &schedule.steps {
            world.step(*step)?;
        }
        world.calm()
    }));
    let panicked = |_| Err(Violation::new("nothing panics", "see above".to_owned()));
    life.unwrap_or_else(panicked)
}
