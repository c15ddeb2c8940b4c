use core::slice;

use mcp_listen::{
    bus::{Bus, EdgeId, FollowReply, Received, ShardId},
    clock::Millis,
    position::{Cursor, Position},
    session::{Ask, NewSession, Question, Reply, SessionLimits, SessionOutput, Sessions},
    wire::{Claim, Follow, FollowResponse, SessionCall, SessionInterest},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{claim as claim_of, uri};

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
        idle: IDLE,
    }
}

pub(super) fn at(address: &str) -> NewSession {
    NewSession {
        address: Some(address.into()),
        ..of(None)
    }
}

/// Sessions, and the time.
pub(super) struct World {
    pub(super) sessions: Sessions<Rows>,
    pub(super) rows: Rows,
    pub(super) bus: Bus,
    pub(super) edges: Vec<EdgeId>,
    pub(super) seq: u64,
    pub(super) now: Millis,
}

impl World {
    pub(super) fn new() -> Self {
        let mut bus = Bus::new(Cursor {
            epoch: "e".into(),
            position: Position(0),
        });
        let edges = (0..10).map(|_| bus.connect()).collect();
        bus.set_shards(Position(0), 9, 10);
        for shard in 0..10 {
            bus.restore_shard(ShardId(shard), "", 0, false);
        }
        let rows = Rows::default();
        Self {
            sessions: Sessions::new(rows.clone()),
            rows,
            bus,
            edges,
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
        self.sessions = Sessions::new(self.rows.clone());
    }

    pub(super) fn begin(&mut self, id: &str, new: NewSession) -> bool {
        let begun = self.sessions.begin(id, new, "0-e", &LIMITS, self.now);
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
        let reply = self.sessions.ask(question, self.now).unwrap();
        assert_eq!(Reply::from_json(&reply.to_json()).as_ref(), Some(&reply));
        reply
    }

    pub(super) fn ask(&mut self, id: &str, ask: Ask) -> Reply {
        self.ask_as(None, id, ask)
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

    pub(super) fn outputs(&mut self) -> Vec<SessionOutput> {
        std::iter::from_fn(|| self.sessions.poll_output()).collect()
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
        let received = self.bus.handle_message(self.edges[edge as usize], &follow);
        let Ok(Received::Followed(reply)) = received else {
            panic!("{received:?}")
        };
        self.finish(*reply, true)
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
        let left = self
            .sessions
            .handle_left(self.edges[edge as usize], self.now);
        left.unwrap();
    }

    pub(super) fn shard_follows(
        &mut self,
        joined: &[Claim],
        left: &[Claim],
        shard: u32,
    ) -> Option<SessionInterest> {
        let follow = self.follow(joined, left, false);
        let reply = self.bus.handle_follow(ShardId(shard), &follow).unwrap();
        self.finish(reply, false)
    }

    pub(super) fn follow(&mut self, joined: &[Claim], left: &[Claim], is_fresh: bool) -> String {
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

    pub(super) fn finish(
        &mut self,
        mut reply: FollowReply,
        is_edge: bool,
    ) -> Option<SessionInterest> {
        let is_there = self
            .sessions
            .handle_follow(&mut reply, &mut self.bus, self.now);
        let answers = reply.finish(&mut self.bus);
        let answer = FollowResponse::from_json(&answers[0]).unwrap();
        let FollowResponse::Followed(mut followed) = answer else {
            panic!("{answer:?}")
        };
        let interest = followed.interests.pop();
        assert_eq!(is_there, Ok(!is_edge || interest.is_some()));
        interest
    }
}

pub(super) fn call(shard: u32, call: SessionCall, is_awaited: bool) -> SessionOutput {
    SessionOutput::Call {
        shard,
        call,
        is_awaited,
    }
}

/// Returns what the stream with this claim is sent.
pub(super) fn watching(claim: &str, uris: &[&str], is_paused: bool) -> SessionInterest {
    SessionInterest {
        session: claim_of(claim),
        uris: uris.iter().map(|name| uri(name)).collect(),
        is_paused,
    }
}
