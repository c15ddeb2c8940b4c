use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
};

use mcp_listen::{
    clock::Millis,
    events::{
        EventName,
        page::LogQuery,
        webhook::{Deliverer, DelivererOptions, DelivererOutput, Outcome, Post, TtlOptions},
    },
};

use crate::seed::Seed;

use super::{
    disk::{Crash, Disk},
    endpoint::Endpoints,
    judge::{Judge, Tally},
    log::Log,
    matching::{match_page, match_rules},
    plan::Plan,
    subscriber::{Subscriber, group, name},
};

/// A bus, a deliverer and its host, subscribers and their endpoints.
pub(super) struct World<'p> {
    plan: &'p Plan,
    choices: Seed,
    now: u64,
    /// What happens next: when, in which order, and what.
    agenda: BinaryHeap<Reverse<(u64, u64)>>,
    acts: BTreeMap<u64, Act>,
    next: u64,
    disk: Disk,
    deliverer: Option<Deliverer<Disk>>,
    /// How many deliverers there were: what belongs to an earlier one is lost.
    generation: u64,
    /// Whether the deliverer has found out what its predecessor left behind.
    is_checked: bool,
    log: Log,
    /// The names that the bus reports to the deliverer.
    followed: BTreeSet<EventName>,
    endpoints: Endpoints,
    subscribers: Vec<Subscriber>,
    calls: u32,
    called_at: u64,
    bus_failed_at: u64,
    /// The reads and matches since anything else has happened.
    requests: u32,
    judge: Judge,
    is_calm: bool,
}

#[derive(Debug)]
enum Act {
    Publish,
    Wake(EventName),
    Ring,
    Subscribe(usize),
    /// The deliverer did not respond to this call.
    GiveUp(usize, u32),
    Read(u64, u32, LogQuery),
    Match(u64, u32, String),
    Arrive(u64, Box<Post>),
    Respond(u64, u32, Outcome),
    Evict,
}

impl<'p> World<'p> {
    /// Runs a world until nothing is left to do.
    pub(super) fn run(plan: &'p Plan) -> Tally {
        let mut world = Self::new(plan);
        world.go(u64::MAX);
        world.calm_down();
        world.judge.end(&world.subscribers, &world.log);
        world.judge.tally.published = plan.events;
        world.judge.tally.seed = plan.seed;
        world.judge.tally
    }

    fn new(plan: &'p Plan) -> Self {
        let mut world = Self {
            plan,
            choices: Seed::new(plan.seed),
            now: START,
            agenda: BinaryHeap::new(),
            acts: BTreeMap::new(),
            next: 0,
            disk: Disk::new(plan.seed, plan.crashes),
            deliverer: None,
            generation: 0,
            is_checked: true,
            log: Log::default(),
            followed: BTreeSet::new(),
            endpoints: Endpoints::new(plan.seed),
            subscribers: (0..plan.subscribers).map(Subscriber::new).collect(),
            calls: 0,
            called_at: START,
            bus_failed_at: START,
            requests: 0,
            judge: Judge::default(),
            is_calm: false,
        };
        for number in 0..plan.subscribers {
            world.later(Act::Subscribe(number), 0, 5_000);
        }
        for _ in 0..plan.events {
            world.later(Act::Publish, 0, plan.span);
        }
        for _ in 0..plan.span / 600_000 {
            world.later(Act::Evict, 0, plan.span);
        }
        world
    }

    /// Lets everything work, until every message is delivered; then nothing may happen any more.
    fn calm_down(&mut self) {
        self.is_calm = true;
        self.endpoints.calm();
        self.disk.calm();
        for number in 0..self.subscribers.len() {
            self.later(Act::Subscribe(number), 0, 1_000);
        }
        self.go(self.now + DAY);
        let counts = self.deliverer.as_ref().map(Deliverer::counts);
        let left = counts.map_or(0, |counts| counts.waiting + counts.in_flight);
        assert_eq!(left, 0, "everything is sent in a day");
        assert_eq!(self.disk.alarm(), None, "no alarm when idle");
        assert!(self.agenda.is_empty(), "nothing is due when idle");
    }

    fn go(&mut self, end: u64) {
        while let Some(Reverse((at, number))) = self.agenda.peek().copied() {
            if at > end {
                break;
            }
            self.agenda.pop();
            self.now = at;
            let act = self.acts.remove(&number).unwrap();
            self.act(act);
            if !self.is_calm && self.now > START + self.plan.span + DAY {
                break;
            }
        }
    }

    fn act(&mut self, act: Act) {
        if !matches!(act, Act::Read(..) | Act::Match(..)) {
            self.requests = 0;
        }
        match act {
            Act::Publish => self.publish(),
            Act::Wake(name) => self.wake(name),
            Act::Ring => self.ring(),
            Act::Subscribe(number) => self.subscribe(number),
            Act::GiveUp(number, call) if self.subscribers[number].call == Some(call) => {
                self.subscribe(number);
            }
            Act::Read(generation, read, query) if generation == self.generation => {
                self.read(read, &query);
            }
            Act::Match(generation, read, page) if generation == self.generation => {
                self.match_page(read, &page);
            }
            Act::Arrive(generation, post) => self.arrive(generation, &post),
            Act::Respond(generation, post, outcome) if generation == self.generation => {
                self.judge.settled(post, &outcome);
                self.call(|one, now, random| one.handle_sent(post, &outcome, now, random));
            }
            Act::Evict => {
                // A host that has nothing to do forgets everything, and that is no crash.
                if self.deliverer.as_ref().is_some_and(Deliverer::is_idle) {
                    self.deliverer = None;
                    self.generation += 1;
                    self.judge.restarted();
                }
            }
            Act::GiveUp(..) | Act::Read(..) | Act::Match(..) | Act::Respond(..) => {}
        }
    }

    fn publish(&mut self) {
        let number = self.choices.below(2);
        let group = (self.choices.below(4) == 0).then(group);
        self.log.append(name(number), group);
        self.later(Act::Wake(name(number)), 1, 50);
    }

    fn wake(&mut self, name: EventName) {
        if !self.followed.contains(&name) {
            return;
        }
        if self.chance(self.plan.bus_fails) {
            return self.later(Act::Wake(name), 100, 3_000);
        }
        let (head, crashes) = (self.log.head(), self.judge.tally.crashes);
        self.call(|one, now, _| one.handle_wake(&name, head, now));
        if self.judge.tally.crashes > crashes {
            self.later(Act::Wake(name), 100, 3_000);
        }
    }

    fn ring(&mut self) {
        let due = self.disk.alarm().filter(|at| at.0 <= self.now);
        if due.is_none() {
            return;
        }
        self.disk.set_alarm(None);
        let crashes = self.judge.tally.crashes;
        self.wake_up(Some(Millis(self.now)));
        self.is_checked = true;
        self.call(Deliverer::handle_alarm);
        // The platform calls a handler again that did not end.
        if self.judge.tally.crashes > crashes && self.disk.alarm().is_none() {
            self.set_alarm(Some(Millis(self.now + 2_000)));
        }
    }

    fn subscribe(&mut self, number: usize) {
        self.calls += 1;
        self.called_at = self.now;
        let call = self.calls;
        let replaces = self.choices.below(3) == 0;
        let own = &mut self.subscribers[number];
        own.call = Some(call);
        own.secret += u32::from(replaces);
        let subscribe = own.subscribe();
        self.later(Act::GiveUp(number, call), 15_000, 20_000);
        self.call(|one, now, _| one.handle_subscribe(call, subscribe, now));
    }

    fn respond(&mut self, call: u32, response: Result<&str, ()>) {
        let is_it = |own: &Subscriber| own.call == Some(call);
        let Some(number) = self.subscribers.iter().position(is_it) else {
            return;
        };
        let own = &mut self.subscribers[number];
        own.call = None;
        match response {
            Ok(result) => {
                self.judge
                    .subscribed(own, result, &self.log, Millis(self.now));
                if !self.is_calm && self.now < START + self.plan.span {
                    self.later(Act::Subscribe(number), 1_200_000, 2_400_000);
                }
            }
            Err(()) => self.later(Act::Subscribe(number), 5_000, 60_000),
        }
    }

    fn read(&mut self, read: u32, query: &LogQuery) {
        if self.chance(self.plan.bus_fails) {
            self.bus_failed_at = self.now;
            return self.call(|one, now, random| one.handle_read_failed(read, now, random));
        }
        let page = self.log.page(query);
        self.call(|one, now, _| one.handle_page(read, page, now));
    }

    fn match_page(&mut self, read: u32, page: &str) {
        if self.chance(self.plan.bus_fails) {
            self.bus_failed_at = self.now;
            return self.call(|one, now, random| one.handle_read_failed(read, now, random));
        }
        let results = match_page(page);
        self.call(|one, now, _| one.handle_match_results(read, &results, now));
    }

    /// Has a request carried out that the deliverer waits for.
    fn request(&mut self, act: Act) {
        self.requests += 1;
        assert!(self.requests < MAX_REQUESTS, "no request without end");
        self.later(act, 1, 100);
    }

    fn arrive(&mut self, generation: u64, post: &Post) {
        let handled = self.endpoints.handle(post, self.plan, self.now - START);
        let is_own = |own: &&Subscriber| own.id() == post.subscription;
        let own = self.subscribers.iter().find(is_own).unwrap();
        self.judge.handled(post, own, handled.is_done);
        let act = Act::Respond(generation, post.post, handled.outcome);
        self.later(act, 1, 400);
    }

    fn call(&mut self, call: impl FnOnce(&mut Deliverer<Disk>, Millis, f64) -> Result<(), Crash>) {
        let random = f64::from(self.choices.byte()) / 256.0;
        self.wake_up(self.disk.alarm());
        let now = Millis(self.now);
        let called = self.deliverer.as_mut().map(|one| call(one, now, random));
        match called {
            Some(Ok(())) => self.drain(),
            _ => self.crash(),
        }
        self.check_alarm();
    }

    /// Checks that no alarm is set while nothing is due.
    fn check_alarm(&self) {
        let is_idle = self.deliverer.as_ref().is_some_and(|one| {
            let counts = one.counts();
            one.is_idle() && counts.waiting == 0
        });
        // Replaced secrets are used for a quarter of an hour; a failed read is repeated.
        let is_quiet =
            self.called_at + 920_000 < self.now && self.bus_failed_at + 80_000 < self.now;
        if is_idle && is_quiet && self.plan.is_gentle() && self.is_checked {
            assert_eq!(self.disk.alarm(), None, "no alarm when idle");
        }
    }

    /// Makes a deliverer, if there is none, and reports to the bus which names it follows.
    fn wake_up(&mut self, alarm: Option<Millis>) {
        if self.deliverer.is_some() {
            return;
        }
        let options = DelivererOptions {
            ttl: TtlOptions {
                no_expiry: true,
                ..TtlOptions::default()
            },
            ..DelivererOptions::default()
        };
        let disk = self.disk.clone();
        let deliverer = Deliverer::new(disk, options, match_rules(), alarm).unwrap();
        self.followed = deliverer.names().cloned().collect();
        self.deliverer = Some(deliverer);
        self.is_checked = alarm.is_none();
    }

    fn drain(&mut self) {
        while let Some(output) = self.deliverer.as_mut().and_then(Deliverer::poll_output) {
            if !self.is_calm && self.choices.next() % 2_000 < self.plan.crashes {
                return self.crash();
            }
            self.carry_out(output);
        }
    }

    fn carry_out(&mut self, output: DelivererOutput) {
        match output {
            DelivererOutput::SetAlarm(at) => self.set_alarm(at),
            DelivererOutput::Follow(name) => drop(self.followed.insert(name)),
            DelivererOutput::Unfollow(name) => drop(self.followed.remove(&name)),
            DelivererOutput::Read { read, query } => {
                self.request(Act::Read(self.generation, read, query));
            }
            DelivererOutput::Match { read, page, .. } => {
                self.request(Act::Match(self.generation, read, page));
            }
            DelivererOutput::Post(post) => {
                let is_own = |own: &&Subscriber| own.id() == post.subscription;
                let own = self.subscribers.iter().find(is_own).unwrap();
                let (alarm, now) = (self.disk.alarm(), Millis(self.now));
                self.judge.sent((&post, own), &self.log, alarm, now);
                self.later(Act::Arrive(self.generation, Box::new(post)), 1, 400);
            }
            DelivererOutput::Respond { call, response } => {
                self.respond(call, response.as_deref().map_err(|_| ()));
            }
            output => panic!("{output:?}"),
        }
    }

    fn set_alarm(&mut self, at: Option<Millis>) {
        self.disk.set_alarm(at);
        if let Some(at) = at {
            let wait = at.0.saturating_sub(self.now);
            self.later(Act::Ring, wait, wait + 500);
        }
    }

    fn crash(&mut self) {
        self.deliverer = None;
        self.generation += 1;
        self.judge.crashed();
    }

    fn later(&mut self, act: Act, least: u64, most: u64) {
        let span = usize::try_from(most - least).unwrap();
        let at = self.now + least + self.choices.below(span + 1) as u64;
        self.acts.insert(self.next, act);
        self.agenda.push(Reverse((at, self.next)));
        self.next += 1;
    }

    fn chance(&mut self, chance: u64) -> bool {
        !self.is_calm && self.choices.next() % 1_000 < chance
    }
}

const START: u64 = 1_800_000_000_000;
const DAY: u64 = 86_400_000;
/// A few pages for each subscription.
const MAX_REQUESTS: u32 = 100;
