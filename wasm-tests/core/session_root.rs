//! The root of a bus with session `s`, driven as a host drives it.

use mcp_listen::{
    bus::Publication,
    clock::Millis,
    event::ServerEvent,
    root::RootOutput,
    session::{Ask, NewSession, Question, Reply, SessionLimits},
};

use crate::{
    any::uri,
    follow::Publish as _,
    log::{Log, Root},
    sessions::rows::Rows,
};

/// A root with a session whose client is ready, and whose first stream was opened.
pub(crate) struct SessionRoot {
    pub(crate) root: Root,
    pub(crate) log: Log,
    pub(crate) rows: Rows,
}

impl SessionRoot {
    pub(crate) fn new() -> Self {
        let (log, rows) = (Log::default(), Rows::default());
        let mut root = Root::new(log.clone(), Some(rows.clone()));
        let new = NewSession {
            principal: None,
            address: None,
            upstream_id: None,
            capabilities: r#"{"resources":{"subscribe":true}}"#.into(),
            idle: Millis(1_000),
        };
        let sessions = root.sessions_mut().unwrap();
        let begun = sessions.begin("s", new, "0-e", &LIMITS, NOW).unwrap();
        assert!(begun);
        let mut world = Self { root, log, rows };
        let ready = Ask::Initialized {
            is_forwarded: false,
        };
        assert_eq!(world.ask(ready), Reply::Done);
        let opened = world.ask(Ask::Open { resumes: true });
        assert!(matches!(opened, Reply::Open { stream: 1, .. }));
        world
    }

    pub(crate) fn ask(&mut self, ask: Ask) -> Reply {
        self::ask(&mut self.root, ask)
    }

    pub(crate) fn watch(&mut self, name: &str) {
        watch(&mut self.root, name);
    }

    pub(crate) fn publish(&mut self, event: &ServerEvent) -> Publication {
        self.log.push(event);
        self.root.bus_mut().publish(event)
    }

    pub(crate) fn outputs(&mut self) -> Vec<RootOutput> {
        outputs(&mut self.root)
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
const LIMITS: SessionLimits = SessionLimits {
    sessions: 4,
    unnamed_sessions: 4,
    sessions_per_principal: 4,
    uris: 8,
    session_uri_bytes: 1_000,
    bus_uri_bytes: 1_000,
    unnamed_uri_bytes: 1_000,
};
