use alloc::boxed::Box;

use crate::{
    client::{http::request_queue::RequestHandle, options::SubscriptionOptions},
    clock::Millis,
    sse::Decoder,
};

/// The state of the stream on which a session reports changes.
#[derive(Debug)]
pub(super) enum SessionStream {
    /// Messages arrive on a channel.
    Channel,
    /// The notification that the session is in use awaits its response.
    Confirming(RequestHandle),
    Requested(RequestHandle),
    Open {
        call: RequestHandle,
        decoder: Box<Decoder>,
    },
    Waiting {
        until: Millis,
    },
    Ended,
}

impl SessionStream {
    /// Returns when the stream needs attention if nothing arrives after `received_at`.
    pub(super) fn deadline(
        &self,
        options: &SubscriptionOptions,
        received_at: Millis,
        has_pulse: bool,
    ) -> Option<Millis> {
        match self {
            Self::Waiting { until } => Some(*until),
            Self::Requested(_) => options.late_after(received_at),
            Self::Open { .. } if has_pulse => options.silent_after(received_at),
            Self::Open { .. } | Self::Confirming(_) | Self::Channel | Self::Ended => None,
        }
    }
}
