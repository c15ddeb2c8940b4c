use std::fmt;

use wasm_bindgen::prelude::*;

use mcp_listen::{
    clock::Millis,
    session::{Claim, Session, SessionStore, Totals},
    uri::Uri,
};

use crate::{error::malformed, number::time};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/**
 * The store of a bus's sessions, with the URIs that each one subscribes to. An exception of the
 * store is thrown by the call that used it.
 */
export interface SessionRows {
  /** Returns the stored text of a session. */
  get(id: string): string | undefined;
  /**
   * Stores `session`, replacing its previous text. `of` repeats parts of it as keys for lookups.
   */
  put(id: string, session: string, of: SessionKeys): void;
  /** Removes a session, and its subscriptions. */
  remove(id: string): void;
  /** Returns the URIs that a session subscribes to. */
  subscriptions(id: string): string[];
  isSubscribed(id: string, uri: string): boolean;
  /** Adds a URI that the session does not subscribe to yet. */
  subscribe(id: string, uri: string): void;
  unsubscribe(id: string, uri: string): void;
  /** Returns the sessions of a caller, oldest first. */
  ofCaller(caller: string): string[];
  /** Returns the sessions whose `endsAt` is before `now`. */
  ended(now: number): string[];
  /** Returns the sessions whose stream is at a shard. */
  atShard(shard: number): string[];
  /** Stores the text of a release that a shard has not confirmed; once for each text. */
  keepRelease(text: string): void;
  /** Removes such a text. */
  forgetRelease(text: string): void;
  /** Returns the texts that are stored. */
  releases(): string[];
  /** Returns the totals of all sessions: of named callers, and of unnamed ones. */
  totals(): { named: SessionTotals; unnamed: SessionTotals };
}

/** The keys of a session for lookups. */
export interface SessionKeys {
  /** Identifies its caller; undefined if nothing does. */
  caller: string | undefined;
  isNamed: boolean;
  endsAt: number;
  shard: number | undefined;
  /** The budget bytes of the URIs that it subscribes to. */
  uriBytes: number;
}

/** The totals of several sessions. */
export interface SessionTotals {
  sessions: number;
  bytes: number;
}
";

#[wasm_bindgen]
extern "C" {
    /// Sessions that are stored by JavaScript.
    #[wasm_bindgen(typescript_type = "SessionRows")]
    pub type Rows;
    #[wasm_bindgen(method, structural, catch)]
    fn get(this: &Rows, id: &str) -> Result<Option<String>, JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn put(this: &Rows, id: &str, session: &str, of: JsValue) -> Result<(), JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn remove(this: &Rows, id: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = subscriptions)]
    fn uris(this: &Rows, id: &str) -> Result<Vec<String>, JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = isSubscribed)]
    fn has_uri(this: &Rows, id: &str, uri: &str) -> Result<bool, JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = subscribe)]
    fn add_uri(this: &Rows, id: &str, uri: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = unsubscribe)]
    fn remove_uri(this: &Rows, id: &str, uri: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = ofCaller)]
    fn of_caller(this: &Rows, caller: &str) -> Result<Vec<String>, JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn ended(this: &Rows, now: f64) -> Result<Vec<String>, JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = atShard)]
    fn at_shard(this: &Rows, shard: u32) -> Result<Vec<String>, JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = keepRelease)]
    fn keep_release(this: &Rows, text: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = forgetRelease)]
    fn forget_release(this: &Rows, text: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn releases(this: &Rows) -> Result<Vec<String>, JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn totals(this: &Rows) -> Result<JsTotals, JsValue>;

    type JsTotals;
    #[wasm_bindgen(method, structural, getter)]
    fn named(this: &JsTotals) -> JsTotal;
    #[wasm_bindgen(method, structural, getter)]
    fn unnamed(this: &JsTotals) -> JsTotal;

    type JsTotal;
    #[wasm_bindgen(method, structural, getter)]
    fn sessions(this: &JsTotal) -> u32;
    #[wasm_bindgen(method, structural, getter)]
    fn bytes(this: &JsTotal) -> u32;
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Keys {
    caller: Option<String>,
    is_named: bool,
    ends_at: f64,
    shard: Option<u32>,
    uri_bytes: usize,
}

impl SessionStore for Rows {
    type Error = JsValue;

    fn get(&self, id: &str) -> Result<Option<Session>, JsValue> {
        let Some(text) = self.get(id)? else {
            return Ok(None);
        };
        let broken = || malformed("the stored session");
        Session::from_json(&text).map(Some).ok_or_else(broken)
    }

    fn put(&mut self, id: &str, session: &Session) -> Result<(), JsValue> {
        let keys = Keys {
            caller: session.new.caller(),
            is_named: session.is_named(),
            ends_at: time(session.ends_at()),
            shard: session.shard,
            uri_bytes: session.uri_bytes,
        };
        Rows::put(self, id, &session.to_json(), crate::object::object(&keys))
    }

    fn remove(&mut self, id: &str) -> Result<(), JsValue> {
        Rows::remove(self, id)
    }

    fn subscriptions(&self, id: &str) -> Result<Vec<Uri>, JsValue> {
        Ok(uris_of(&self.uris(id)?))
    }

    fn is_subscribed(&self, id: &str, uri: &str) -> Result<bool, JsValue> {
        self.has_uri(id, uri)
    }

    fn subscribe(&mut self, id: &str, uri: &str) -> Result<(), JsValue> {
        self.add_uri(id, uri)
    }

    fn unsubscribe(&mut self, id: &str, uri: &str) -> Result<(), JsValue> {
        self.remove_uri(id, uri)
    }

    fn of_caller(&self, caller: &str) -> Result<Vec<Box<str>>, JsValue> {
        self.of_caller(caller).map(boxed)
    }

    fn ended(&self, now: Millis) -> Result<Vec<Box<str>>, JsValue> {
        self.ended(time(now)).map(boxed)
    }

    fn at_shard(&self, shard: u32) -> Result<Vec<Box<str>>, JsValue> {
        self.at_shard(shard).map(boxed)
    }

    fn keep_release(&mut self, shard: u32, claim: &Claim) -> Result<(), JsValue> {
        Rows::keep_release(self, &release(shard, claim))
    }

    fn forget_release(&mut self, shard: u32, claim: &Claim) -> Result<(), JsValue> {
        Rows::forget_release(self, &release(shard, claim))
    }

    fn releases(&self) -> Result<Vec<(u32, Claim)>, JsValue> {
        let texts = self.releases()?;
        Ok(texts.iter().filter_map(|text| release_of(text)).collect())
    }

    fn totals(&self) -> Result<[Totals; 2], JsValue> {
        let totals = self.totals()?;
        Ok([totals.named(), totals.unnamed()].map(|total| Totals {
            sessions: total.sessions() as usize,
            bytes: total.bytes() as usize,
        }))
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rows")
    }
}

/// The number of a shard and, after a space, which streams it has to release.
fn release(shard: u32, claim: &Claim) -> String {
    format!("{shard} {}", claim.to_text())
}

fn release_of(text: &str) -> Option<(u32, Claim)> {
    let (shard, claim) = text.split_once(' ')?;
    Some((shard.parse().ok()?, Claim::from_text(claim)?))
}

fn boxed(ids: Vec<String>) -> Vec<Box<str>> {
    ids.into_iter().map(String::into_boxed_str).collect()
}

/// Parses URIs; ignores invalid ones.
fn uris_of(texts: &[String]) -> Vec<Uri> {
    let uris = texts.iter().map(|text| Uri::new(text, usize::MAX));
    uris.filter_map(Result::ok).collect()
}
