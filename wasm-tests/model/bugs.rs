use mcp_listen::planted::{self, Bug, MACHINES};

use crate::harness_bug::{self, HarnessBug};

/// Where a bug is planted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Planted {
    Core(Bug),
    Around(HarnessBug),
}

/// A planted bug.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlantedBug {
    /// The machine of the core that has it.
    pub(crate) machine: &'static str,
    pub(crate) bug: Planted,
    /// What it does.
    pub(crate) what: &'static str,
}

/// Returns the bugs that schedules find, in the order of their machines.
pub(crate) fn all() -> Vec<PlantedBug> {
    let machines = MACHINES.iter().filter(|(machine, _)| *machine != DELIVERER);
    let of_core = machines.flat_map(|(machine, bugs)| {
        bugs.iter().map(move |(bug, what)| PlantedBug {
            machine,
            bug: Planted::Core(*bug),
            what,
        })
    });
    let around = AROUND.into_iter().map(|(bug, what)| PlantedBug {
        machine: "around it",
        bug: Planted::Around(bug),
        what,
    });
    of_core.chain(around).collect()
}

/// Plants a bug in this thread, in place of any other.
pub(crate) fn plant(bug: Option<Planted>) {
    planted::plant(match bug {
        Some(Planted::Core(bug)) => Some(bug),
        _ => None,
    });
    harness_bug::plant(match bug {
        Some(Planted::Around(harness_bug)) => Some(harness_bug),
        _ => None,
    });
}

/// The machine that another model runs: see `webhooks`.
pub(crate) const DELIVERER: &str = "deliverer";

const AROUND: [(HarnessBug, &str); 4] = [
    (
        HarnessBug::ForgetsLastSent,
        "a hibernating bus forgets what it sent last",
    ),
    (
        HarnessBug::SendsBeforeWriting,
        "an event is sent before it is on disk",
    ),
    (HarnessBug::KeepsEdges, "the bus keeps edges that left"),
    (
        HarnessBug::NeverProbes,
        "`busProbeIntervalMs` has no effect",
    ),
];
