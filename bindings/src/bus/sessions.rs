use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::EdgeId,
    legacy::event_id,
    session::{self, Limits, NewSession, Question, Sessions},
};

use crate::{error::coded, number::millis, object::optional};

use super::{log::Bus, rows::Rows};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** What a change of a session takes. */
export type SessionOutput =
  /** A frame for the edge with its stream. */
  | { kind: 'send'; edge: number; frame: string }
  /** The stream is over, or elsewhere: the connection of this edge is to be closed. */
  | { kind: 'release'; edge: number }
  /** A shard is to be told; the request that led to it is answered after it where it `isAwaited`. */
  | { kind: 'tell'; shard: number; call: string; isAwaited: boolean };
";

#[derive(Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Output {
    Send {
        edge: u32,
        frame: String,
    },
    Release {
        edge: u32,
    },
    Tell {
        shard: u32,
        call: String,
        is_awaited: bool,
    },
}

#[wasm_bindgen]
impl Bus {
    /// The bus keeps sessions; they count as used at `used_from` of their clock at the earliest. Before any edge is there.
    #[wasm_bindgen(js_name = keepSessions)]
    pub fn keep_sessions(
        &mut self,
        rows: Rows,
        #[wasm_bindgen(js_name = usedFrom)] used_from: f64,
    ) {
        self.sessions = Some(Sessions::new(rows, millis(used_from)));
    }

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
        let since = event_id::write(Some(self.core.mark()));
        self.sessions()?
            .begin(id, new, &since, &limits, millis(now))
    }

    /// Asks something of a session: as `Exchange` says it, and says what it replies.
    #[wasm_bindgen(js_name = askSession)]
    pub fn ask_session(&mut self, question: &str, now: f64) -> Result<String, JsValue> {
        let question = Question::from_json(question).ok_or_else(|| malformed("question"))?;
        let reply = self.sessions()?.ask(question, millis(now))?;
        Ok(reply.to_json())
    }

    /// Forgets the sessions that are over.
    #[wasm_bindgen(js_name = sweepSessions)]
    pub fn sweep_sessions(&mut self, now: f64) -> Result<(), JsValue> {
        self.sessions()?.sweep(millis(now))
    }

    /// How many sessions there are, those among them that are over and not yet swept.
    #[wasm_bindgen(js_name = countSessions)]
    pub fn count_sessions(&mut self) -> Result<usize, JsValue> {
        self.sessions()?.count()
    }

    /// What is to be done next because a session has changed.
    #[wasm_bindgen(js_name = sessionOutput, unchecked_return_type = "SessionOutput | undefined")]
    pub fn session_output(&mut self) -> JsValue {
        optional(self.next_output())
    }
}

impl Bus {
    fn sessions(&mut self) -> Result<&mut Sessions<Rows>, JsValue> {
        let sessions = self.sessions.as_mut();
        sessions.ok_or_else(|| coded("no-sessions", "this bus keeps no sessions"))
    }

    /// Whether the session of an edge of before a restart is still there.
    pub(super) fn restore_session(&mut self, claim: &str, edge: EdgeId) -> Result<bool, JsValue> {
        let watched = self.sessions()?.restore(claim, edge)?;
        if let Some(watched) = &watched {
            self.core.watch(edge, &watched.uris, watched.is_held);
        }
        Ok(watched.is_some())
    }

    fn next_output(&mut self) -> Option<Output> {
        while let Some(output) = self.sessions.as_mut()?.poll_output() {
            match output {
                session::Output::Watch(edge, watched) => {
                    let frame = self.core.watch(edge, &watched.uris, watched.is_held);
                    if let Some(frame) = frame {
                        return Some(Output::Send {
                            edge: edge.0,
                            frame,
                        });
                    }
                }
                session::Output::Release(edge) => return Some(Output::Release { edge: edge.0 }),
                session::Output::Tell {
                    shard,
                    call,
                    is_awaited,
                } => {
                    return Some(Output::Tell {
                        shard,
                        call: call.to_json(),
                        is_awaited,
                    });
                }
                _ => {}
            }
        }
        None
    }
}

fn malformed(what: &str) -> JsValue {
    coded("malformed-session", &format!("this is no {what}"))
}
