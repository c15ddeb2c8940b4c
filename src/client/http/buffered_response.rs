use alloc::{borrow::ToOwned, string::String, vec::Vec};

use crate::{clock::Millis, http::Headers};

use crate::client::{
    end::{CloseReason, Loss},
    http::response::{Media, RpcError, media_of, retry_after},
};

/// A buffered response: status, header fields and a bounded body.
#[derive(Debug, Default)]
pub(crate) struct BufferedResponse {
    status: Option<u16>,
    fields: String,
    body: Vec<u8>,
    is_too_large: bool,
}

impl BufferedResponse {
    pub(crate) fn begin(&mut self, status: u16, headers: &Headers<'_>) {
        self.status = Some(status);
        headers.lines().clone_into(&mut self.fields);
    }

    /// Appends to the body, of which at most `max_bytes` bytes are buffered.
    pub(crate) fn push(&mut self, bytes: &[u8], max_bytes: usize) {
        if self.body.len() + bytes.len() > max_bytes {
            self.is_too_large = true;
        } else {
            self.body.extend_from_slice(bytes);
        }
    }

    /// Returns the HTTP status; `None` if no response came.
    pub(crate) fn status(&self) -> Option<u16> {
        self.status
    }

    pub(crate) fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    pub(crate) fn headers(&self) -> Headers<'_> {
        Headers::new(&self.fields)
    }

    pub(crate) fn media(&self) -> Media {
        media_of(&self.headers())
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    pub(crate) fn retry_after(&self) -> Option<Millis> {
        retry_after(&self.headers())
    }

    /// Returns the end of a subscription that cannot continue with this response.
    pub(crate) fn end(&self) -> CloseReason {
        let Some(status) = self.status else {
            return CloseReason::Lost(Loss::Disconnected);
        };
        if (200..300).contains(&status) {
            return CloseReason::Lost(Loss::InvalidResponse);
        }
        let error = RpcError::read(&self.body);
        let code = error.as_ref().map(|error| error.code);
        CloseReason::refused(
            status,
            code,
            error.map(|error| error.text).unwrap_or_default(),
        )
    }
}
