use serde::Serialize;
use wasm_bindgen::prelude::*;

use mcp_listen::{
    capabilities::Capabilities, error::Reason, exchange, filter::SubscriptionFilter,
    listen::Accepted, scope::Scope, session::Reply, topic::Topic,
};

use crate::{
    error::coded,
    number::millis,
    object::{object, optional},
};

use super::{
    answer::Answer, discovered::Discovered, grant::scope_of, options::filter_of, refusal::Refusal,
    stream::Stream, tally::Tally,
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** What is to be done for a request. */
export type Step =
  | { kind: 'answer'; answer: Answer }
  /** Read its body, up to so many bytes and a little more, for `read`. */
  | { kind: 'body'; most: number }
  /** Name its caller: `named`, or refuse it. */
  | { kind: 'caller' }
  /** Find out whether a session may have the id that it names: `known`, or refuse it. */
  | { kind: 'session' }
  /** Find out which part of `requested` (a filter as JSON text) its caller may hear, and `open` a stream for it. */
  | { kind: 'listen'; requested: string }
  /** Hand it to the server behind, and begin a session by what that answers: `initialized`. */
  | { kind: 'initialize' }
  /** Ask this of its session, in words of the core: `answered`, or refuse it. */
  | { kind: 'ask'; question: string }
  /** Find out which part of `requested` (a filter as JSON text) its caller may hear: `answered`, or refuse it. */
  | { kind: 'authorize'; requested: string }
  /** Hand it to the server behind, in the session that it has there; undefined: it keeps none. Then `sent`. */
  | { kind: 'send'; behind: string | undefined }
  /** Answer it with what the server behind has answered. */
  | { kind: 'forward' }
  /** Open the stream of its session: `openSession`, or refuse it. */
  | { kind: 'openSession' }
  /** Hand it to the server behind, whose answer names no capabilities that are not served, where it `withholds`. */
  | { kind: 'pass'; withholds: boolean };

/** The answer to `initialize`, and what the session was told that it is notified about, as JSON texts. */
export interface LegacyInitialized {
  answer: string;
  capabilities: string;
}
";

/// One request on its way: what has to be found out of it, in which order, and what becomes of it.
#[wasm_bindgen]
pub struct Exchange {
    core: exchange::Exchange,
    accepted: Option<Accepted>,
    /// Whether a session is asked, and not who authorizes.
    is_asking: bool,
}

#[derive(Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Step {
    Answer { answer: Answer },
    Body { most: usize },
    Caller,
    Session,
    Listen { requested: String },
    Initialize,
    Ask { question: String },
    Authorize { requested: String },
    Send { behind: Option<String> },
    Forward,
    OpenSession,
    Pass { withholds: bool },
}

#[derive(Serialize)]
struct Initialized {
    answer: String,
    capabilities: String,
}

#[wasm_bindgen]
impl Exchange {
    /// Names and values of header fields to add to the answer, also to one of the server behind.
    #[wasm_bindgen(getter, unchecked_return_type = "[string, string][]")]
    pub fn fields(&self) -> JsValue {
        object(&self.core.fields())
    }

    /// The next thing to do: the same again until that is done.
    #[wasm_bindgen(unchecked_return_type = "Step")]
    pub fn step(&mut self) -> JsValue {
        let step = self.core.poll();
        self.is_asking = matches!(step, exchange::Step::Ask(_));
        let step = match step {
            exchange::Step::Answer(answer) => Step::Answer {
                answer: answer.into(),
            },
            exchange::Step::Body { most } => Step::Body { most },
            exchange::Step::Caller => Step::Caller,
            exchange::Step::Session => Step::Session,
            exchange::Step::Listen(accepted) => {
                let requested = accepted.requested.to_json();
                self.accepted = Some(accepted);
                Step::Listen { requested }
            }
            exchange::Step::Initialize => Step::Initialize,
            exchange::Step::Ask(question) => Step::Ask {
                question: question.to_json(),
            },
            exchange::Step::Authorize { requested } => Step::Authorize {
                requested: requested.to_json(),
            },
            exchange::Step::Send { behind } => Step::Send {
                behind: behind.map(String::from),
            },
            exchange::Step::Forward => Step::Forward,
            exchange::Step::OpenSession => Step::OpenSession,
            exchange::Step::Pass { withholds } => Step::Pass { withholds },
            _ => Step::Pass { withholds: false },
        };
        object(&step)
    }

    /// The body was read; one over the limit may be cut off anywhere beyond it.
    pub fn read(&mut self, body: Vec<u8>) {
        self.core.handle_body(body);
    }

    /// The caller was named; undefined: it has no name, or needs none.
    pub fn named(&mut self, principal: Option<String>) {
        self.core.handle_caller(principal.as_deref());
    }

    /// A session may have the id that the request names.
    pub fn known(&mut self) {
        self.core.handle_session();
    }

    /// What was asked for is answered, as JSON text. To `ask`: what the session has replied; to `authorize`: the filter that is granted of
    /// what was requested, where undefined grants all of it. Throws where it is none.
    pub fn answered(&mut self, answer: Option<String>) -> Result<(), JsValue> {
        if self.is_asking {
            let reply = answer.as_deref().and_then(Reply::from_json);
            let wrong = || coded("malformed-session", "this is no reply of a session");
            self.core.handle_reply(reply.ok_or_else(wrong)?);
        } else {
            let permit = answer.as_deref().map(filter_of).transpose()?;
            self.core.handle_permit(permit);
        }
        Ok(())
    }

    /// The server behind has answered with this HTTP status.
    pub fn sent(&mut self, status: u16) {
        self.core.handle_status(status);
    }

    /// The refusal of this request.
    #[wasm_bindgen(unchecked_return_type = "Answer")]
    pub fn refuse(&self, refusal: Refusal) -> JsValue {
        self.refused(refusal.reason())
    }

    /// Bytes that the names of a listen count, and those of its caller's `scope`, which is JSON text.
    pub fn names(&self, scope: &str) -> usize {
        let Some(accepted) = &self.accepted else {
            return 0;
        };
        let filter = SubscriptionFilter {
            scope: Scope::from_json(scope).unwrap_or_default(),
            ..accepted.requested.clone()
        };
        filter.topics().iter().map(Topic::names).sum()
    }

    /// The stream that answers a listen: what is honored is what the server advertises and `authorized` (JSON
    /// text of a filter; undefined: everything) names too. `scope` names the caller and its audiences, as JSON text:
    /// `audiences`, and its name in `principals`; throws where one of them is no name. Keep-alives every `keepAliveMs`; 0: none. What happens is
    /// counted in `tally`.
    pub fn open(
        &self,
        discovered: &Discovered,
        authorized: Option<String>,
        scope: &str,
        #[wasm_bindgen(js_name = keepAliveMs)] keep_alive_ms: f64,
        now: f64,
        tally: &Tally,
    ) -> Result<Stream, JsValue> {
        let accepted = self.accepted.as_ref().ok_or_else(out_of_place)?;
        let authorized = authorized.as_deref().map(filter_of).transpose()?;
        let (keep_alive, now) = (millis(keep_alive_ms), millis(now));
        let mut stream = accepted.open(&discovered.0, authorized.as_ref(), keep_alive, now);
        stream.scope_to(scope_of(scope)?);
        stream.count_in(tally.0.clone());
        Ok(stream.into())
    }

    /// The answer to `initialize`, made from the body of the handler's; `known` is what the server
    /// really notifies about, as JSON text. Undefined where the handler gave no result.
    #[wasm_bindgen(unchecked_return_type = "LegacyInitialized | undefined")]
    pub fn initialized(&self, body: &[u8], known: Option<String>) -> JsValue {
        let known = known.as_deref().map(Capabilities::from_json);
        let initialized = self.core.initialized(body, known);
        optional(initialized.map(|initialized| Initialized {
            answer: initialized.answer,
            capabilities: initialized.capabilities.to_json(),
        }))
    }

    /// After `openSession`: the stream, with keep-alives every `keepAliveMs`; 0: none. Otherwise as `open`.
    #[wasm_bindgen(js_name = openSession)]
    pub fn open_session(
        &self,
        scope: &str,
        #[wasm_bindgen(js_name = keepAliveMs)] keep_alive_ms: f64,
        now: f64,
        tally: &Tally,
    ) -> Result<Stream, JsValue> {
        let opened = self.core.open_session(millis(keep_alive_ms), millis(now));
        let (mut stream, joining) = opened.ok_or_else(out_of_place)?;
        stream.scope_to(scope_of(scope)?);
        stream.count_in(tally.0.clone());
        Ok(Stream::resuming(stream, joining))
    }
}

impl Exchange {
    fn refused(&self, reason: Reason) -> JsValue {
        object(&Answer::from(self.core.refuse(reason)))
    }
}

impl From<exchange::Exchange> for Exchange {
    fn from(core: exchange::Exchange) -> Self {
        Self {
            core,
            accepted: None,
            is_asking: false,
        }
    }
}

fn out_of_place() -> JsValue {
    coded("out-of-place", "the request is no listen")
}
