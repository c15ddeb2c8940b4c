use serde::{Deserialize, Serialize};

use crate::json;

use super::{Excess, NewSession, Session};

/// Upper bounds of what sessions take; each is the largest value still accepted. A URI counts as its bytes, and 64 more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Sessions of all callers.
    pub sessions: usize,
    /// Sessions of callers without a name.
    pub unnamed_sessions: usize,
    /// Sessions of one caller with a name, or of one address.
    pub sessions_per_principal: usize,
    /// Resources that one session watches.
    pub uris: usize,
    /// Bytes of their URIs.
    pub session_uri_bytes: usize,
    /// The same of all sessions.
    pub bus_uri_bytes: usize,
    /// The same of sessions of callers without a name.
    pub unnamed_uri_bytes: usize,
}

/// What sessions take together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// How many there are.
    pub sessions: usize,
    /// Bytes of the URIs that they watch.
    pub bytes: usize,
}

/// What the sessions of a store take: those of callers with a name, and those of callers without.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    pub(super) named: Totals,
    pub(super) unnamed: Totals,
}

impl Limits {
    /// Reads them; `None`: they are none.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }
}

impl Room {
    pub(super) fn all(&self) -> Totals {
        Totals {
            sessions: self.named.sessions + self.unnamed.sessions,
            bytes: self.named.bytes + self.unnamed.bytes,
        }
    }

    pub(super) fn of(&mut self, session: &Session) -> &mut Totals {
        if session.is_named() {
            &mut self.named
        } else {
            &mut self.unnamed
        }
    }

    /// Whether one more session may begin.
    pub(super) fn admits(&self, new: &NewSession, limits: &Limits) -> bool {
        let is_named = new.principal.is_some();
        self.all().sessions < limits.sessions
            && (is_named || self.unnamed.sessions < limits.unnamed_sessions)
    }

    /// The limit that a session would exceed by watching a resource that counts for `bytes` too.
    pub(super) fn excess(
        &self,
        session: &Session,
        bytes: usize,
        limits: &Limits,
    ) -> Option<Excess> {
        if session.uris >= limits.uris {
            return Some(Excess::Uris(limits.uris));
        }
        let of_unnamed = (!session.is_named()).then_some(&self.unnamed);
        let checks = [
            (session.uri_bytes, limits.session_uri_bytes),
            (self.all().bytes, limits.bus_uri_bytes),
            (
                of_unnamed.map_or(0, |unnamed| unnamed.bytes),
                of_unnamed.map_or(usize::MAX, |_| limits.unnamed_uri_bytes),
            ),
        ];
        let exceeded = checks
            .into_iter()
            .find(|(held, most)| held.saturating_add(bytes) > *most);
        exceeded.map(|(_, most)| Excess::Bytes(most))
    }
}
