use crate::seed::Seed;

/// Everything that decides a run: the setup of its world, and its steps. Nothing else is random, so
/// the same schedule always runs the same way, and so does any part of it.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) setup: Setup,
    pub(crate) steps: Vec<Step>,
}

/// The setup of a world; zero and false are the simplest.
#[expect(clippy::struct_excessive_bools, reason = "each choice is independent")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Setup {
    /// Whether the pipes of new sockets wait for [`Act::Deliver`].
    pub(crate) holds: bool,
    /// Whether edges ask a silent bus at intervals whether they missed anything.
    pub(crate) probes_bus: bool,
    /// Whether streams send keep-alives.
    pub(crate) keeps_alive: bool,
    /// Whether the frames of the bus name no previous position until the first deployment.
    pub(crate) omits_previous: bool,
    /// The length of the log, from long to short.
    pub(crate) window: u8,
    /// Whether the bus opens shards beyond a few edges.
    pub(crate) has_shards: bool,
    /// Whether the streams of an isolate may share a connection.
    pub(crate) shares: bool,
    /// The result of the write probe, and its time.
    pub(crate) write_probe: u8,
    /// How much a request may write for others; 0: unlimited.
    pub(crate) budget: u8,
    /// Whether some requests or replies are faulty.
    pub(crate) has_bad_requests: bool,
    /// Whether each caller is authorized.
    pub(crate) authorizes: bool,
    /// Whether the upstream server keeps sessions too.
    pub(crate) has_upstream_ids: bool,
    /// The limits of sessions, from large to small.
    pub(crate) bounds: u8,
    /// The limits on names, from unlimited to small.
    pub(crate) room: u8,
    /// The keys in use, as a bit mask; zero means all. With few of them, more happens to each.
    pub(crate) keys: u8,
}

/// One step; the act interprets `who`, `what` and `spin`, and does nothing if it finds nothing to
/// act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) act: Act,
    pub(crate) who: u8,
    pub(crate) what: u8,
    /// The randomness of the step, such as the jitter of a wait.
    pub(crate) spin: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Publish,
    Burst,
    Open,
    Return,
    Leave,
    Close,
    Retire,
    Pause,
    Resume,
    Read,
    Watch,
    Unwatch,
    Ready,
    Block,
    Release,
    Deliver,
    Drop,
    Duplicate,
    Swap,
    Truncate,
    Kill,
    Forget,
    Hibernate,
    Restart,
    Crash,
    LoseDisk,
    Down,
    Up,
    Trim,
    Deploy,
    Mail,
    ResetShard,
    SleepShard,
    Stall,
    Rouse,
    Forbid,
    TakeOver,
    Ping,
    EndSession,
    Wait,
}

/// The part of the world that an act concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Acts of all schedules.
    Every,
    Readers,
    Wires,
    Bus,
    Shards,
    /// Requests that share a connection.
    Sharing,
    /// Clients of 2025.
    Sessions,
}

impl Act {
    /// Whether it may cause the refusal of a stream that is being opened.
    pub(crate) fn disturbs(self) -> bool {
        !matches!(
            self,
            Self::Publish
                | Self::Burst
                | Self::Open
                | Self::Return
                | Self::Leave
                | Self::Close
                | Self::Retire
                | Self::Pause
                | Self::Resume
                | Self::Read
                | Self::Watch
                | Self::Unwatch
                | Self::Ready
                | Self::Hibernate
                | Self::Trim
                | Self::SleepShard
                | Self::Rouse
                | Self::Forbid
                | Self::TakeOver
                | Self::Ping
                | Self::EndSession
                | Self::Wait
        )
    }
}

impl Schedule {
    /// The schedule of `seed`. Each has a different mix of acts: the fewer kinds it has, the more
    /// often each happens.
    pub(crate) fn of_seed(number: u64) -> Self {
        let mut seed = Seed::new(number);
        let parts = [
            Part::Every,
            Part::Readers,
            Part::Wires,
            Part::Bus,
            Part::Shards,
            Part::Sharing,
            Part::Sessions,
        ];
        let parts: Vec<Part> = parts
            .into_iter()
            .filter(|part| match part {
                Part::Every => true,
                Part::Shards => seed.below(3) == 0,
                Part::Sharing => seed.below(4) > 0,
                _ => seed.below(2) == 0,
            })
            .collect();
        let has_shards = parts.contains(&Part::Shards);
        let shares = parts.contains(&Part::Sharing);
        let setup = Setup {
            holds: parts.contains(&Part::Wires) && seed.below(3) == 0,
            probes_bus: seed.below(4) == 0,
            keeps_alive: seed.below(4) == 0,
            omits_previous: !has_shards && !shares && seed.below(4) == 0,
            has_shards,
            window: u8::try_from(seed.below(4)).unwrap(),
            shares,
            // Mostly the write probe succeeds at once.
            write_probe: seed.byte() & seed.byte() & seed.byte(),
            budget: if seed.below(4) == 0 { seed.byte() } else { 0 },
            keys: seed.byte() & seed.byte() | seed.byte() & seed.byte(),
            has_bad_requests: seed.below(3) == 0,
            authorizes: seed.below(2) == 0,
            has_upstream_ids: seed.below(4) == 0,
            bounds: u8::try_from(seed.below(8)).unwrap().saturating_sub(4),
            room: 0,
        };
        let mix: Vec<(Act, usize)> = ACTS
            .iter()
            .filter(|(_, _, part)| parts.contains(part))
            .filter(|(_, _, part)| *part == Part::Every || seed.below(4) > 0)
            .map(|(act, weight, _)| (*act, *weight))
            .collect();
        let length = 8 + seed.below(40);
        let steps = (0..length).map(|_| step(&mut seed, &mix)).collect();
        Self { setup, steps }.with_room(number)
    }
}

impl Schedule {
    /// Every fifth schedule has limits on names. Its frames are held more often, so that streams
    /// are opened while the limit is not known yet.
    fn with_room(mut self, number: u64) -> Self {
        if number % 5 == 4 {
            self.setup.room = if number.is_multiple_of(2) { 1 } else { 2 };
            let mut steps = self.steps.iter();
            self.setup.holds |= steps.any(|step| step.act == Act::Deliver);
        }
        self
    }
}

fn step(seed: &mut Seed, mix: &[(Act, usize)]) -> Step {
    let sum = mix.iter().map(|(_, weight)| weight).sum();
    let mut left = seed.below(sum);
    let act = mix.iter().find(|(_, weight)| {
        let is_here = left < *weight;
        left = left.saturating_sub(*weight);
        is_here
    });
    Step {
        act: act.map_or(Act::Wait, |(act, _)| *act),
        who: seed.byte(),
        what: seed.byte(),
        spin: seed.byte(),
    }
}

/// The acts, how often each happens in a schedule that has it, and the part of the world that it
/// concerns.
const ACTS: [(Act, usize, Part); 40] = [
    (Act::Publish, 20, Part::Every),
    (Act::Open, 9, Part::Every),
    (Act::Wait, 8, Part::Every),
    (Act::Burst, 4, Part::Every),
    (Act::Watch, 6, Part::Readers),
    (Act::Unwatch, 2, Part::Readers),
    (Act::Ready, 3, Part::Readers),
    (Act::Return, 4, Part::Readers),
    (Act::Leave, 4, Part::Readers),
    (Act::Close, 2, Part::Readers),
    (Act::Retire, 3, Part::Readers),
    (Act::Pause, 6, Part::Readers),
    (Act::Resume, 2, Part::Readers),
    (Act::Read, 5, Part::Readers),
    (Act::Block, 5, Part::Wires),
    (Act::Release, 4, Part::Wires),
    (Act::Deliver, 12, Part::Wires),
    (Act::Drop, 4, Part::Wires),
    (Act::Duplicate, 4, Part::Wires),
    (Act::Swap, 4, Part::Wires),
    (Act::Truncate, 4, Part::Wires),
    (Act::Kill, 5, Part::Wires),
    (Act::Forget, 3, Part::Wires),
    (Act::Hibernate, 4, Part::Every),
    (Act::Restart, 3, Part::Bus),
    (Act::Crash, 3, Part::Bus),
    (Act::LoseDisk, 3, Part::Bus),
    (Act::Down, 4, Part::Bus),
    (Act::Up, 6, Part::Bus),
    (Act::Trim, 3, Part::Bus),
    (Act::Deploy, 2, Part::Bus),
    (Act::Mail, 20, Part::Shards),
    (Act::ResetShard, 3, Part::Shards),
    (Act::SleepShard, 4, Part::Shards),
    (Act::Stall, 8, Part::Sharing),
    (Act::Rouse, 3, Part::Sharing),
    (Act::Forbid, 1, Part::Sharing),
    (Act::TakeOver, 4, Part::Sessions),
    (Act::Ping, 3, Part::Sessions),
    (Act::EndSession, 2, Part::Sessions),
];
