//! What the clients of a deliverer want, what they have to receive, and what they may.

use std::collections::{BTreeMap, BTreeSet};

use mcp_listen::clock::Millis;

use super::peers::Reply;

/// A subscription that a client makes.
#[derive(Debug)]
pub(super) struct Taste {
    /// The event type, by its place in [`NAMES`].
    pub(super) of: usize,
    /// The value that payloads have to have; `None`: any.
    value: Option<u64>,
    pub(super) principal: &'static str,
    pub(super) host: &'static str,
    /// Whether it lasts until its client ends it.
    pub(super) is_endless: bool,
}

/// A place in one of the logs that the bus has had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The log, by its place in [`EPOCHS`].
    pub(super) log: usize,
    pub(super) position: u64,
}

/// An occurrence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Published {
    pub(super) place: Place,
    pub(super) of: usize,
    pub(super) value: u64,
    pub(super) group: Option<usize>,
}

/// What a response to a call grants.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) groups: Vec<usize>,
    /// When the deliverer received the call.
    pub(super) called_at: Millis,
    pub(super) at: Millis,
    /// When the subscription expires; `None`: never.
    pub(super) until: Option<Millis>,
}

/// A subscription that was made.
#[derive(Debug)]
pub(super) struct Client {
    taste: &'static Taste,
    pub(super) grant: Grant,
    /// It begins after this.
    begun: Place,
    created_at: Millis,
    /// When the server has to authorize it again.
    authorize_at: Millis,
    /// Whether the deliverer has requested that since it was made, renewed or authorized.
    pub(super) is_asked: bool,
    pub(super) has_ended: bool,
    /// What it has to receive, by the number of the occurrence.
    pub(super) owed: BTreeMap<usize, Owed>,
    /// The occurrences that were ever sent.
    started: BTreeSet<usize>,
    /// The last one of them that was first sent in order.
    last: Option<usize>,
    /// How often each message about a gap was sent.
    gaps: BTreeMap<Box<str>, u32>,
}

/// An occurrence that a client has to receive.
#[derive(Debug)]
pub(super) struct Owed {
    pub(super) one: Published,
    /// Whether the endpoint has accepted or rejected it.
    pub(super) is_done: bool,
    /// Whether the endpoint knows of a gap with it, since it was last sent.
    pub(super) is_covered: bool,
    /// Whether a response has reported that something is missing, since it was last sent.
    is_reported: bool,
}

impl Published {
    /// Returns its id.
    pub(super) fn id(&self) -> String {
        format!("evt_{}_{}", EPOCHS[self.place.log], self.place.position)
    }
}

impl Taste {
    /// Returns the arguments of the subscription.
    pub(super) fn arguments(&self) -> String {
        self.value.map_or_else(|| "{}".to_owned(), data_of)
    }

    /// Returns the payload that it receives of an occurrence, if that matches.
    fn payload(&self, one: &Published) -> Option<String> {
        let is_wanted = self.value.is_none_or(|value| value == one.value);
        let is_changed = self.of == OF_HOST && one.value == CHANGED;
        let payload = || {
            if is_changed {
                CHANGED_DATA.to_owned()
            } else {
                data_of(one.value)
            }
        };
        (self.of == one.of && is_wanted).then(payload)
    }
}

impl Client {
    /// Makes a subscription that begins after a place, with what the log has had since.
    pub(super) fn new(
        taste: &'static Taste,
        begun: Place,
        grant: Grant,
        published: &[Published],
    ) -> Self {
        let mut client = Self {
            taste,
            begun,
            created_at: grant.at,
            authorize_at: grant.at + AUTHORIZATION_TTL,
            grant,
            is_asked: false,
            has_ended: false,
            owed: BTreeMap::new(),
            started: BTreeSet::new(),
            last: None,
            gaps: BTreeMap::new(),
        };
        for (number, one) in published.iter().enumerate() {
            client.publish(number, one);
        }
        client
    }

    /// Applies a renewal of a client that has everything up to a place.
    pub(super) fn renew(&mut self, grant: Grant, has: Option<Place>, is_truncated: bool) {
        assert!(self.is_live(grant.at), "only what is live is renewed");
        if let Some(has) = has {
            let is_known =
                |one: &Published| one.place.log == has.log && one.place.position <= has.position;
            self.owed.retain(|_, owed| !is_known(&owed.one));
        }
        for owed in self.owed.values_mut() {
            owed.is_reported |= is_truncated;
        }
        self.authorize_at = grant.at + AUTHORIZATION_TTL;
        self.is_asked = false;
        self.regroup(&grant.groups);
        self.grant = grant;
    }

    /// Applies what the server decides, unless it was asked before a renewal.
    pub(super) fn authorize(&mut self, reply: &Reply, now: Millis) {
        if !self.is_asked || self.has_ended {
            return;
        }
        match reply {
            Reply::Fail => return,
            Reply::Deny => self.has_ended = true,
            Reply::Succeed => {}
            Reply::Regroup(groups) => self.regroup(groups),
        }
        self.is_asked = false;
        self.authorize_at = now + AUTHORIZATION_TTL;
    }

    fn regroup(&mut self, groups: &[usize]) {
        self.grant.groups = groups.to_vec();
        self.owed.retain(|_, owed| {
            let group = owed.one.group;
            group.is_none_or(|group| groups.contains(&group))
        });
    }

    /// Notes an occurrence if the subscription has to receive it.
    pub(super) fn publish(&mut self, number: usize, one: &Published) {
        if self.has_group(one) && one.place > self.begun && self.taste.payload(one).is_some() {
            let owed = Owed {
                one: *one,
                is_done: false,
                is_covered: false,
                is_reported: false,
            };
            self.owed.insert(number, owed);
        }
    }

    fn has_group(&self, one: &Published) -> bool {
        let groups = &self.grant.groups;
        one.group.is_none_or(|group| groups.contains(&group))
    }

    /// Whether it has neither ended nor expired.
    pub(super) fn is_live(&self, now: Millis) -> bool {
        !self.has_ended && self.grant.until.is_none_or(|until| now < until)
    }

    /// Whether its endpoint may have failed for so long that the deliverer has ended it.
    pub(super) fn may_be_given_up(&self, now: Millis) -> bool {
        self.taste.is_endless && self.created_at + MAX_FAILING <= now
    }

    /// Handles that an occurrence is being sent.
    pub(super) fn start(&mut self, (number, one): (usize, &Published), body: &str, now: Millis) {
        self.check_access(now);
        assert!(one.place > self.begun, "it begins after {one:?}");
        let payload = self.taste.payload(one).expect("an occurrence that matches");
        assert!(body.contains(&format!("\"data\":{payload}")), "{body}");
        assert!(self.has_group(one), "only occurrences of its groups");
        // After a restart, a subscription with a new group may read what it had passed over.
        let is_expected = one.group.is_none() || self.owed.contains_key(&number);
        if self.started.insert(number) && is_expected {
            assert!(self.last < Some(number), "first attempts are in order");
            self.last = Some(number);
        }
        if let Some(owed) = self.owed.get_mut(&number) {
            owed.is_covered = false;
            owed.is_reported = false;
        }
    }

    /// Handles that a message about a gap is being sent.
    pub(super) fn start_gap(&mut self, message: &str, now: Millis) {
        self.check_access(now);
        *self.gaps.entry(message.into()).or_default() += 1;
    }

    /// Checks that something may be sent.
    fn check_access(&self, now: Millis) {
        assert!(self.is_live(now), "nothing is sent after the end");
        assert!(
            self.grant.at + FIRST_MESSAGE_DELAY <= now,
            "nothing is sent right after a response"
        );
        assert!(
            now < self.authorize_at,
            "nothing is sent without an authorization"
        );
    }

    /// Handles that the endpoint is being sent the end.
    pub(super) fn end(&mut self, now: Millis) {
        assert!(
            self.has_ended || self.may_be_given_up(now),
            "it ends for a reason"
        );
        self.has_ended = true;
    }

    /// Whether its client can know that an occurrence was not delivered: by a message about a gap,
    /// or by a response if that message was given up.
    pub(super) fn knows_of(&self, owed: &Owed) -> bool {
        let has_given_up = self.gaps.values().any(|count| *count >= MAX_ATTEMPTS);
        owed.is_covered || (owed.is_reported && has_given_up)
    }
}

/// Returns the payload of an occurrence.
pub(super) fn data_of(value: u64) -> String {
    format!(r#"{{"v":{value}}}"#)
}

const fn taste(of: usize, value: Option<u64>, [caller, host]: [usize; 2]) -> Taste {
    Taste {
        of,
        value,
        principal: PRINCIPALS[caller],
        host: HOSTS[host],
        is_endless: caller == host,
    }
}

/// The subscriptions that there may be.
pub(super) static TASTES: [Taste; 6] = [
    taste(0, None, [0, 0]),
    taste(0, None, [1, 1]),
    taste(1, Some(1), [0, 1]),
    taste(1, Some(CHANGED), [1, 1]),
    taste(OF_HOST, Some(1), [1, 0]),
    taste(OF_HOST, Some(CHANGED), [0, 0]),
];
/// The event types: one is not matched, one by a field, and one by a function of the host.
pub(super) const NAMES: [&str; 3] = ["order.paid", "order.sent", "order.seen"];
/// The one that the host matches.
pub(super) const OF_HOST: usize = 2;
pub(super) const GROUPS: [&str; 2] = ["x", "y"];
pub(super) const PRINCIPALS: [&str; 2] = ["ann", "bob"];
pub(super) const HOSTS: [&str; 2] = ["h0.example.com", "h1.example.com"];
/// The epochs of the logs, one after the other.
pub(super) const EPOCHS: [&str; 3] = ["e1", "e2", "e3"];
/// Endpoints fail occurrences with this value until the faults stop.
pub(super) const REFUSED: u64 = 0;
/// Another payload is received of occurrences with this value that the host matches.
pub(super) const CHANGED: u64 = 2;
pub(super) const CHANGED_DATA: &str = r#"{"changed":true}"#;
/// The function of the host fails for occurrences with this value.
pub(super) const UNMATCHABLE: u64 = 3;
pub(super) const AUTHORIZATION_TTL: Millis = Millis(300_000);
/// After this many failures in a row a message is given up.
pub(super) const MAX_ATTEMPTS: u32 = 5;
const FIRST_MESSAGE_DELAY: Millis = Millis(1_000);
const MAX_FAILING: Millis = Millis(259_200_000);
