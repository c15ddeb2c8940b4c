use wasm_bindgen::prelude::*;

use mcp_listen::{
    legacy::event_id,
    session::{NewSession, Question, SessionLimits},
    wire::SessionCall,
};

use crate::{error::malformed, number::millis};

use super::{handle::Bus, refused};

/// The sessions of a bus.
#[wasm_bindgen]
impl Bus {
    /// Begins a session with this id, from the JSON texts of a `NewSession` and of `SessionLimits`.
    /// Returns false if there is no room.
    #[wasm_bindgen(js_name = beginSession)]
    pub fn begin_session(
        &mut self,
        id: &str,
        session: &str,
        limits: &str,
        now: f64,
    ) -> Result<bool, JsValue> {
        let read = NewSession::from_json(session).zip(SessionLimits::from_json(limits));
        let (new, limits) = read.ok_or_else(|| malformed("the session"))?;
        let since = event_id::write(Some(self.root()?.bus().cursor()));
        self.sessions()?
            .begin(id, new, &since, &limits, millis(now))
    }

    /// Passes a question of an `Exchange` to a session. Returns its reply.
    #[wasm_bindgen(js_name = askSession)]
    pub fn ask_session(&mut self, question: &str, now: f64) -> Result<String, JsValue> {
        let question =
            Question::from_json(question).ok_or_else(|| malformed("the question to a session"))?;
        let reply = self.sessions()?.ask(question, millis(now))?;
        Ok(reply.to_json())
    }

    /// Handles the confirmation of a shard that it has done what a `callShard` says.
    pub fn confirmed(&mut self, shard: u32, text: &str) -> Result<(), JsValue> {
        let call = SessionCall::from_json(text).map_err(refused)?;
        self.sessions()?.handle_confirmed(shard, &call)
    }

    /// Removes the sessions that have ended, and repeats to the shards what they have not
    /// confirmed.
    #[wasm_bindgen(js_name = sweepSessions)]
    pub fn sweep_sessions(&mut self, now: f64) -> Result<(), JsValue> {
        self.root()?.sweep(millis(now))
    }

    /// Completes the restore of edges after a restart: sessions whose stream was not restored no
    /// longer have one here.
    pub fn restored(&mut self, now: f64) -> Result<(), JsValue> {
        self.root()?.handle_restored(millis(now))
    }

    /// Returns the number of sessions, including those that have ended and are not swept yet.
    #[wasm_bindgen(js_name = countSessions)]
    pub fn count_sessions(&mut self) -> Result<usize, JsValue> {
        self.sessions()?.count()
    }
}
