//! The root of a bus with session `s`, driven as a host drives it.

use std::time::Duration;

use mcp_listen::{
    bus::{EdgeId, Publication},
    clock::Millis,
    event::ServerEvent,
    isolate::SessionStart,
    root::{RootOutput, RootReceived},
    session::{Ask, NewSession, Question, Reply, SessionLimits},
    upstream::ResumePoint,
};

use crate::{
    alone::Alone,
    any::{claim, uri},
    follow::Receivers as _,
    log::{Log, Root},
    sessions::rows::Rows,
};

/// A root with a session whose first stream was opened.
pub(crate) struct SessionRoot {
    pub(crate) root: Root,
    pub(crate) log: Log,
    pub(crate) rows: Rows,
}

impl SessionRoot {
    /// A session whose client is ready.
    pub(crate) fn new() -> Self {
        let mut world = Self::paused();
        world.ready();
        world
    }

    /// A session whose client is not ready.
    pub(crate) fn paused() -> Self {
        let (log, rows) = (Log::default(), Rows::default());
        let mut root = Root::new(log.clone(), Some(rows.clone()));
        let new = NewSession {
            principal: None,
            address: None,
            upstream_id: None,
            capabilities: r#"{"resources":{"subscribe":true}}"#.into(),
            idle: Duration::from_secs(1),
        };
        let sessions = root.sessions_mut().unwrap();
        let begun = sessions.begin("s", new, "0-e", &LIMITS, NOW).unwrap();
        assert!(begun);
        let mut world = Self { root, log, rows };
        let opened = world.ask(Ask::Open { resumes: true });
        assert!(matches!(opened, Reply::Open { stream: 1, .. }));
        world
    }

    /// The client is ready from now on.
    pub(crate) fn ready(&mut self) {
        let ready = Ask::Initialized {
            is_forwarded: false,
        };
        assert_eq!(self.ask(ready), Reply::Done);
    }

    pub(crate) fn ask(&mut self, ask: Ask) -> Reply {
        self::ask(&mut self.root, ask)
    }

    pub(crate) fn watch(&mut self, name: &str) {
        watch(&mut self.root, name);
    }

    pub(crate) fn unwatch(&mut self, name: &str) {
        assert_eq!(self.ask(Ask::Unsubscribe(uri(name))), Reply::Done);
    }

    /// Attaches a stream of the session at a new edge.
    pub(crate) fn attach(&mut self, stream: &mut Alone) -> EdgeId {
        let edge = self.root.bus_mut().connect();
        let follow = stream.attach_message();
        let received = self.root.handle_message(edge, &follow, NOW).unwrap();
        let RootReceived::Followed { frames, .. } = received else {
            panic!("{received:?}")
        };
        for frame in &frames {
            stream.handle_bus_message(frame, NOW).unwrap();
        }
        edge
    }

    pub(crate) fn publish(&mut self, event: &ServerEvent) -> Publication {
        self.log.push(event);
        self.root.publish_at(event, None)
    }

    /// Publishes an event, which the stream at this edge receives.
    pub(crate) fn publish_to(&mut self, edge: EdgeId, stream: &mut Alone, event: &ServerEvent) {
        let publication = self.publish(event);
        if let Some(frame) = publication.message_for(edge) {
            stream.handle_bus_message(frame, NOW).unwrap();
        }
    }

    /// Returns the frame for an edge, which is the only output.
    pub(crate) fn frame_for(&mut self, edge: EdgeId) -> String {
        match <[RootOutput; 1]>::try_from(self.outputs()) {
            Ok([RootOutput::Send(to, frame)]) if to == edge => frame,
            outputs => panic!("{outputs:?}"),
        }
    }

    pub(crate) fn outputs(&mut self) -> Vec<RootOutput> {
        outputs(&mut self.root)
    }
}

/// The start of the session's stream with this number, which continues from `past`.
pub(crate) fn session_start(stream: u64, past: ResumePoint) -> SessionStart {
    SessionStart {
        session: claim(&format!("s {stream}")),
        past,
        denied: Vec::new(),
    }
}

/// Asks the session.
pub(crate) fn ask(root: &mut Root, ask: Ask) -> Reply {
    let question = Question {
        session: "s".into(),
        principal: None,
        ask,
    };
    root.sessions_mut().unwrap().ask(question, NOW).unwrap()
}

/// Subscribes the session to a resource.
pub(crate) fn watch(root: &mut Root, name: &str) {
    let (uri, limits) = (uri(name), LIMITS);
    assert_eq!(ask(root, Ask::Subscribe { uri, limits }), Reply::Done);
}

pub(crate) fn outputs(root: &mut Root) -> Vec<RootOutput> {
    std::iter::from_fn(|| root.poll_output(NOW, NOW).unwrap()).collect()
}

const NOW: Millis = Millis(0);
pub(crate) const LIMITS: SessionLimits = SessionLimits {
    sessions: 4,
    unnamed_sessions: 4,
    sessions_per_principal: 4,
    uris: 1_000,
    session_uri_bytes: 1_000_000,
    bus_uri_bytes: 1_000_000,
    unnamed_uri_bytes: 1_000_000,
};
