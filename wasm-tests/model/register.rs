use std::collections::BTreeMap;

use mcp_listen::{
    clock::Millis,
    session::{Ask, Excess, Question, Reply, SessionLimits},
};

use crate::{
    bus::Bus,
    invariant::{Violation, ensure},
    session_rows::Rows,
    visit::URI_BYTES,
};

/// The promises of sessions, derived only from questions and replies.
#[derive(Debug, Default)]
pub(crate) struct Register {
    entries: BTreeMap<Box<str>, Entry>,
    turns: u64,
    lives: usize,
    /// The state of the bus at the last check.
    seen: (usize, usize, usize),
}

#[derive(Debug)]
struct Entry {
    caller: Option<String>,
    principal: Option<Box<str>>,
    idle: Millis,
    used: (Millis, u64),
    /// The last use that the bus certainly knows of.
    known_at: Millis,
    /// It exists until then, unless something else ends it.
    stays_until: Millis,
    is_streaming: bool,
    is_over: bool,
}

impl Register {
    /// Checks that a session makes room only at the expense of its caller, whose least recently
    /// used sessions end.
    pub(crate) fn begin(
        &mut self,
        id: &str,
        bus: &Bus,
        before: &Rows,
        now: Millis,
    ) -> Result<bool, Violation> {
        let rows = bus.disk().sessions.rows();
        let Some(session) = rows.get(id) else {
            return Ok(false);
        };
        let caller = session.new.caller();
        let gone: Vec<&str> = before.all().map(|(id, _)| id).collect();
        let gone = gone.into_iter().filter(|id| rows.get(id).is_none());
        let mut has_evicted = false;
        for lost in gone {
            let Some(entry) = self.entries.get(lost) else {
                continue;
            };
            let is_own = caller.is_some() && entry.caller == caller;
            let is_idle = !entry.is_streaming && entry.used.0 + entry.idle < now;
            ensure(
                "a caller makes room at its own expense",
                is_own || is_idle,
                || format!("{lost} had to go for {id}"),
            )?;
            if is_own && !is_idle {
                self.check_least_used(lost, entry, &rows, self.lives == bus.lives)?;
                has_evicted = true;
            }
        }
        let over: Vec<Box<str>> = self.gone(&rows);
        for id in over {
            self.end(&id);
        }
        self.turns += 1;
        let idle = Millis::from(session.new.idle);
        let entry = Entry {
            caller,
            principal: session.new.principal.clone(),
            idle,
            used: (now, self.turns),
            known_at: now,
            stays_until: now + idle,
            is_streaming: false,
            is_over: false,
        };
        self.entries.insert(id.into(), entry);
        Ok(has_evicted)
    }

    /// Checks a reply against the known state of the session.
    pub(crate) fn check_reply(
        &mut self,
        question: &Question,
        reply: &Reply,
        now: Millis,
    ) -> Result<(), Violation> {
        self.turns += 1;
        let turn = self.turns;
        let Some(entry) = self.entries.get_mut(&question.session) else {
            return Ok(());
        };
        let is_own = entry.principal == question.principal;
        let is_idle = !entry.is_streaming && entry.used.0 + entry.idle < now;
        let is_unknown = *reply == Reply::Unknown;
        ensure(
            "an ended session is unknown, and so is one of another caller",
            is_unknown || is_own && !entry.is_over && !is_idle,
            || format!("{question:?} got {reply:?}"),
        )?;
        let is_there = is_own && !entry.is_over && (entry.is_streaming || now <= entry.stays_until);
        ensure("a session in use stays", !is_unknown || !is_there, || {
            format!("{} is unknown", question.session)
        })?;
        if is_unknown {
            entry.is_over |= is_own;
            return Ok(());
        }
        entry.used = (now, turn);
        entry.known_at = now;
        entry.stays_until = now + entry.idle;
        if matches!(question.ask, Ask::End { .. }) && *reply == Reply::Done {
            self.end(&question.session);
        }
        Ok(())
    }

    /// Updates the state: streams that came and went, sessions that were swept, a bus that
    /// restarted.
    pub(crate) fn observe(&mut self, bus: &Bus, now: Millis) -> Result<(), Violation> {
        let rows = bus.disk().sessions.rows();
        let seen = (bus.lives, bus.moves, rows.version);
        if self.seen == seen {
            return Ok(());
        }
        self.seen = seen;
        let has_forgotten = self.lives != bus.lives;
        self.lives = bus.lives;
        // The order in which streams have ended since is unknown.
        self.turns += 1;
        for (id, entry) in &mut self.entries {
            if has_forgotten {
                // The stored time may lag by a tenth.
                let late = Millis(entry.idle.0 / 10);
                entry.stays_until = entry.known_at + entry.idle - late;
            }
            let is_streaming = bus.is_streaming(id);
            if entry.is_streaming && !is_streaming {
                entry.used = (now, self.turns);
                entry.known_at = now;
                entry.stays_until = now + entry.idle;
            }
            entry.is_streaming = is_streaming;
            let is_gone = rows.get(id).is_none() && !entry.is_over;
            ensure(
                "a session in use stays",
                !is_gone || !is_streaming && now > entry.stays_until,
                || format!("{id} is gone"),
            )?;
            entry.is_over |= is_gone;
        }
        Ok(())
    }

    /// The disk is lost, and all sessions with it.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Whether a session may have ended by now.
    pub(crate) fn may_be_over(&self, id: &str, now: Millis) -> bool {
        self.entries
            .get(id)
            .is_none_or(|entry| entry.is_over || !entry.is_streaming && now > entry.stays_until)
    }

    fn end(&mut self, id: &str) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.is_over = true;
            entry.is_streaming = false;
        }
    }

    fn gone(&self, rows: &Rows) -> Vec<Box<str>> {
        let ids = self.entries.keys().filter(|id| rows.get(id).is_none());
        ids.cloned().collect()
    }

    /// No other session of its caller was used before it, unless it has a stream.
    fn check_least_used(
        &self,
        id: &str,
        lost: &Entry,
        rows: &Rows,
        is_one_life: bool,
    ) -> Result<(), Violation> {
        let others = self.entries.iter().filter(|(other, entry)| {
            entry.caller == lost.caller && rows.get(other).is_some() && !entry.is_over
        });
        for (other, entry) in others {
            // One with a stream is in use while it has it.
            let has_stream = entry.is_streaming || lost.is_streaming;
            let late = Millis(entry.idle.0 / 10);
            let was_before = entry.used.0 + late < lost.used.0
                || is_one_life && is_exact(lost) && is_exact(entry) && entry.used < lost.used;
            ensure(
                "the least recently used session makes room",
                has_stream || !was_before,
                || format!("{id} went, and {other} was used before it"),
            )?;
            ensure(
                "a session without a stream makes room first",
                !lost.is_streaming || entry.is_streaming,
                || format!("{id} went, and {other} has no stream"),
            )?;
        }
        Ok(())
    }
}

/// Whether the bus has not restarted since it was used.
fn is_exact(entry: &Entry) -> bool {
    entry.stays_until == entry.used.0 + entry.idle
}

/// Checks that a session is refused one more resource only if that would exceed a limit.
pub(crate) fn check_room(
    id: &str,
    before: &Rows,
    reply: &Reply,
    limits: &SessionLimits,
    is_watched: bool,
) -> Result<(), Violation> {
    let Some(session) = before.get(id) else {
        return Ok(());
    };
    let own = before.uris(id).count();
    let [named, unnamed] = [true, false].map(|are_named| before.totals(are_named).bytes);
    let exceeds_bytes = (own + 1) * URI_BYTES > limits.session_uri_bytes
        || named + unnamed + URI_BYTES > limits.bus_uri_bytes
        || !session.is_named() && unnamed + URI_BYTES > limits.unnamed_uri_bytes;
    let expected = match reply {
        Reply::Full(Excess::Uris(_)) => !is_watched && own >= limits.uris,
        Reply::Full(Excess::Bytes(_)) => !is_watched && own < limits.uris && exceeds_bytes,
        Reply::Done => is_watched || own < limits.uris && !exceeds_bytes,
        _ => true,
    };
    ensure("limits hold to the byte", expected, || {
        format!("{reply:?} for {id}, which watches {own}, of {named} and {unnamed} bytes")
    })
}
