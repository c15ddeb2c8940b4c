use std::{
    ops::ControlFlow,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use crate::{
    client::{self, State, WatchOutput},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
};

use super::{drive::Drive, error::ListenError, exchange::Exchange, host, options::ListenOptions};

/// A subscription that is opened again whenever it ends: a stream of what becomes of it.
///
/// It ends where the server closes a subscription of which it honored nothing, and with an error where
/// the server will never take it. It goes on only while somebody waits for what comes next; dropped, it
/// closes its response.
#[derive(Debug)]
pub struct Watch {
    machine: client::Watch,
    drive: Drive,
    url: String,
    options: ListenOptions,
}

/// What a watch tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// A subscription is open.
    Live {
        /// What the server honors.
        honored: SubscriptionFilter,
        /// Whether one was open before: changes may have been missed since. Every honored list and
        /// resource is told as changed; what became of tasks has to be asked.
        is_again: bool,
    },
    /// Something changed: read it again.
    Changed(ServerEvent),
    /// The subscription has ended, and is opened again.
    Waiting {
        /// Why it ended; `None`: the server closed it, and nothing was missed until then.
        error: Option<ListenError>,
        /// How long until the next attempt.
        wait: Millis,
    },
}

/// Watches what `filter` names at the MCP endpoint `url`.
pub fn watch(url: &str, filter: SubscriptionFilter, options: ListenOptions) -> Watch {
    Watch {
        machine: client::Watch::new(filter, options.client.clone(), host::random()),
        drive: Drive::default(),
        url: url.to_owned(),
        options,
    }
}

impl Watch {
    /// Where it stands.
    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// Stops here: the response is closed, and the stream has no more to tell.
    pub fn close(&mut self) {
        self.machine.cancel();
        self.drive.close_answer();
    }

    /// Breaks with what is to be told of `output`, an item or the end.
    fn handle_output(&mut self, output: WatchOutput) -> ControlFlow<Option<Item>> {
        ControlFlow::Break(match output {
            WatchOutput::Open(request) => return self.open(&request),
            WatchOutput::Live { honored, is_again } => {
                Some(Ok(WatchEvent::Live { honored, is_again }))
            }
            WatchOutput::Changed(event) => Some(Ok(WatchEvent::Changed(event))),
            WatchOutput::Waiting { end, until } => {
                self.drive.close_answer();
                Some(Ok(WatchEvent::Waiting {
                    error: ListenError::of(end, None),
                    wait: until - host::now(),
                }))
            }
            WatchOutput::Stopped(end) => {
                self.drive.close_answer();
                ListenError::of(end, None).map(Err)
            }
        })
    }

    fn open(&mut self, request: &client::HttpRequest) -> ControlFlow<Option<Item>> {
        let Ok(exchange) = Exchange::new(&self.url, request, &self.options) else {
            self.close();
            return ControlFlow::Break(Some(Err(ListenError::InvalidOptions)));
        };
        self.drive.await_answer(exchange);
        ControlFlow::Continue(())
    }
}

type Item = Result<WatchEvent, ListenError>;

impl Stream for Watch {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            match this.machine.poll_output(host::now()) {
                Some(output) => {
                    if let ControlFlow::Break(told) = this.handle_output(output) {
                        return Poll::Ready(told);
                    }
                }
                None if this.machine.state() == State::Stopped => return Poll::Ready(None),
                None => ready!(this.drive.poll(&mut this.machine, context)),
            }
        }
    }
}
