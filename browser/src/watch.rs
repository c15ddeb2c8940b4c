use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use mcp_listen::{
    client::{self, WatchOutput, WatchState},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
};

use super::{
    drive::Drive,
    error::ListenError,
    exchange::Target,
    host,
    options::{FROM_PAGE, ListenOptions},
};

/// A subscription that is reopened whenever it ends: a stream of its events.
///
/// The stream ends if the server closes a subscription that honored nothing, and with an error if
/// the server rejects the request permanently. It makes progress only while it is polled. When
/// dropped, it closes its responses.
#[derive(Debug)]
pub struct Watch {
    drive: Drive,
}

/// An event of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchEvent {
    /// A subscription is open.
    Live {
        /// The filter that the server honors.
        honored: SubscriptionFilter,
        /// Whether a subscription was open before, so that changes may have been missed in between.
        /// Every honored list and resource is then reported as changed; the state of tasks has to
        /// be fetched.
        is_again: bool,
    },
    /// Something changed: read it again.
    Changed(ServerEvent),
    /// The subscription has ended, and will be reopened.
    Waiting {
        /// Why it ended; `None` if the server closed it, and nothing was missed until then.
        error: Option<ListenError>,
        /// How long until the next attempt.
        wait: Millis,
    },
}

/// Watches what `filter` names at the MCP endpoint `url`; each attempt begins like
/// [`listen`](super::listen).
pub fn watch(url: &str, filter: SubscriptionFilter, options: ListenOptions) -> Watch {
    let server_hint = options.server_hint.unwrap_or(FROM_PAGE);
    let client = options.client.clone();
    let watch = client::Watch::new(filter, client, server_hint, host::random(), host::now());
    Watch {
        drive: Drive::new(watch, Target::new(url, options)),
    }
}

impl Watch {
    /// Returns the state of the watch.
    pub fn state(&self) -> WatchState {
        self.drive.machine().state()
    }

    /// Stops the watch: closes the responses, and ends the stream.
    pub fn close(&mut self) {
        self.drive.close();
    }
}

impl Stream for Watch {
    type Item = Result<WatchEvent, ListenError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let output = ready!(self.drive.poll_output(context))?;
        let retry_after = self.drive.machine().retry_after();
        Poll::Ready(output.and_then(|output| event_of(output, retry_after)))
    }
}

/// Converts an output; `None` if the server has closed the last subscription.
fn event_of(
    output: WatchOutput,
    retry_after: Option<Millis>,
) -> Option<Result<WatchEvent, ListenError>> {
    Some(Ok(match output {
        WatchOutput::Live { honored, is_again } => WatchEvent::Live { honored, is_again },
        WatchOutput::Changed(event) => WatchEvent::Changed(event),
        WatchOutput::Waiting { end, until } => WatchEvent::Waiting {
            error: ListenError::of(end, retry_after),
            wait: until - host::now(),
        },
        WatchOutput::Stopped(end) => return ListenError::of(end, retry_after).map(Err),
        _ => return None,
    }))
}
