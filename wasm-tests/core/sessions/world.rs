use core::slice;

use mcp_listen::{
    bus::{EdgeId, ShardId},
    clock::Millis,
    position::Position,
    root::{RootOutput, RootReceived},
    session::{Ask, NewSession, Question, Reply, SessionLimits, Sessions},
    uri::Uri,
    wire::{BusMessage, Claim, Follow, FollowResponse, SessionCall, SessionInterest},
};

use crate::{
    any::{claim as claim_of, uri},
    log::{Log, Root},
};

use super::rows::Rows;

pub(super) const LIMITS: SessionLimits = SessionLimits {
    sessions: 4,
    unnamed_sessions: 3,
    sessions_per_principal: 2,
    uris: 2,
    session_uri_bytes: 300,
    bus_uri_bytes: 500,
    unnamed_uri_bytes: 400,
};
pub(super) const IDLE: Millis = Millis(1_000);

pub(super) fn of(principal: Option<&str>) -> NewSession {
    NewSession {
        principal: principal.map(Into::into),
        address: None,
        upstream_id: None,
        capabilities: r#"{"resources":{"subscribe":true}}"#.into(),
        idle: IDLE.into(),
    }
}

pub(super) fn at(address: &str) -> NewSession {
    NewSession {
        address: Some(address.into()),
        ..of(None)
    }
}

/// A root with sessions, ten edges and ten shards, and the time.
pub(super) struct World {
    root: Root,
    pub(super) rows: Rows,
    seq: u64,
    pub(super) now: Millis,
}

impl World {
    pub(super) fn new() -> Self {
        let rows = Rows::default();
        Self {
            root: root(&rows),
            rows,
            seq: 0,
            now: Millis(5_000),
        }
    }

    pub(super) fn with(id: &str, new: NewSession) -> Self {
        let mut world = Self::new();
        assert!(world.begin(id, new));
        world
    }

    /// Forgets what only memory has.
    pub(super) fn reset(&mut self) {
        self.root = root(&self.rows);
    }

    pub(super) fn sessions(&mut self) -> &mut Sessions<Rows> {
        self.root.sessions_mut().unwrap()
    }

    pub(super) fn sweep(&mut self) {
        let now = self.now;
        self.root.sweep(now).unwrap();
    }

    /// No stream is at this shard any more.
    pub(super) fn emptied(&mut self, shard: u32) {
        let now = self.now;
        self.sessions().handle_shard_emptied(shard, now).unwrap();
    }

    pub(super) fn begin(&mut self, id: &str, new: NewSession) -> bool {
        self.begin_within(id, new, &LIMITS)
    }

    pub(super) fn begin_within(
        &mut self,
        id: &str,
        new: NewSession,
        limits: &SessionLimits,
    ) -> bool {
        let now = self.now;
        let begun = self.sessions().begin(id, new, "0-e", limits, now);
        begun.unwrap()
    }

    pub(super) fn ask_as(&mut self, principal: Option<&str>, id: &str, ask: Ask) -> Reply {
        let question = Question {
            session: id.into(),
            principal: principal.map(Into::into),
            ask,
        };
        let reported = Question::from_json(&question.to_json());
        assert_eq!(reported.as_ref(), Some(&question), "survives a round trip");
        let now = self.now;
        let reply = self.sessions().ask(question, now).unwrap();
        assert_eq!(Reply::from_json(&reply.to_json()).as_ref(), Some(&reply));
        reply
    }

    pub(super) fn ask(&mut self, id: &str, ask: Ask) -> Reply {
        self.ask_as(None, id, ask)
    }

    /// Ends a session of a caller without a name.
    pub(super) fn end(&mut self, id: &str) {
        let end = Ask::End {
            is_forwarded: false,
        };
        assert_eq!(self.ask(id, end), Reply::Done);
    }

    pub(super) fn watch(&mut self, id: &str, name: &str) -> Reply {
        self.ask(
            id,
            Ask::Subscribe {
                uri: uri(name),
                limits: LIMITS,
            },
        )
    }

    pub(super) fn is_there(&mut self, id: &str) -> bool {
        self.ask(id, Ask::Use) == Reply::Done
    }

    /// Returns what edges and shards have to learn of a change.
    pub(super) fn outputs(&mut self) -> Vec<RootOutput> {
        let (root, now) = (&mut self.root, self.now);
        let outputs = std::iter::from_fn(|| root.poll_output(now, now).unwrap());
        let of_bus = |it: &RootOutput| matches!(it, RootOutput::Persist(_) | RootOutput::Batch(_));
        outputs.filter(|it| !of_bus(it)).collect()
    }

    /// Opens one more stream of a session; the text is the session id and, after a space, the
    /// principal. Returns its claim.
    pub(super) fn open(&mut self, session: &str) -> Claim {
        let (id, principal) = match session.split_once(' ') {
            Some((id, principal)) => (id, Some(principal)),
            None => (session, None),
        };
        let opened = self.ask_as(principal, id, Ask::Open { resumes: true });
        let stream = match opened {
            Reply::Open { stream, .. } => stream,
            _ => 1,
        };
        Claim {
            session: id.into(),
            stream,
            principal: principal.map(Into::into),
        }
    }

    /// Attaches a new stream of a session at an edge. Returns the subscriptions that the edge
    /// receives.
    pub(super) fn joined(&mut self, session: &str, edge: u32) -> Option<SessionInterest> {
        let claim = self.open(session);
        self.joins(&claim, edge)
    }

    /// The same for a stream that was opened before.
    pub(super) fn joins(&mut self, claim: &Claim, edge: u32) -> Option<SessionInterest> {
        let follow = self.follow(slice::from_ref(claim), &[], true);
        let received = self.root.handle_message(EdgeId(edge), &follow, self.now);
        match received.unwrap() {
            RootReceived::Followed { frames, .. } => Some(interest_in(&frames[0]).unwrap()),
            RootReceived::Released => None,
            other => panic!("{other:?}"),
        }
    }

    /// Attaches a new stream of a session at a shard.
    pub(super) fn joined_shard(&mut self, session: &str, shard: u32) -> Option<SessionInterest> {
        let claim = self.open(session);
        self.joins_shard(&claim, shard)
    }

    /// The same for a stream that was opened before.
    pub(super) fn joins_shard(&mut self, claim: &Claim, shard: u32) -> Option<SessionInterest> {
        self.shard_follows(slice::from_ref(claim), &[], shard)
    }

    pub(super) fn left_shard(&mut self, claim: &str, shard: u32) {
        self.shard_follows(&[], &[claim_of(claim)], shard);
    }

    pub(super) fn left(&mut self, edge: u32) {
        self.root.disconnect(EdgeId(edge), self.now).unwrap();
    }

    fn shard_follows(
        &mut self,
        joined: &[Claim],
        left: &[Claim],
        shard: u32,
    ) -> Option<SessionInterest> {
        let follow = self.follow(joined, left, false);
        let response = self.root.handle_follow(ShardId(shard), &follow, self.now);
        interest_in(&response.unwrap().unwrap())
    }

    fn follow(&mut self, joined: &[Claim], left: &[Claim], is_fresh: bool) -> String {
        self.seq += 1;
        let follow = Follow {
            seq: self.seq,
            is_fresh,
            joined: joined.to_vec(),
            left: left.to_vec(),
            ..Follow::default()
        };
        follow.to_json()
    }
}

fn root(rows: &Rows) -> Root {
    let mut root = Root::new(Log::default(), Some(rows.clone()));
    let bus = root.bus_mut();
    for _ in 0..10 {
        bus.connect();
    }
    bus.set_shards(Position(0), 9, 10);
    for shard in 0..10 {
        bus.restore_shard(ShardId(shard), "", 0, false);
    }
    root
}

/// Returns the subscriptions of the session that has joined.
fn interest_in(response: &str) -> Option<SessionInterest> {
    let response = FollowResponse::from_json(response).unwrap();
    let FollowResponse::Followed(mut followed) = response else {
        panic!("{response:?}")
    };
    followed.interests.pop()
}

pub(super) fn call(shard: u32, call: SessionCall, is_awaited: bool) -> RootOutput {
    RootOutput::CallShard {
        shard,
        call,
        is_awaited,
    }
}

/// Returns the output that sends an edge the subscriptions of its session.
pub(super) fn send(edge: u32, uris: &[&str], is_paused: bool) -> RootOutput {
    let uris: Vec<Uri> = uris.iter().map(|name| uri(name)).collect();
    RootOutput::Send(EdgeId(edge), BusMessage::session_interest(&uris, is_paused))
}

/// Returns what the stream with this claim is sent.
pub(super) fn watching(claim: &str, uris: &[&str], is_paused: bool) -> SessionInterest {
    SessionInterest {
        session: claim_of(claim),
        uris: uris.iter().map(|name| uri(name)).collect(),
        is_paused,
    }
}
