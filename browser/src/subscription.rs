use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use mcp_listen::{
    client::{End, Watch, WatchOutput},
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

/// An open subscription: a stream of what changed, each a cue to read it again.
///
/// The stream ends where the server closes the subscription, and nothing was missed; where it breaks
/// off it ends with an error. What is not taken collapses, one event a subject. Time counts
/// only while somebody waits for the next event. Dropped, it closes its responses; a server that keeps
/// a session is told that it is over.
#[derive(Debug)]
pub struct Subscription {
    drive: Drive,
    honored: SubscriptionFilter,
}

/// Subscribes to what `filter` names at the MCP endpoint `url`; resolves once the server has
/// acknowledged it. Whoever drops the future gives the request up.
///
/// The server is asked with `server/discover` which revision it speaks. In one of 2025, a session is
/// begun: the subscription hears its stream, which is opened again from the last event on wherever
/// the server closes it, and each resource is subscribed to.
///
/// # Errors
/// A [`ListenError`] that says why there is no subscription.
pub async fn listen(
    url: &str,
    filter: SubscriptionFilter,
    options: ListenOptions,
) -> Result<Subscription, ListenError> {
    let approach = options.approach.unwrap_or(FROM_PAGE);
    let client = options.client.clone();
    let watch = Watch::new(filter, client, approach, host::random(), host::now());
    let mut subscription = Subscription {
        drive: Drive::new(watch.once(), Target::new(url, options)),
        honored: SubscriptionFilter::default(),
    };
    poll_fn(|context| subscription.poll_open(context)).await?;
    Ok(subscription)
}

impl Subscription {
    /// What the server honors of what was asked for.
    pub fn honored(&self) -> &SubscriptionFilter {
        &self.honored
    }

    /// The id of the request, which every message of the subscription carries; a session has none.
    pub fn id(&self) -> Option<&RequestId> {
        self.drive.machine().id()
    }

    /// The revision that the server speaks; `None` once the subscription is closed.
    pub fn version(&self) -> Option<&'static str> {
        self.drive.machine().version()
    }

    /// Ends it here: the responses are closed, and the stream has no more to tell.
    pub fn close(&mut self) {
        self.drive.close();
    }

    /// Nothing but the acknowledgment, or an end, comes first.
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

    fn error_of(&self, end: End) -> Option<ListenError> {
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
