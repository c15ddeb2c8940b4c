use mcp_listen::{
    bus::{Bus, EdgeId, FollowReply, Mark, Position, Received, ShardId},
    clock::Millis,
    session::{Ask, Limits, NewSession, Output, Question, Reply, Sessions},
    wire::{Follow, FollowAnswer, SessionCall, Watched},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::uri;

use super::rows::Rows;

pub(super) const LIMITS: Limits = Limits {
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
        behind: None,
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
    pub(super) bus: Bus,
    pub(super) edges: Vec<EdgeId>,
    pub(super) seq: u64,
    pub(super) now: Millis,
}

impl World {
    pub(super) fn new() -> Self {
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
            sessions: Sessions::new(Rows::default()),
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
        let told = Question::from_json(&question.to_json());
        assert_eq!(told.as_ref(), Some(&question), "survives its way");
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
            Ask::Watch {
                uri: uri(name),
                limits: LIMITS,
            },
        )
    }

    pub(super) fn is_there(&mut self, id: &str) -> bool {
        self.ask(id, Ask::Use) == Reply::Done
    }

    pub(super) fn outputs(&mut self) -> Vec<Output> {
        std::iter::from_fn(|| self.sessions.poll_output()).collect()
    }

    /// The stream of a session is at an edge. Returns what the edge receives of what the session watches.
    pub(super) fn joined(&mut self, claim: &str, edge: u32) -> Option<Watched> {
        let follow = self.follow(&[claim], &[], true);
        let received = self.bus.handle_message(self.edges[edge as usize], &follow);
        let Ok(Received::Followed(reply)) = received else {
            panic!("{received:?}")
        };
        self.finish(*reply, true)
    }

    pub(super) fn joined_shard(&mut self, claim: &str, shard: u32) -> Option<Watched> {
        self.shard_follows(&[claim], &[], shard)
    }

    pub(super) fn left_shard(&mut self, claim: &str, shard: u32) {
        self.shard_follows(&[], &[claim], shard);
    }

    pub(super) fn left(&mut self, edge: u32) {
        let left = self
            .sessions
            .handle_left(self.edges[edge as usize], self.now);
        left.unwrap();
    }

    pub(super) fn shard_follows(
        &mut self,
        joined: &[&str],
        left: &[&str],
        shard: u32,
    ) -> Option<Watched> {
        let follow = self.follow(joined, left, false);
        let reply = self.bus.handle_follow(ShardId(shard), &follow).unwrap();
        self.finish(reply, false)
    }

    pub(super) fn follow(&mut self, joined: &[&str], left: &[&str], is_fresh: bool) -> String {
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

    pub(super) fn finish(&mut self, mut reply: FollowReply, is_edge: bool) -> Option<Watched> {
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

pub(super) fn tell(shard: u32, call: SessionCall, is_awaited: bool) -> Output {
    Output::Tell {
        shard,
        call,
        is_awaited,
    }
}

pub(super) fn watching(session: &str, uris: &[&str], is_held: bool) -> Watched {
    Watched {
        session: session.into(),
        uris: uris.iter().map(|name| uri(name)).collect(),
        is_held,
    }
}
