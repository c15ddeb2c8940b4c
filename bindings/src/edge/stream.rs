use wasm_bindgen::prelude::*;

use mcp_listen::{
    bus::Mark,
    isolate::{self, Joining},
    listen::ServerStream,
    session::Claim,
};

use super::{grant::scope_of, tally::Tally};

/// A stream that is held nowhere yet, or no longer where it was.
#[wasm_bindgen]
pub struct Stream {
    pub(crate) inner: ServerStream,
    /// Up to where in the log of a bus it was given everything.
    pub(crate) since: Option<Mark>,
    /// Where it is that of a session.
    pub(crate) joining: Option<Joining>,
}

#[wasm_bindgen]
impl Stream {
    /// Whether nothing at all is honored: no bus is needed.
    #[wasm_bindgen(getter, js_name = honorsNothing)]
    pub fn honors_nothing(&self) -> bool {
        self.inner.honored().is_empty()
    }

    /// Which session's stream it is, and whose that is; undefined: it belongs to no principal.
    #[wasm_bindgen(js_name = joinSession)]
    pub fn join_session(&mut self, session: &str, principal: Option<String>) {
        let claim = Claim {
            session: session.into(),
            principal: principal.map(Into::into),
        };
        if let Some(joining) = &mut self.joining {
            joining.session = claim.to_text().into();
        }
    }

    /// The scope of its caller, as JSON text: `audiences`, and its name in `principals`; throws where one of them
    /// is no name. To be said before it is held; what happens is counted in `tally`.
    #[wasm_bindgen(js_name = scopeTo)]
    pub fn scope_to(&mut self, scope: &str, tally: &Tally) -> Result<(), JsValue> {
        self.inner.scope_to(scope_of(scope)?);
        self.inner.count_in(tally.0.clone());
        Ok(())
    }
}

impl Stream {
    /// That of a session.
    pub(crate) fn resuming(stream: ServerStream, joining: Joining) -> Self {
        Self {
            joining: Some(joining),
            ..stream.into()
        }
    }
}

impl From<ServerStream> for Stream {
    fn from(stream: ServerStream) -> Self {
        Self {
            inner: stream,
            since: None,
            joining: None,
        }
    }
}

impl From<isolate::Parted> for Stream {
    fn from(isolate::Parted { stream, since, .. }: isolate::Parted) -> Self {
        Self {
            since,
            ..stream.into()
        }
    }
}
