use mcp_listen::{session::Ask, uri::Uri};

use crate::{
    client::{Client, Kind},
    invariant::{Violation, ensure},
    key::{KEYS, Key, Keys},
};

/// What a client of 2025 knows of its session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) principal: Option<&'static str>,
    /// `None`: it has none.
    pub(crate) id: Option<Box<str>>,
    /// The lists that the server offers.
    pub(crate) lists: Keys,
    /// The resources that it has subscribed to in this session, and may receive.
    pub(crate) asked: Keys,
    /// The subscriptions that were confirmed.
    pub(crate) watched: Keys,
    /// The resources that its stream may not deliver.
    pub(crate) denied: Keys,
    /// The resources that it may deliver again, once it has received the new subscription.
    pub(crate) granted: Keys,
    /// Another stream of the session has taken over.
    pub(crate) is_superseded: bool,
}

/// A client of 2025, as far as its session is concerned.
impl Client {
    /// The same client with a stream that takes over from this one.
    pub(crate) fn successor(&mut self) -> Self {
        let kind = match &mut self.kind {
            Kind::Session(session) => {
                let kind = Kind::Session(session.clone());
                session.is_superseded = true;
                kind
            }
            _ => Kind::Session(Session {
                principal: None,
                id: None,
                lists: self.wanted,
                asked: self.wanted,
                watched: self.wanted,
                denied: Keys::default(),
                granted: Keys::default(),
                is_superseded: true,
            }),
        };
        Self {
            is_ready: self.is_ready,
            promised: std::mem::take(&mut self.promised),
            read: self.read,
            last_id: self.last_id.clone(),
            ..Self::new(kind, std::mem::take(&mut self.wanted))
        }
    }

    /// It continues as before [`Self::successor`].
    pub(crate) fn take_back(&mut self, successor: Self) {
        *self = Self {
            host: self.host.take(),
            is_eager: self.is_eager,
            ..successor
        };
    }

    /// A session that it may use, unless another client has taken over.
    pub(crate) fn in_session(&self) -> Option<&Session> {
        match &self.kind {
            Kind::Session(session) if !session.is_superseded => Some(session),
            _ => None,
        }
    }

    pub(crate) fn session_mut(&mut self) -> Option<&mut Session> {
        match &mut self.kind {
            Kind::Session(session) => Some(session),
            _ => None,
        }
    }

    /// The id of its session.
    pub(crate) fn session_id(&self) -> Option<&str> {
        match &self.kind {
            Kind::Session(session) => session.id.as_deref(),
            _ => None,
        }
    }

    /// The keys that its stream may not deliver.
    pub(crate) fn denied(&self) -> Keys {
        match &self.kind {
            Kind::Session(session) => session.denied,
            _ => Keys::default(),
        }
    }

    /// The keys that its stream may deliver again.
    pub(crate) fn granted(&self) -> Keys {
        match &self.kind {
            Kind::Session(session) => session.granted,
            _ => Keys::default(),
        }
    }

    pub(crate) fn is_superseded(&self) -> bool {
        matches!(&self.kind, Kind::Session(session) if session.is_superseded)
    }

    pub(crate) fn principal(&self) -> Option<&'static str> {
        match &self.kind {
            Kind::Session(session) => session.principal,
            _ => None,
        }
    }

    /// The lists that the server offers to its session.
    pub(crate) fn lists(&self) -> Keys {
        match &self.kind {
            Kind::Session(session) => session.lists,
            _ => self.wanted.lists(),
        }
    }

    /// Its session begins, in place of an earlier one: it has no subscriptions yet, and all changes
    /// of lists are promised from now on.
    pub(crate) fn start_over(&mut self, id: Box<str>, published: usize) {
        if let Some(session) = self.session_mut() {
            session.id = Some(id);
            session.asked = Keys::default();
            session.watched = Keys::default();
            session.denied = Keys::default();
            session.granted = Keys::default();
        }
        self.wanted = self.lists();
        self.is_ready = false;
        self.last_id = None;
        self.promised = [None; KEYS];
        self.promise(published);
    }

    /// Its session has ended.
    pub(crate) fn lose_session(&mut self) {
        if let Some(session) = self.session_mut() {
            session.id = None;
        }
        self.promised = [None; KEYS];
        self.wanted = Keys::default();
    }

    /// A question is sent to its session: resources to unsubscribe from are no longer promised.
    pub(crate) fn handle_asked(&mut self, ask: &Ask) {
        if let Ask::Unsubscribe(uri) = ask {
            let key = Key::of_uri(uri);
            if let Some(session) = self.session_mut() {
                session.watched = session.watched.without(key);
            }
            self.wanted = self.wanted.without(key);
            self.promised[key.index()] = None;
        }
    }

    /// The same for every stream of the session: resources to subscribe to may be delivered.
    pub(crate) fn handle_shared(&mut self, ask: &Ask) {
        if let (Ask::Subscribe { uri, .. }, Some(session)) = (ask, self.session_mut()) {
            session.asked = session.asked.with(Key::of_uri(uri));
        }
    }

    /// A stream of its session is opened that may not deliver these.
    pub(crate) fn handle_opened(&mut self, denied: &[Uri], published: usize) {
        let denied = denied
            .iter()
            .fold(Keys::default(), |keys, uri| keys.with(Key::of_uri(uri)));
        let Some(session) = self.session_mut() else {
            return;
        };
        session.denied = denied;
        session.granted = Keys::default();
        let watched = session.watched;
        for key in watched.resources() {
            if denied.has(key) {
                self.wanted = self.wanted.without(key);
                self.promised[key.index()] = None;
            } else if !self.wanted.has(key) {
                self.wanted = self.wanted.with(key);
                self.promised[key.index()] = Some(published);
            }
        }
    }

    /// Its subscription to a resource was confirmed: updates are promised from now on.
    pub(crate) fn watch(&mut self, key: Key, published: usize) {
        let has_stream = self.host.is_some();
        let Some(session) = self.session_mut() else {
            return;
        };
        session.watched = session.watched.with(key);
        session.granted = session.granted.with(key);
        if !has_stream || !session.denied.has(key) {
            self.wanted = self.wanted.with(key);
            self.promised[key.index()].get_or_insert(published);
        }
    }

    /// A session receives nothing that it has not requested.
    pub(crate) fn check_asked(&self, key: Key) -> Result<(), Violation> {
        let Kind::Session(session) = &self.kind else {
            return Ok(());
        };
        let is_asked = session.lists.has(key) || session.asked.has(key);
        ensure(
            "a session receives only what it requested",
            is_asked,
            || key.name().to_owned(),
        )
    }

    pub(crate) fn session(lists: Keys, principal: Option<&'static str>) -> Self {
        let session = Session {
            principal,
            id: None,
            lists,
            asked: Keys::default(),
            watched: Keys::default(),
            denied: Keys::default(),
            granted: Keys::default(),
            is_superseded: false,
        };
        let mut client = Self::new(Kind::Session(session), lists);
        client.is_ready = false;
        client
    }
}
