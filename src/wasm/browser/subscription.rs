use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use crate::{
    client::{self, Output},
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::{Ids, RequestId},
};

use super::{drive::Drive, error::ListenError, exchange::Exchange, host, options::ListenOptions};

/// An open subscription: a stream of what changed, each a cue to read it again.
///
/// The stream ends where the server closes the subscription, and nothing was missed; where it breaks
/// off it ends with an error. What is not taken collapses, one event a subject. Time counts
/// only while somebody waits for the next event. Dropped, it closes its response, which is all that a
/// server is told.
#[derive(Debug)]
pub struct Subscription {
    machine: client::Subscription,
    drive: Drive,
    honored: SubscriptionFilter,
}

/// Subscribes to what `filter` names at the MCP endpoint `url`; resolves once the server has
/// acknowledged it. Whoever drops the future gives the request up.
///
/// # Errors
/// A [`ListenError`] that says why there is no subscription.
pub async fn listen(
    url: &str,
    filter: SubscriptionFilter,
    options: ListenOptions,
) -> Result<Subscription, ListenError> {
    let mut subscription = Subscription::request(url, filter, &options)?;
    poll_fn(|context| subscription.poll_open(context)).await?;
    Ok(subscription)
}

impl Subscription {
    /// What the server honors of what was asked for.
    pub fn honored(&self) -> &SubscriptionFilter {
        &self.honored
    }

    /// The id of the request, which every message of the subscription carries.
    pub fn id(&self) -> &RequestId {
        self.machine.id()
    }

    /// Ends it here: the response is closed, and the stream has no more to tell.
    pub fn close(&mut self) {
        self.machine.cancel();
        self.drive.close_answer();
    }

    fn request(
        url: &str,
        filter: SubscriptionFilter,
        options: &ListenOptions,
    ) -> Result<Self, ListenError> {
        let id = Ids::default().mint();
        let client = options.client.clone();
        let machine = client::Subscription::new(id, filter, client, host::now());
        let exchange = Exchange::new(url, &machine.request(), options);
        let mut drive = Drive::default();
        drive.await_answer(exchange.map_err(|_| ListenError::InvalidOptions)?);
        Ok(Self {
            machine,
            drive,
            honored: SubscriptionFilter::default(),
        })
    }

    /// Nothing but the acknowledgment, or an end, comes first.
    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ListenError>> {
        loop {
            match self.machine.poll_output() {
                Some(Output::Acknowledged(honored)) => {
                    self.honored = honored;
                    return Poll::Ready(Ok(()));
                }
                Some(Output::Ended(end)) => {
                    return Poll::Ready(self.finish(end).map_or(Ok(()), Err));
                }
                Some(Output::Changed(_)) => {}
                None => ready!(self.drive.poll(&mut self.machine, context)),
            }
        }
    }

    fn finish(&mut self, end: client::End) -> Option<ListenError> {
        self.drive.close_answer();
        ListenError::of(end, self.machine.retry_after())
    }
}

impl Stream for Subscription {
    type Item = Result<ServerEvent, ListenError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            match this.machine.poll_output() {
                Some(Output::Changed(event)) => return Poll::Ready(Some(Ok(event))),
                Some(Output::Ended(end)) => return Poll::Ready(this.finish(end).map(Err)),
                Some(Output::Acknowledged(_)) => {}
                None if this.machine.is_ended() => return Poll::Ready(None),
                None => ready!(this.drive.poll(&mut this.machine, context)),
            }
        }
    }
}
