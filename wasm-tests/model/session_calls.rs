use mcp_listen::{
    clock::Millis,
    legacy::event_id,
    session::{NewSession, Question, Reply, SessionLimits},
    wire::SessionCall,
};

use crate::{
    bus::Bus,
    session_rows::{Broken, Rows},
};

/// The pending call to a shard about a session.
#[derive(Clone, Debug)]
pub(crate) struct PendingCall {
    pub(crate) shard: u32,
    pub(crate) call: SessionCall,
    pub(crate) is_awaited: bool,
}

/// The sessions that the object keeps, as in `js/cloudflare/object/bus/sessions.ts`. The disk fails
/// after a number of writes.
impl Bus {
    /// Begins a session; returns whether there was room.
    pub(crate) fn begin_session(
        &mut self,
        id: &str,
        new: NewSession,
        limits: &SessionLimits,
        now: Millis,
        fails_after: Option<u8>,
    ) -> Result<bool, Broken> {
        let (rows, since) = (self.disk().sessions.clone(), self.disk().cursor());
        let idle = Millis::from(new.idle);
        let Some(memory) = self.memory() else {
            return Err(Broken);
        };
        let since = event_id::write(Some(&since));
        let sessions = memory.sessions();
        let begun = rows.failing(fails_after, || sessions.begin(id, new, &since, limits, now))?;
        self.carry_out(now);
        if begun {
            self.sweep_by(now + idle + Millis(1));
        }
        Ok(begun)
    }

    pub(crate) fn ask_session(
        &mut self,
        question: Question,
        now: Millis,
        fails_after: Option<u8>,
    ) -> Result<Reply, Broken> {
        let rows = self.disk().sessions.clone();
        let Some(memory) = self.memory() else {
            return Err(Broken);
        };
        let sessions = memory.sessions();
        let reply = rows.failing(fails_after, || sessions.ask(question, now))?;
        self.carry_out(now);
        Ok(reply)
    }

    /// The alarm fires: unused sessions end.
    pub(crate) fn sweep(&mut self, now: Millis) {
        if self.disk().sweep_at.is_none_or(|at| at > now) {
            return;
        }
        let Some(memory) = self.memory() else { return };
        memory.root.sweep(now).unwrap();
        let next = self.disk().sessions.next_end();
        self.disk_mut().sweep_at = next;
        self.carry_out(now);
    }

    /// A shard has confirmed a call.
    pub(crate) fn handle_confirmed(&mut self, call: &PendingCall) {
        if let Some(memory) = self.memory() {
            memory
                .sessions()
                .handle_confirmed(call.shard, &call.call)
                .unwrap();
        }
    }

    /// The pending calls to shards.
    pub(crate) fn take_session_calls(&mut self) -> Vec<PendingCall> {
        std::mem::take(&mut self.session_calls)
    }

    /// Whether the stream of a session is anywhere, as the bus knows.
    pub(crate) fn is_streaming(&self, id: &str) -> bool {
        let is_at_shard = |rows: &Rows| rows.get(id).is_some_and(|session| session.shard.is_some());
        self.has_stream(id) || is_at_shard(&self.disk().sessions.rows())
    }

    /// The number of sessions, as the core counts them.
    pub(crate) fn count_sessions(&mut self) -> Option<usize> {
        self.memory()
            .map(|memory| memory.sessions().count().unwrap())
    }

    /// Whether every shard has confirmed all calls about its sessions.
    pub(crate) fn has_confirmed(&self) -> bool {
        self.disk().sessions.rows().has_confirmed()
    }

    pub(crate) fn sweep_by(&mut self, at: Millis) {
        let sweep_at = &mut self.disk_mut().sweep_at;
        *sweep_at = Some(sweep_at.map_or(at, |known| known.min(at)));
    }
}
