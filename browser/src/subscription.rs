use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use mcp_listen::{
    client::{CloseReason, Watch, WatchOutput},
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::RequestId,
};

use super::{
    drive::Drive,
    error::ListenError,
    exchange::Target,
    host,
    options::{FROM_PAGE, ListenOptions},
};

/// An open subscription: a stream of changes, each a cue to read again.
///
/// The stream ends if the server closes the subscription and nothing was missed; if the
/// subscription breaks off, it ends with an error. Events that are not polled collapse to one per
/// topic. Timeouts are only checked while the stream is polled. When dropped, it closes its
/// responses, and ends the session with a server that keeps one.
#[derive(Debug)]
pub struct Subscription {
    drive: Drive,
    honored: SubscriptionFilter,
}

/// Subscribes to what `filter` names at the MCP endpoint `url`. Resolves once the server has
/// acknowledged it; dropping the future cancels the request.
///
/// The client asks the server with `server/discover` which revision it speaks. With a server of
/// 2025, it opens a session: the subscription reads the session's stream, reopens it after the
/// last event whenever the server closes it, and subscribes to each resource.
///
/// # Errors
/// Fails with a [`ListenError`] if the subscription cannot be opened.
pub async fn listen(
    url: &str,
    filter: SubscriptionFilter,
    options: ListenOptions,
) -> Result<Subscription, ListenError> {
    let server_hint = options.server_hint.unwrap_or(FROM_PAGE);
    let client = options.client.clone();
    let watch = Watch::new(filter, client, server_hint, host::random(), host::now());
    let mut subscription = Subscription {
        drive: Drive::new(watch.once(), Target::new(url, options)),
        honored: SubscriptionFilter::default(),
    };
    poll_fn(|context| subscription.poll_open(context)).await?;
    Ok(subscription)
}

impl Subscription {
    /// Returns the filter that the server honors.
    pub fn honored(&self) -> &SubscriptionFilter {
        &self.honored
    }

    /// Returns the id of the request, which every message of the subscription carries; `None` for a
    /// session.
    pub fn id(&self) -> Option<&RequestId> {
        self.drive.machine().id()
    }

    /// Returns the revision that the server speaks; `None` once the subscription is closed.
    pub fn version(&self) -> Option<&'static str> {
        self.drive.machine().version()
    }

    /// Closes the subscription: closes its responses, and ends the stream.
    pub fn close(&mut self) {
        self.drive.close();
    }

    /// Waits for the acknowledgment or an end; no other output comes first.
    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ListenError>> {
        loop {
            match ready!(self.drive.poll_output(context))? {
                Some(WatchOutput::Live { honored, .. }) => {
                    self.honored = honored;
                    return Poll::Ready(Ok(()));
                }
                Some(WatchOutput::Stopped(end)) => {
                    return Poll::Ready(self.error_of(end).map_or(Ok(()), Err));
                }
                Some(_) => {}
                None => return Poll::Ready(Ok(())),
            }
        }
    }

    fn error_of(&self, end: CloseReason) -> Option<ListenError> {
        ListenError::of(end, self.drive.machine().retry_after())
    }
}

impl Stream for Subscription {
    type Item = Result<ServerEvent, ListenError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match ready!(self.drive.poll_output(context))? {
                Some(WatchOutput::Changed(event)) => return Poll::Ready(Some(Ok(event))),
                Some(WatchOutput::Stopped(end)) => return Poll::Ready(self.error_of(end).map(Err)),
                Some(_) => {}
                None => return Poll::Ready(None),
            }
        }
    }
}
