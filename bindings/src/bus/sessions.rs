use wasm_bindgen::prelude::*;

use mcp_listen::{
    legacy::event_id,
    session::{Limits, NewSession, Question, ROOT},
    wire::SessionCall,
};

use crate::{error::coded, number::millis};

use super::{handle::Bus, refused};

/// The sessions of a bus.
#[wasm_bindgen]
impl Bus {
    /// Begins a session by this id, unless there is no room: the JSON texts of a `NewSession`, and of `SessionLimits`.
    #[wasm_bindgen(js_name = beginSession)]
    pub fn begin_session(
        &mut self,
        id: &str,
        session: &str,
        limits: &str,
        now: f64,
    ) -> Result<bool, JsValue> {
        let read = NewSession::from_json(session).zip(Limits::from_json(limits));
        let (new, limits) = read.ok_or_else(|| malformed("session"))?;
        let root = self.root()?;
        let since = event_id::write(Some(root.core.mark()));
        root.sessions()?
            .begin(id, new, &since, &limits, millis(now))
    }

    /// Asks something of a session: as `Exchange` says it, and says what it replies.
    #[wasm_bindgen(js_name = askSession)]
    pub fn ask_session(&mut self, question: &str, now: f64) -> Result<String, JsValue> {
        let question = Question::from_json(question).ok_or_else(|| malformed("question"))?;
        let reply = self.root()?.sessions()?.ask(question, millis(now))?;
        Ok(reply.to_json())
    }

    /// A shard has done what a `tell` says.
    pub fn told(&mut self, shard: u32, text: &str) -> Result<(), JsValue> {
        let call = SessionCall::from_json(text).map_err(refused)?;
        self.root()?.sessions()?.handle_told(shard, &call)
    }

    /// Forgets the sessions that are over, and has shards told again what they were not told.
    #[wasm_bindgen(js_name = sweepSessions)]
    pub fn sweep_sessions(&mut self, now: f64) -> Result<(), JsValue> {
        self.root()?.sessions()?.sweep(millis(now))
    }

    /// The edges of before a restart are back: the streams of other sessions are gone from here.
    pub fn restored(&mut self, now: f64) -> Result<(), JsValue> {
        self.root()?
            .sessions()?
            .handle_shard_emptied(ROOT, millis(now))
    }

    /// How many sessions there are, those among them that are over and not yet swept.
    #[wasm_bindgen(js_name = countSessions)]
    pub fn count_sessions(&mut self) -> Result<usize, JsValue> {
        self.root()?.sessions()?.count()
    }
}

fn malformed(what: &str) -> JsValue {
    coded("malformed-session", &format!("this is no {what}"))
}
