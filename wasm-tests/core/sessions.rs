//! Sessions beside their store: how long they live, what they watch, and where their stream is.

use std::collections::{BTreeMap, BTreeSet};

use mcp_listen::{
    bus::{Bus, EdgeId, FollowReply, Mark, Position, Received, ShardId},
    clock::Millis,
    session::{
        Ask, Claim, Excess, Limits, NewSession, Output, Question, Reply, Session, Sessions, Store,
        Totals,
    },
    uri::Uri,
    wire::{Follow, FollowAnswer, SessionCall, Watched},
};
use proptest::collection;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{check, uri};

/// A store in memory; it keeps sessions as the text that others write to disk.
#[derive(Debug, Default)]
struct Rows {
    sessions: BTreeMap<Box<str>, String>,
    order: Vec<Box<str>>,
    uris: BTreeMap<Box<str>, BTreeSet<Uri>>,
    writes: usize,
}

impl Rows {
    fn all(&self) -> impl Iterator<Item = (&Box<str>, Session)> {
        let ids = self.order.iter();
        ids.filter_map(|id| self.get(id).unwrap().map(|session| (id, session)))
    }

    fn those(&self, is: impl Fn(&Session) -> bool) -> Vec<Box<str>> {
        let all = self.all().filter(|(_, session)| is(session));
        all.map(|(id, _)| id.clone()).collect()
    }
}

impl Store for Rows {
    type Error = core::convert::Infallible;

    fn get(&self, id: &str) -> Result<Option<Session>, Self::Error> {
        let text = self.sessions.get(id);
        Ok(text.map(|text| serde_json::from_str(text).unwrap()))
    }

    fn put(&mut self, id: &str, session: &Session) -> Result<(), Self::Error> {
        let text = serde_json::to_string(session).unwrap();
        if self.sessions.insert(id.into(), text).is_none() {
            self.order.push(id.into());
        }
        self.writes += 1;
        Ok(())
    }

    fn remove(&mut self, id: &str) -> Result<(), Self::Error> {
        self.sessions.remove(id);
        self.order.retain(|each| **each != *id);
        self.uris.remove(id);
        Ok(())
    }

    fn watched(&self, id: &str) -> Result<Vec<Uri>, Self::Error> {
        let uris = self.uris.get(id);
        Ok(uris.into_iter().flatten().cloned().collect())
    }

    fn watches(&self, id: &str, uri: &str) -> Result<bool, Self::Error> {
        Ok(self.uris.get(id).is_some_and(|uris| uris.contains(uri)))
    }

    fn watch(&mut self, id: &str, name: &str) -> Result<(), Self::Error> {
        assert!(self.uris.entry(id.into()).or_default().insert(uri(name)));
        Ok(())
    }

    fn unwatch(&mut self, id: &str, uri: &str) -> Result<(), Self::Error> {
        assert!(self.uris.get_mut(id).unwrap().remove(uri));
        Ok(())
    }

    fn of_caller(&self, caller: &str) -> Result<Vec<Box<str>>, Self::Error> {
        Ok(self.those(|session| session.new.caller().as_deref() == Some(caller)))
    }

    fn ended(&self, now: Millis) -> Result<Vec<Box<str>>, Self::Error> {
        Ok(self.those(|session| session.ends_at() < now))
    }

    fn at_shard(&self, shard: u32) -> Result<Vec<Box<str>>, Self::Error> {
        Ok(self.those(|session| session.shard == Some(shard)))
    }

    fn totals(&self) -> Result<[Totals; 2], Self::Error> {
        let mut totals = [Totals::default(); 2];
        for (id, session) in self.all() {
            let of = &mut totals[usize::from(!session.is_named())];
            of.sessions += 1;
            let watched = self.watched(id)?;
            of.bytes += watched.iter().map(|uri| uri.len() + 64).sum::<usize>();
        }
        Ok(totals)
    }
}

const LIMITS: Limits = Limits {
    sessions: 4,
    unnamed_sessions: 3,
    sessions_per_principal: 2,
    uris: 2,
    session_uri_bytes: 300,
    bus_uri_bytes: 500,
    unnamed_uri_bytes: 400,
};
const IDLE: Millis = Millis(1_000);

fn of(principal: Option<&str>) -> NewSession {
    NewSession {
        principal: principal.map(Into::into),
        address: None,
        behind: None,
        capabilities: r#"{"resources":{"subscribe":true}}"#.into(),
        idle: IDLE,
    }
}

fn at(address: &str) -> NewSession {
    NewSession {
        address: Some(address.into()),
        ..of(None)
    }
}

/// Sessions, and the time.
struct World {
    sessions: Sessions<Rows>,
    bus: Bus,
    edges: Vec<EdgeId>,
    seq: u64,
    now: Millis,
}

impl World {
    fn new() -> Self {
        let mut bus = Bus::new(Mark {
            epoch: "e".into(),
            position: Position(0),
        });
        let edges = (0..10).map(|_| bus.connect()).collect();
        bus.set_shards(Position(0), 9, 10);
        for shard in 0..10 {
            bus.restore_shard(ShardId(shard), "", 0, false);
        }
        Self {
            sessions: Sessions::new(Rows::default(), Millis(0)),
            bus,
            edges,
            seq: 0,
            now: Millis(5_000),
        }
    }

    fn with(id: &str, new: NewSession) -> Self {
        let mut world = Self::new();
        assert!(world.begin(id, new));
        world
    }

    fn begin(&mut self, id: &str, new: NewSession) -> bool {
        let begun = self.sessions.begin(id, new, "0-e", &LIMITS, self.now);
        begun.unwrap()
    }

    fn ask_as(&mut self, principal: Option<&str>, id: &str, ask: Ask) -> Reply {
        let question = Question {
            session: id.into(),
            principal: principal.map(Into::into),
            ask,
        };
        let told = Question::from_json(&question.to_json());
        assert_eq!(told.as_ref(), Some(&question), "survives its way");
        let reply = self.sessions.ask(question, self.now).unwrap();
        assert_eq!(Reply::from_json(&reply.to_json()).as_ref(), Some(&reply));
        reply
    }

    fn ask(&mut self, id: &str, ask: Ask) -> Reply {
        self.ask_as(None, id, ask)
    }

    fn watch(&mut self, id: &str, name: &str) -> Reply {
        self.ask(
            id,
            Ask::Watch {
                uri: uri(name),
                limits: LIMITS,
            },
        )
    }

    fn is_there(&mut self, id: &str) -> bool {
        self.ask(id, Ask::Use) == Reply::Done
    }

    fn outputs(&mut self) -> Vec<Output> {
        std::iter::from_fn(|| self.sessions.poll_output()).collect()
    }

    /// The stream of a session is at an edge; the answer is what it is told that the session watches.
    fn joined(&mut self, claim: &str, edge: u32) -> Option<Watched> {
        let follow = self.follow(&[claim], &[], true);
        let received = self.bus.handle_message(self.edges[edge as usize], &follow);
        let Ok(Received::Followed(reply)) = received else {
            panic!("{received:?}")
        };
        self.finish(*reply, true)
    }

    fn joined_shard(&mut self, claim: &str, shard: u32) -> Option<Watched> {
        self.shard_follows(&[claim], &[], shard)
    }

    fn left_shard(&mut self, claim: &str, shard: u32) {
        self.shard_follows(&[], &[claim], shard);
    }

    fn left(&mut self, edge: u32) {
        let left = self
            .sessions
            .handle_left(self.edges[edge as usize], self.now);
        left.unwrap();
    }

    fn shard_follows(&mut self, joined: &[&str], left: &[&str], shard: u32) -> Option<Watched> {
        let follow = self.follow(joined, left, false);
        let reply = self.bus.handle_follow(ShardId(shard), &follow).unwrap();
        self.finish(reply, false)
    }

    fn follow(&mut self, joined: &[&str], left: &[&str], is_fresh: bool) -> String {
        self.seq += 1;
        let claims = |claims: &[&str]| claims.iter().map(|&claim| claim.into()).collect();
        let follow = Follow {
            seq: self.seq,
            is_fresh,
            joined: claims(joined),
            left: claims(left),
            ..Follow::default()
        };
        follow.to_json()
    }

    fn finish(&mut self, mut reply: FollowReply, is_edge: bool) -> Option<Watched> {
        let is_there = self
            .sessions
            .handle_follow(&mut reply, &mut self.bus, self.now);
        let answers = reply.finish(&mut self.bus);
        let answer = FollowAnswer::from_json(&answers[0]).unwrap();
        let FollowAnswer::Followed(mut followed) = answer else {
            panic!("{answer:?}")
        };
        let watched = followed.watches.pop();
        assert_eq!(is_there, Ok(!is_edge || watched.is_some()));
        watched
    }
}

fn tell(shard: u32, call: SessionCall, is_awaited: bool) -> Output {
    Output::Tell {
        shard,
        call,
        is_awaited,
    }
}

fn watching(session: &str, uris: &[&str], is_held: bool) -> Watched {
    Watched {
        session: session.into(),
        uris: uris.iter().map(|name| uri(name)).collect(),
        is_held,
    }
}

#[test]
fn a_session_is_its_principal_s_alone() {
    let mut world = World::with("s", of(Some("ann")));
    for other in [None, Some("bob"), Some("")] {
        assert_eq!(world.ask_as(other, "s", Ask::Use), Reply::Unknown);
        assert_eq!(
            world.ask_as(other, "s", Ask::End { is_told: false }),
            Reply::Unknown
        );
    }
    assert_eq!(world.ask_as(Some("ann"), "s", Ask::Use), Reply::Done);
    assert_eq!(world.ask_as(Some("ann"), "t", Ask::Use), Reply::Unknown);
    assert_eq!(world.joined("s", 1), None, "nor is its stream another's");
    assert_eq!(world.joined("s bob", 2), None);
    assert_eq!(world.outputs(), []);
    assert_eq!(world.joined_shard("s bob", 1), None);
    assert!(world.joined("s ann", 3).is_some());
}

#[test]
fn a_session_that_idles_for_too_long_is_over() {
    let mut world = World::with("s", of(None));
    world.now = world.now + IDLE;
    assert!(world.is_there("s"), "its span to the last");
    world.now = world.now + IDLE + Millis(1);
    assert!(!world.is_there("s"));
    assert_eq!(world.sessions.count(), Ok(1), "not swept yet");
    world.sessions.sweep(world.now).unwrap();
    assert_eq!(world.sessions.count(), Ok(0));
}

#[test]
fn a_session_with_a_stream_idles_from_its_end_on() {
    for is_at_shard in [false, true] {
        let mut world = World::with("s", of(None));
        if is_at_shard {
            world.joined_shard("s", 3);
        } else {
            world.joined("s", 1);
        }
        world.now = world.now + Millis(5_000);
        world.sessions.sweep(world.now).unwrap();
        assert_eq!(world.sessions.count(), Ok(1));
        world.now = world.now + Millis(5_000);
        if is_at_shard {
            world.left_shard("s", 3);
        } else {
            world.left(1);
        }
        world.now = world.now + IDLE;
        world.sessions.sweep(world.now).unwrap();
        assert!(world.is_there("s"));
        world.now = world.now + IDLE + Millis(1);
        world.sessions.sweep(world.now).unwrap();
        assert_eq!(world.sessions.count(), Ok(0));
    }
}

#[test]
fn requests_of_one_moment_write_nothing_and_count_all_the_same() {
    let mut world = World::with("s", of(None));
    for _ in 0..20 {
        world.now = world.now + Millis(5);
        assert!(world.is_there("s"));
    }
    assert_eq!(world.sessions.store().writes, 1);
    world.now = world.now + IDLE;
    assert!(
        world.is_there("s"),
        "used 1,000 ms ago, written 1,100 ms ago"
    );
    world.sessions.sweep(world.now).unwrap();
    assert_eq!(world.sessions.count(), Ok(1));
}

#[test]
fn a_caller_makes_room_at_its_own_expense() {
    let mut world = World::with("other", of(Some("bob")));
    for (id, after) in [("a", 10), ("b", 20)] {
        world.now = Millis(5_000 + after);
        assert!(world.begin(id, of(Some("ann"))));
    }
    world.now = Millis(5_030);
    world.ask_as(Some("ann"), "a", Ask::Use);
    assert!(world.begin("c", of(Some("ann"))));
    assert_eq!(world.ask_as(Some("ann"), "b", Ask::Use), Reply::Unknown);
    assert_eq!(world.ask_as(Some("ann"), "a", Ask::Use), Reply::Done);

    world.joined("c ann", 1);
    world.joined_shard("a ann", 2);
    world.ask_as(Some("ann"), "a", Ask::Use);
    world.left_shard("a ann", 2);
    world.now = Millis(5_040);
    world.ask_as(Some("ann"), "a", Ask::Use);
    assert!(
        world.begin("d", of(Some("ann"))),
        "one without a stream goes first"
    );
    assert_eq!(world.ask_as(Some("ann"), "a", Ask::Use), Reply::Unknown);
    assert_eq!(world.ask_as(Some("ann"), "c", Ask::Use), Reply::Done);

    world.joined("d ann", 4);
    world.joined_shard("c ann", 2);
    world.ask_as(Some("ann"), "d", Ask::Use);
    world.outputs();
    assert!(world.begin("e", of(Some("ann"))));
    let gone = SessionCall::Release("c ann".into());
    assert_eq!(world.outputs(), [tell(2, gone, false)], "with its stream");
    assert_eq!(world.ask_as(Some("bob"), "other", Ask::Use), Reply::Done);
    assert_eq!(world.sessions.count(), Ok(3));
}

#[test]
fn of_one_moment_the_first_use_is_the_least_recent() {
    let mut world = World::new();
    for id in ["a", "b"] {
        assert!(world.begin(id, of(Some("ann"))));
    }
    world.ask_as(Some("ann"), "a", Ask::Use);
    assert!(world.begin("c", of(Some("ann"))));
    assert_eq!(world.ask_as(Some("ann"), "b", Ask::Use), Reply::Unknown);
    assert_eq!(world.ask_as(Some("ann"), "a", Ask::Use), Reply::Done);
}

#[test]
fn an_address_is_a_caller_and_a_name_never_is_one() {
    let mut world = World::new();
    for id in ["a", "b", "c"] {
        world.now = world.now + Millis(1);
        assert!(world.begin(id, at("ann")));
    }
    assert!(!world.is_there("a"));
    assert!(world.begin("d", of(Some("ann"))));
    assert!(world.is_there("b") && world.is_there("c"));
}

#[test]
fn without_room_nobody_else_s_session_goes() {
    let mut world = World::new();
    for id in ["a", "b", "c"] {
        assert!(world.begin(id, of(None)));
    }
    assert!(
        !world.begin("d", of(None)),
        "callers without a name leave some"
    );
    assert!(world.begin("e", of(Some("ann"))));
    assert!(!world.begin("f", of(Some("bob"))), "all of them");
    assert!(["a", "b", "c"].into_iter().all(|id| world.is_there(id)));
    world.now = world.now + IDLE + Millis(1);
    assert!(
        world.begin("f", of(Some("bob"))),
        "but for those that are over"
    );
    assert_eq!(world.sessions.count(), Ok(1));
    let none = Limits {
        sessions_per_principal: 0,
        ..LIMITS
    };
    let begun = world
        .sessions
        .begin("g", of(Some("ann")), "", &none, world.now);
    assert_eq!(begun, Ok(false));
}

#[test]
fn what_is_watched_is_bounded() {
    let mut world = World::with("s", of(None));
    assert!(world.begin("t", of(None)));
    assert_eq!(world.watch("s", &"a".repeat(100)), Reply::Done);
    assert_eq!(world.watch("s", &"a".repeat(100)), Reply::Done, "once");
    let too_long = world.watch("s", &"b".repeat(73));
    assert_eq!(too_long, Reply::Full(Excess::Bytes(300)));
    assert_eq!(world.watch("s", "c"), Reply::Done);
    assert_eq!(world.watch("s", "d"), Reply::Full(Excess::Uris(2)));
    assert_eq!(world.watch("s", "c"), Reply::Done, "it does already");
    let all = world.watch("t", &"e".repeat(108));
    assert_eq!(all, Reply::Full(Excess::Bytes(400)));
    assert_eq!(world.watch("t", &"e".repeat(107)), Reply::Done);
    assert_eq!(world.ask("s", Ask::Unwatch(uri("c"))), Reply::Done);
    assert_eq!(world.ask("s", Ask::Unwatch(uri("c"))), Reply::Done, "never");
    assert_eq!(world.watch("t", "f"), Reply::Done, "there is room again");
    assert_eq!(world.ask("t", Ask::End { is_told: false }), Reply::Done);
    assert!(world.begin("u", of(Some("ann"))));
    let name = uri(&"g".repeat(236));
    let watch = Ask::Watch {
        uri: name,
        limits: LIMITS,
    };
    assert_eq!(world.ask_as(Some("ann"), "u", watch), Reply::Done);
}

#[test]
fn who_was_not_told_that_it_could_watch_may_not() {
    let new = NewSession {
        capabilities: r#"{"resources":{"listChanged":true}}"#.into(),
        ..of(None)
    };
    let mut world = World::with("s", new);
    for ask in [
        Ask::MayWatch,
        Ask::Watch {
            uri: uri("a"),
            limits: LIMITS,
        },
        Ask::Unwatch(uri("a")),
    ] {
        assert_eq!(world.ask("s", ask), Reply::NotOffered);
    }
    let mut world = World::with("s", of(None));
    assert_eq!(world.ask("s", Ask::MayWatch), Reply::Done);
}

#[test]
fn the_server_behind_is_told_first() {
    let new = NewSession {
        behind: Some("theirs".into()),
        ..of(None)
    };
    let mut world = World::with("s", new);
    let theirs = || Reply::Behind(Some("theirs".into()));
    assert_eq!(world.ask("s", Ask::Behind), theirs());
    for ask in [
        Ask::Initialized { is_told: false },
        Ask::End { is_told: false },
    ] {
        assert_eq!(world.ask("s", ask), Reply::Tell("theirs".into()));
    }
    let held = world.joined("s", 1);
    assert_eq!(held, Some(watching("s", &[], true)), "nothing has changed");
    let told = Ask::Initialized { is_told: true };
    assert_eq!(world.ask("s", told.clone()), Reply::Done);
    let released = Output::Watch(EdgeId(1), watching("s", &[], false));
    assert_eq!(world.outputs(), [released]);
    assert_eq!(world.ask("s", told), Reply::Done);
    assert_eq!(world.outputs(), [], "once");
    assert_eq!(world.ask("s", Ask::End { is_told: true }), Reply::Done);
    assert_eq!(world.outputs(), [Output::Release(EdgeId(1))]);
    assert_eq!(world.ask("s", Ask::Behind), Reply::Unknown);

    let mut world = World::with("s", of(None));
    assert_eq!(world.ask("s", Ask::Behind), Reply::Behind(None));
    assert_eq!(world.ask("s", Ask::End { is_told: false }), Reply::Done);
}

#[test]
fn a_stream_follows_what_its_session_watches() {
    let mut world = World::with("s", of(Some("ann")));
    let as_ann = |world: &mut World, ask| world.ask_as(Some("ann"), "s", ask);
    as_ann(
        &mut world,
        Ask::Watch {
            uri: uri("b"),
            limits: LIMITS,
        },
    );
    assert_eq!(world.outputs(), [], "nobody follows");
    assert_eq!(
        world.joined("s ann", 1),
        Some(watching("s ann", &["b"], true))
    );
    as_ann(
        &mut world,
        Ask::Watch {
            uri: uri("a"),
            limits: LIMITS,
        },
    );
    let both = Output::Watch(EdgeId(1), watching("s ann", &["a", "b"], true));
    assert_eq!(world.outputs(), [both]);
    assert!(world.joined_shard("s ann", 7).is_some());
    assert_eq!(
        world.outputs(),
        [Output::Release(EdgeId(1))],
        "it is elsewhere"
    );
    world.left(1);
    as_ann(&mut world, Ask::Unwatch(uri("b")));
    let changed = || SessionCall::Changed("s ann".into());
    assert_eq!(world.outputs(), [tell(7, changed(), true)]);
    assert!(world.joined_shard("s ann", 8).is_some());
    let gone = || SessionCall::Release("s ann".into());
    assert_eq!(world.outputs(), [tell(7, gone(), false)]);
    world.left_shard("s ann", 7);
    as_ann(
        &mut world,
        Ask::Watch {
            uri: uri("c"),
            limits: LIMITS,
        },
    );
    assert_eq!(world.outputs(), [tell(8, changed(), true)]);
    assert_eq!(as_ann(&mut world, Ask::End { is_told: false }), Reply::Done);
    assert_eq!(world.outputs(), [tell(8, gone(), true)]);
}

#[test]
fn a_second_stream_is_refused_unless_it_resumes() {
    let mut world = World::with("s", of(None));
    world.watch("s", "a");
    let open = |resumes| Ask::Open { resumes };
    let opens = Reply::Open {
        capabilities: r#"{"resources":{"subscribe":true}}"#.into(),
        since: "0-e".into(),
        watched: vec![uri("a")],
    };
    assert_eq!(world.ask("s", open(false)), opens);
    world.joined("s", 1);
    assert_eq!(world.ask("s", open(false)), Reply::Taken);
    assert_eq!(world.ask("s", open(true)), opens);
    world.joined("s", 2);
    assert_eq!(world.outputs(), [Output::Release(EdgeId(1))]);
    world.left(1);
    assert_eq!(
        world.ask("s", open(false)),
        Reply::Taken,
        "the second is there"
    );
    world.left(2);
    assert_eq!(world.ask("s", open(false)), opens);
    world.joined_shard("s", 1);
    assert_eq!(world.ask("s", open(false)), Reply::Taken);
    world.sessions.handle_shard_emptied(1, world.now).unwrap();
    assert_eq!(world.ask("s", open(false)), opens);
    assert_eq!(
        world
            .sessions
            .restore("s", EdgeId(3))
            .map(|it| it.is_some()),
        Ok(true)
    );
    assert_eq!(world.ask("s", open(false)), Reply::Taken);
}

#[test]
fn what_is_kept_is_enough_to_go_on() {
    let mut world = World::with("s", of(Some("ann")));
    assert!(world.begin("t", of(None)));
    world.watch("t", "a");
    world.joined_shard("t", 4);
    let kept = core::mem::replace(
        &mut world.sessions,
        Sessions::new(Rows::default(), Millis(0)),
    );
    world.sessions = Sessions::new(kept.into_store(), Millis(0));
    assert_eq!(world.sessions.count(), Ok(2));
    let restored = world.sessions.restore("s ann", EdgeId(9)).unwrap();
    assert_eq!(restored, Some(watching("s ann", &[], true)));
    assert_eq!(world.sessions.restore("u", EdgeId(8)), Ok(None));
    let open = Ask::Open { resumes: false };
    assert_eq!(world.ask_as(Some("ann"), "s", open.clone()), Reply::Taken);
    assert_eq!(world.ask("t", open), Reply::Taken);
    assert_eq!(world.watch("t", "b"), Reply::Done);
    let changed = SessionCall::Changed("t".into());
    assert_eq!(world.outputs(), [tell(4, changed, true)]);
    assert_eq!(
        world.watch("t", &"c".repeat(999)),
        Reply::Full(Excess::Uris(2))
    );
}

#[test]
fn sessions_whose_streams_may_have_been_forgotten_are_given_a_while() {
    let mut world = World::with("s", of(None));
    world.joined("s", 1);
    world.now = world.now + Millis(9_000);
    let kept = core::mem::replace(
        &mut world.sessions,
        Sessions::new(Rows::default(), Millis(0)),
    );
    world.sessions = Sessions::new(kept.into_store(), world.now);
    world.now = world.now + IDLE;
    world.sessions.sweep(world.now).unwrap();
    assert_eq!(world.sessions.count(), Ok(1));
    world.now = world.now + Millis(1);
    world.sessions.sweep(world.now).unwrap();
    assert_eq!(world.sessions.count(), Ok(0));
}

#[test]
fn a_claim_is_one_text() {
    for (principal, text) in [
        (None, "s"),
        (Some(""), "s "),
        (Some("ann"), "s ann"),
        (Some("a b"), "s a b"),
    ] {
        let claim = Claim {
            session: "s".into(),
            principal: principal.map(Into::into),
        };
        assert_eq!(claim.to_text(), text);
        assert_eq!(Claim::from_text(text), claim);
    }
}

/// Whatever happens, what is counted is what is kept.
#[test]
fn the_counts_are_those_of_the_store() {
    let steps = collection::vec((0..9_u8, 0..3_usize, 0..4_u32), 1..60);
    check(steps, |steps| {
        let mut world = World::new();
        let ids = ["a", "b", "c"];
        let owners = [None, Some("ann"), Some("bob")];
        for (step, which, number) in steps {
            let (id, principal) = (ids[which], owners[which]);
            let claim = Claim {
                session: id.into(),
                principal: principal.map(Into::into),
            };
            let claim = claim.to_text();
            let name = uri(&"n".repeat(number as usize * 60 + 1));
            match step {
                0 | 1 => {
                    if world.sessions.store().get(id).unwrap().is_none() {
                        world.begin(id, of(principal));
                    }
                }
                2 | 3 => {
                    world.ask_as(
                        principal,
                        id,
                        Ask::Watch {
                            uri: name,
                            limits: LIMITS,
                        },
                    );
                }
                4 => {
                    world.ask_as(principal, id, Ask::Unwatch(name));
                }
                5 => {
                    world.joined(&claim, number);
                }
                6 => {
                    world.joined_shard(&claim, number);
                }
                7 => {
                    world.ask_as(principal, id, Ask::End { is_told: false });
                }
                _ => {
                    world.now = world.now + Millis(400);
                    world.sessions.sweep(world.now).unwrap();
                }
            }
        }
        let [named, unnamed] = world.sessions.store().totals().unwrap();
        let held = world.sessions.count().unwrap();
        assert_eq!(held, named.sessions + unnamed.sessions);
        assert!(named.bytes + unnamed.bytes <= LIMITS.bus_uri_bytes);
        assert!(unnamed.bytes <= LIMITS.unnamed_uri_bytes);
        for (id, session) in world.sessions.store().all() {
            let watched = world.sessions.store().watched(id).unwrap();
            assert_eq!(session.uris, watched.len());
            let bytes: usize = watched.iter().map(|uri| uri.len() + 64).sum();
            assert_eq!(session.uri_bytes, bytes);
        }
    });
}
