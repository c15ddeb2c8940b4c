//! Follows what a deliverer responds and sends, and panics where that breaks a promise.

use std::collections::BTreeMap;

use mcp_listen::{
    clock::Millis,
    events::{
        cursor,
        error::EventError,
        webhook::{MessageKind, Post, SubscribeRequest},
    },
};
use serde_json::Value;

use super::{
    super::rig::subscribe,
    client::{
        Client, EPOCHS, Grant, HOSTS, MAX_ATTEMPTS, PRINCIPALS, Place, Published, TASTES, Taste,
    },
    peers::Reply,
};

pub(super) struct Judge {
    /// Which log the bus has.
    pub(super) log: usize,
    /// What was published, in all logs.
    pub(super) published: Vec<Published>,
    pub(super) clients: Vec<Option<Client>>,
    /// The calls without a response.
    pub(super) calls: BTreeMap<u32, Call>,
    /// How often each occurrence was sent to each client.
    attempts: BTreeMap<(usize, usize), u32>,
}

/// A call that makes or renews a subscription.
pub(super) struct Call {
    pub(super) who: usize,
    pub(super) groups: Vec<usize>,
    /// Up to where the client has everything.
    pub(super) has: Option<Place>,
    /// When the server and the deliverer received it.
    pub(super) at: Millis,
    /// How long the subscription lasts; `None`: until it is ended.
    pub(super) span: Option<Millis>,
    pub(super) is_allowed: bool,
}

/// What a message is about.
#[derive(Clone, Copy)]
pub(super) enum About {
    /// The occurrence with this number.
    Occurrence(usize),
    /// What is missing after this place.
    Gap(Place),
    Other,
}

/// A message that is being sent.
pub(super) struct Message {
    /// To whom it is sent, and what it is about.
    pub(super) about: (usize, About),
    pub(super) at: Millis,
    /// How many occurrences there were.
    pub(super) published: usize,
    pub(super) post: Post,
}

impl Judge {
    pub(super) fn new() -> Self {
        Self {
            log: 0,
            published: Vec::new(),
            clients: TASTES.iter().map(|_| None).collect(),
            calls: BTreeMap::new(),
            attempts: BTreeMap::new(),
        }
    }

    /// Handles that something was published.
    pub(super) fn publish(&mut self, one: Published, now: Millis) {
        let number = self.published.len();
        let clients = self.clients.iter_mut().flatten();
        for client in clients.filter(|client| client.is_live(now)) {
            client.publish(number, &one);
        }
        self.published.push(one);
    }

    /// Handles the response to a call. Returns the subscription if the call has made it, and there
    /// is something that it has to receive.
    pub(super) fn responded(
        &mut self,
        number: u32,
        response: Result<String, EventError>,
        now: Millis,
    ) -> Option<usize> {
        let call = self.calls.remove(&number);
        let call = call.expect("a call has one response");
        let result: Value = serde_json::from_str(&response.ok()?).unwrap();
        let at = place_of(&result);
        let is_truncated = result["truncated"] == true;
        let grant = Grant {
            groups: call.groups.clone(),
            called_at: call.at,
            at: now,
            until: call.span.map(|span| now + span),
        };
        if result["deliveryStatus"].is_null() {
            return self.make(&call, at, is_truncated, grant);
        }
        let client = self.clients[call.who].as_mut();
        let client = client.expect("only a subscription is renewed");
        client.renew(grant, call.has, is_truncated);
        None
    }

    fn make(&mut self, call: &Call, at: Place, is_truncated: bool, grant: Grant) -> Option<usize> {
        let now = grant.at;
        let former = self.clients[call.who].take();
        let is_new = former.is_none_or(|one| !one.is_live(now) || one.may_be_given_up(now));
        assert!(is_new, "a subscription stays until it ends");
        let is_whole = call
            .has
            .is_none_or(|has| has.log == at.log && at.position <= has.position);
        assert!(is_whole || is_truncated, "it begins where it should");
        let client = Client::new(&TASTES[call.who], at, grant, &self.published);
        let is_behind = !client.owed.is_empty();
        self.clients[call.who] = Some(client);
        is_behind.then_some(call.who)
    }

    /// Handles that a message is being sent.
    pub(super) fn sent(&mut self, post: &Post, now: Millis) -> (usize, About) {
        let who = (0..TASTES.len()).find(|who| id_of(*who) == post.subscription);
        let who = who.expect("a message is for a subscription");
        assert_eq!(post.url, request_of(who).url, "a message goes to its url");
        if post.kind == MessageKind::Verification {
            let is_asking = |call: &Call| call.who == who && !call.is_allowed;
            assert!(self.calls.values().any(is_asking), "a challenge has a call");
            return (who, About::Other);
        }
        let client = self.clients[who].as_mut();
        let client = client.expect("nothing is sent without a subscription");
        let about = match post.kind {
            MessageKind::Event => {
                let is_it = |one: &Published| one.id() == *post.message;
                let number = self.published.iter().position(is_it);
                let number = number.expect("an occurrence that was published");
                let one = (number, &self.published[number]);
                client.start(one, &post.body, now);
                *self.attempts.entry((who, number)).or_default() += 1;
                About::Occurrence(number)
            }
            MessageKind::Gap => {
                client.start_gap(&post.message, now);
                About::Gap(place_of(&serde_json::from_str(&post.body).unwrap()))
            }
            MessageKind::Terminated => {
                client.end(now);
                About::Other
            }
            kind => panic!("{kind:?}"),
        };
        (who, about)
    }

    /// Handles that an endpoint has accepted or rejected a message, when so much was published.
    /// The log has the positions in `kept`.
    pub(super) fn arrived(&mut self, (who, about): (usize, About), published: usize, kept: &[u64]) {
        let Some(client) = &mut self.clients[who] else {
            return;
        };
        match about {
            About::Occurrence(number) => {
                if let Some(owed) = client.owed.get_mut(&number) {
                    owed.is_done = true;
                }
            }
            About::Gap(gap) => {
                for (_, owed) in client.owed.range_mut(..published) {
                    let place = owed.one.place;
                    let is_after = place.log == gap.log && place.position > gap.position;
                    let is_kept = place.log == self.log && kept.contains(&place.position);
                    owed.is_covered |= is_after || !is_kept;
                }
            }
            About::Other => {}
        }
    }

    /// Handles that the deliverer has requested an authorization.
    pub(super) fn asked(&mut self, id: &str) -> usize {
        let who = (0..TASTES.len()).find(|who| *id_of(*who) == *id).unwrap();
        let client = self.clients[who].as_mut();
        client.expect("a subscription is authorized").is_asked = true;
        who
    }

    pub(super) fn authorize(&mut self, who: usize, reply: &Reply, now: Millis) {
        if let Some(client) = &mut self.clients[who] {
            client.authorize(reply, now);
        }
    }

    /// Handles that a client has unsubscribed, and whether it had a subscription.
    pub(super) fn unsubscribed(&mut self, who: usize, was_live: bool, now: Millis) {
        let client = self.clients[who].take();
        let is_live = client.as_ref().is_some_and(|client| client.is_live(now));
        let is_unsure = client.is_some_and(|client| client.may_be_given_up(now));
        assert!(was_live == is_live || is_unsure, "it was live: {was_live}");
    }

    /// Handles that a caller was disconnected at some time.
    pub(super) fn disconnect(&mut self, caller: usize, at: Millis) {
        for (who, client) in self.clients.iter_mut().enumerate() {
            let is_own = TASTES[who].principal == PRINCIPALS[caller];
            if let Some(client) = client.as_mut().filter(|_| is_own) {
                client.has_ended |= client.grant.called_at <= at;
            }
        }
    }

    /// Checks that no call of a caller waits from before it was disconnected.
    pub(super) fn check_disconnected(&self, caller: usize, at: Millis) {
        let is_own = |call: &Call| TASTES[call.who].principal == PRINCIPALS[caller];
        let mut calls = self.calls.values();
        let waits = calls.any(|call| is_own(call) && call.at <= at);
        assert!(!waits, "calls from before a disconnect are refused");
    }

    /// Forgets what is under way.
    pub(super) fn restart(&mut self) {
        self.calls.clear();
        for client in self.clients.iter_mut().flatten() {
            client.is_asked = false;
        }
    }

    /// Checks that everything was delivered that the log has, or was tried often enough.
    pub(super) fn check_delivered(&self, kept: &[u64], now: Millis) {
        for (who, client) in self.live(now) {
            for (number, owed) in &client.owed {
                let place = owed.one.place;
                let is_kept = place.log == self.log && kept.contains(&place.position);
                let attempts = self.attempts.get(&(who, *number)).copied();
                let is_tried = attempts.is_some_and(|count| count >= MAX_ATTEMPTS);
                let is_right = owed.is_done || is_tried || !is_kept;
                assert!(is_right, "{attempts:?} attempts at {owed:?} for {who}");
            }
        }
    }

    /// Checks that each client can know what it has not received.
    pub(super) fn check_known(&self, now: Millis) {
        for (who, client) in self.live(now) {
            for owed in client.owed.values() {
                let is_right = owed.is_done || client.knows_of(owed);
                assert!(is_right, "{owed:?} is missing for {who}: {client:?}");
            }
        }
    }

    /// Returns the clients whose subscriptions have not ended.
    pub(super) fn live(&self, now: Millis) -> impl Iterator<Item = (usize, &Client)> {
        let clients = self.clients.iter().enumerate();
        clients.filter_map(move |(who, client)| {
            let client = client.as_ref().filter(|client| client.is_live(now))?;
            Some((who, client))
        })
    }
}

/// Returns a request of a client, which needs more.
pub(super) fn request_of(who: usize) -> SubscribeRequest {
    subscribe(u32::try_from(who).unwrap() + 1)
}

/// Returns the id of the subscription of a client.
pub(super) fn id_of(who: usize) -> Box<str> {
    request_of(who).id
}

/// Returns the place of the cursor in a result or in a message.
fn place_of(value: &Value) -> Place {
    let cursor = cursor::from_text(value["cursor"].as_str().unwrap()).unwrap();
    let log = EPOCHS.iter().position(|epoch| *epoch == &*cursor.epoch);
    Place {
        log: log.unwrap(),
        position: cursor.position.0,
    }
}

/// Checks how many messages are sent at a time. Those that are overdue no longer count.
pub(super) fn check_places(messages: &[Message], now: Millis) {
    let under_way = messages.iter().filter(|one| now < one.at + MAX_WAIT);
    let tastes: Vec<&Taste> = under_way.map(|one| &TASTES[one.about.0]).collect();
    let count = |is_one: &dyn Fn(&Taste) -> bool| tastes.iter().filter(|one| is_one(one)).count();
    assert!(tastes.len() <= 6, "six messages are sent at a time");
    for host in HOSTS {
        assert!(count(&|one| one.host == host) <= 2, "two to a host");
    }
    for caller in PRINCIPALS {
        assert!(
            count(&|one| one.principal == caller) <= 3,
            "three for a caller"
        );
    }
}

/// A message without an outcome for this long counts as lost.
pub(super) const MAX_WAIT: Millis = Millis(30_000);
