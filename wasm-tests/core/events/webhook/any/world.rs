//! A deliverer, and bus, server, clients and endpoints, which do what a schedule says.

use std::{collections::BTreeSet, time::Duration};

use mcp_listen::{
    clock::Millis,
    events::{
        Window,
        webhook::{
            DelivererOptions, DelivererOutput, Post, RequestedTtl, SubscribeRequest, TtlOptions,
        },
    },
};

use super::{
    super::rig::{Rig, named},
    client::{
        AUTHORIZATION_TTL, EPOCHS, GROUPS, NAMES, PRINCIPALS, Place, Published, REFUSED, TASTES,
        data_of,
    },
    judge::{About, Call, Judge, MAX_WAIT, Message, check_places, id_of, request_of},
    peers::{Reaction, Reply, Request, labels, match_rules, results_of},
};

pub(super) struct World {
    rig: Rig,
    window: Window,
    judge: Judge,
    requests: Vec<Request>,
    messages: Vec<Message>,
    /// The event types for which the bus has to call the deliverer.
    unwoken: BTreeSet<usize>,
    /// How many requests and messages there were since the last input.
    counts: (usize, usize),
    is_calm: bool,
}

impl World {
    /// Begins with all subscriptions, of callers with one group.
    pub(super) fn new(window: Window) -> Self {
        let options = DelivererOptions {
            ttl: TtlOptions {
                no_expiry: true,
                ..TtlOptions::default()
            },
            authorization_ttl: Some(Duration::from(AUTHORIZATION_TTL)),
            ..DelivererOptions::default()
        };
        let mut rig = Rig::with(options, match_rules());
        rig.holds_reads = true;
        rig.begin_log(EPOCHS[0], window.clone());
        let mut world = Self {
            rig,
            window,
            judge: Judge::new(),
            requests: Vec::new(),
            messages: Vec::new(),
            unwoken: BTreeSet::new(),
            counts: (0, 0),
            is_calm: false,
        };
        for who in 0..TASTES.len() {
            world.subscribe(who, &[0], None, true);
        }
        world.pass(1_000, Some(Reaction::Accept));
        world
    }

    /// Begins another input.
    pub(super) fn begin(&mut self) {
        self.counts = (0, 0);
    }

    /// Returns the end of the log.
    pub(super) fn head(&self) -> u64 {
        self.rig.head().position.0
    }

    /// Returns how many requests wait for a reply, and how many messages for a response.
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.requests.len(), self.messages.len())
    }

    /// Makes or renews a subscription, for a client that may have everything up to a position.
    pub(super) fn subscribe(
        &mut self,
        who: usize,
        groups: &[usize],
        has: Option<u64>,
        is_allowed: bool,
    ) {
        let taste = &TASTES[who];
        let span = if self.is_calm { DAY } else { SHORT_TTL };
        let span = (!taste.is_endless).then_some(span);
        let request = SubscribeRequest {
            principal: taste.principal.into(),
            groups: labels(groups),
            name: named(NAMES[taste.of]),
            arguments: taste.arguments().into(),
            host: taste.host.into(),
            is_allowed,
            cursor: has.map(|position| self.rig.cursor(position).into()),
            ttl: span.map_or(RequestedTtl::Endless, RequestedTtl::For),
            asked_at: self.rig.now,
            ..request_of(who)
        };
        let log = self.judge.log;
        let call = Call {
            who,
            groups: groups.to_vec(),
            has: has.map(|position| Place { log, position }),
            at: self.rig.now,
            span,
            is_allowed,
        };
        let number = self.rig.call(&request);
        self.judge.calls.insert(number, call);
        self.collect();
    }

    /// Publishes without a wake.
    pub(super) fn publish(&mut self, of: usize, value: u64, group: Option<usize>) {
        let label = |group: usize| format!(r#","group":"{}""#, GROUPS[group]);
        let rest = group.map_or_else(String::new, label);
        let position = self.rig.append(NAMES[of], &data_of(value), &rest);
        let log = self.judge.log;
        let one = Published {
            place: Place { log, position },
            of,
            value,
            group,
        };
        self.judge.publish(one, self.rig.now);
        self.unwoken.insert(of);
    }

    pub(super) fn wake(&mut self, of: usize) {
        self.unwoken.remove(&of);
        self.rig.wake(NAMES[of]);
        self.collect();
    }

    /// Has the bus read what a request is about. Its reply arrives later.
    pub(super) fn fetch(&mut self, place: usize) {
        if let Request::Read { query, page, .. } = &mut self.requests[place] {
            page.get_or_insert_with(|| self.rig.page(query));
        }
    }

    /// Replies to a request.
    pub(super) fn reply(&mut self, place: usize, reply: &Reply) {
        let now = self.rig.now;
        let is_success = !matches!(reply, Reply::Fail);
        let request = self.requests.remove(place);
        let deliverer = &mut self.rig.deliverer;
        let handled = match request {
            Request::Read { read, query, page } if is_success => {
                let page = page.unwrap_or_else(|| self.rig.page(&query));
                self.rig.deliverer.handle_page(read, page, now)
            }
            Request::Match {
                read,
                arguments,
                page,
            } if is_success => {
                deliverer.handle_match_results(read, &results_of(&arguments, &page), now)
            }
            Request::Read { read, .. } | Request::Match { read, .. } => {
                deliverer.handle_read_failed(read, now, 0.5)
            }
            Request::Authorize(who) => {
                self.judge.authorize(who, reply, now);
                deliverer.handle_authorized(&id_of(who), reply.authorization(), now)
            }
        };
        handled.unwrap();
        self.rig.drain();
        self.collect();
    }

    /// Lets an endpoint handle a message. It fails what it refuses until the faults stop.
    pub(super) fn respond(&mut self, place: usize, reaction: Reaction) {
        let message = self.messages.remove(place);
        let is_refused = match message.about {
            (_, About::Occurrence(number)) => self.judge.published[number].value == REFUSED,
            (_, About::Gap(_) | About::Other) => false,
        };
        let reaction = match reaction {
            Reaction::Accept if is_refused && !self.is_calm => Reaction::Status(500),
            reaction => reaction,
        };
        if reaction.is_final() {
            let kept = self.rig.kept();
            self.judge.arrived(message.about, message.published, &kept);
        }
        self.rig.settle(&message.post, &reaction.outcome());
        self.collect();
    }

    pub(super) fn lose_reply(&mut self, place: usize) {
        self.requests.remove(place);
    }

    pub(super) fn lose_outcome(&mut self, place: usize) {
        self.messages.remove(place);
    }

    /// Replies to all requests and lets the endpoints handle all messages, also those that follow
    /// at once.
    pub(super) fn respond_all(&mut self, reaction: Reaction) {
        loop {
            match self.waiting() {
                (0, 0) => return,
                (0, _) => self.respond(0, reaction),
                _ => self.reply(0, &Reply::Succeed),
            }
        }
    }

    /// Lets time pass with its alarms, and with all responses if there is a reaction.
    pub(super) fn pass(&mut self, millis: u64, reaction: Option<Reaction>) {
        let end = self.rig.now + Millis(millis);
        for _ in 0..MAX_ALARMS {
            if let Some(reaction) = reaction {
                self.respond_all(reaction);
            }
            let Some(at) = self.rig.alarm.filter(|at| *at <= end) else {
                self.rig.now = end;
                return;
            };
            self.rig.now = self.rig.now.max(at);
            self.begin();
            self.rig.ring();
            self.collect();
        }
        panic!("the alarm goes off without end");
    }

    /// Lets time pass in which the alarm does not go off.
    pub(super) fn skip(&mut self, millis: u64) {
        self.rig.now = self.rig.now + Millis(millis);
    }

    pub(super) fn unsubscribe(&mut self, who: usize) {
        let now = self.rig.now;
        let unsubscribed = self.rig.deliverer.handle_unsubscribe(&id_of(who), now);
        self.judge.unsubscribed(who, unsubscribed.unwrap(), now);
        self.rig.drain();
        self.collect();
    }

    /// Disconnects a caller, of which the deliverer learns after these milliseconds.
    pub(super) fn disconnect(&mut self, caller: usize, late: u64) {
        let at = self.rig.now - Millis(late);
        self.judge.disconnect(caller, at);
        self.rig.disconnect(PRINCIPALS[caller], at, at);
        self.collect();
        self.judge.check_disconnected(caller, at);
    }

    /// Forgets what is under way, and perhaps the alarm.
    pub(super) fn restart(&mut self, keeps_alarm: bool) {
        self.rig.alarm = self.rig.alarm.filter(|_| keeps_alarm);
        self.rig.restart();
        self.judge.restart();
        self.requests.clear();
        self.messages.clear();
    }

    /// Begins a new log, unless there were too many. What the bus was replying is lost, too.
    pub(super) fn lose_log(&mut self) {
        if self.judge.log + 1 == EPOCHS.len() {
            return;
        }
        self.judge.log += 1;
        let epoch = EPOCHS[self.judge.log];
        self.rig.begin_log(epoch, self.window.clone());
        for request in &mut self.requests {
            if let Request::Read { page, .. } = request {
                *page = None;
            }
        }
        self.unwoken.extend(0..NAMES.len());
    }

    /// Lets the faults stop and time pass. Then everything has arrived, or its client knows of it.
    pub(super) fn end(mut self) {
        self.is_calm = true;
        self.begin();
        self.respond_all(Reaction::Accept);
        // The first call after a restart does what is due, whatever it is about.
        self.rig.wake("order.none");
        self.collect();
        for of in std::mem::take(&mut self.unwoken) {
            self.wake(of);
        }
        self.renew_all();
        self.pass(HALF_AN_HOUR, Some(Reaction::Accept));
        self.judge.check_delivered(&self.rig.kept(), self.rig.now);
        self.begin();
        for of in 0..NAMES.len() {
            self.publish(of, 1, None);
            self.publish(of, 2, None);
            self.wake(of);
        }
        self.pass(HALF_AN_HOUR, Some(Reaction::Accept));
        self.renew_all();
        self.pass(60_000, Some(Reaction::Accept));
        self.judge.check_delivered(&self.rig.kept(), self.rig.now);
        self.judge.check_known(self.rig.now);
        self.check_idle();
    }

    fn renew_all(&mut self) {
        let live = self.judge.live(self.rig.now);
        let renewals = live.map(|(who, client)| (who, client.grant.groups.clone()));
        for (who, groups) in renewals.collect::<Vec<_>>() {
            self.subscribe(who, &groups, None, true);
        }
    }

    fn check_idle(&self) {
        let counts = self.rig.deliverer.counts();
        assert!(self.rig.deliverer.is_idle(), "something is queued");
        assert_eq!((counts.waiting, counts.in_flight), (0, 0));
        assert!(self.judge.calls.is_empty(), "each call has a response");
    }

    /// Takes the outputs. Responses are among those before the messages.
    fn collect(&mut self) {
        for output in std::mem::take(&mut self.rig.outputs) {
            match output {
                DelivererOutput::Respond { call, response } => {
                    let now = self.rig.now;
                    let behind = self.judge.responded(call, response, now);
                    // The bus calls a deliverer that follows an event type from now on.
                    self.unwoken.extend(behind.map(|who| TASTES[who].of));
                }
                DelivererOutput::Read { read, query } => self.request(Request::Read {
                    read,
                    query,
                    page: None,
                }),
                DelivererOutput::Match {
                    read,
                    arguments,
                    page,
                    ..
                } => self.request(Request::Match {
                    read,
                    arguments,
                    page,
                }),
                DelivererOutput::Authorize { subscription, .. } => {
                    let who = self.judge.asked(&subscription);
                    self.request(Request::Authorize(who));
                }
                DelivererOutput::Follow(_) | DelivererOutput::Unfollow(_) => {}
                output => panic!("{output:?}"),
            }
        }
        for post in std::mem::take(&mut self.rig.posts) {
            self.send(post);
        }
    }

    fn request(&mut self, request: Request) {
        self.requests.push(request);
        self.counts.0 += 1;
        assert!(self.counts.0 <= MAX_REQUESTS, "it requests without end");
    }

    fn send(&mut self, post: Post) {
        let now = self.rig.now;
        let is_guarded = self.rig.alarm.is_some_and(|at| at <= now + MAX_WAIT);
        assert!(is_guarded, "an alarm is set to when a message is overdue");
        self.messages.push(Message {
            about: self.judge.sent(&post, now),
            at: now,
            published: self.judge.published.len(),
            post,
        });
        self.counts.1 += 1;
        assert!(self.counts.1 <= MAX_MESSAGES, "it sends without end");
        check_places(&self.messages, now);
    }
}

/// How long a subscription lasts that its client does not renew.
const SHORT_TTL: Millis = Millis(600_000);
const DAY: Millis = Millis(86_400_000);
/// Longer than any wait for another attempt.
const HALF_AN_HOUR: u64 = 1_800_000;
/// More than follow at once on one input or alarm.
const MAX_REQUESTS: usize = 200;
const MAX_MESSAGES: usize = 1_000;
/// More alarms than there are in half an hour.
const MAX_ALARMS: usize = 1_000;
