use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use mcp_listen::{
    client::{self, State, WatchOutput},
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

/// A subscription that is opened again whenever it ends: a stream of what becomes of it.
///
/// It ends where the server closes a subscription of which it honored nothing, and with an error where
/// the server will never take it. It goes on only while somebody waits for what comes next; dropped, it
/// closes its responses.
#[derive(Debug)]
pub struct Watch {
    drive: Drive,
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

/// Watches what `filter` names at the MCP endpoint `url`; each attempt begins as [`listen`](super::listen) does.
pub fn watch(url: &str, filter: SubscriptionFilter, options: ListenOptions) -> Watch {
    let approach = options.approach.unwrap_or(FROM_PAGE);
    let client = options.client.clone();
    let watch = client::Watch::new(filter, client, approach, host::random(), host::now());
    Watch {
        drive: Drive::new(watch, Target::new(url, options)),
    }
}

impl Watch {
    /// Where it stands.
    pub fn state(&self) -> State {
        self.drive.machine().state()
    }

    /// Stops here: the responses are closed, and the stream has no more to tell.
    pub fn close(&mut self) {
        self.drive.close();
    }
}

impl Stream for Watch {
    type Item = Result<WatchEvent, ListenError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let output = ready!(self.drive.poll_output(context))?;
        let asked = self.drive.machine().retry_after();
        Poll::Ready(output.and_then(|output| told(output, asked)))
    }
}

/// `None`: the server has closed the last one.
fn told(output: WatchOutput, asked: Option<Millis>) -> Option<Result<WatchEvent, ListenError>> {
    Some(Ok(match output {
        WatchOutput::Live { honored, is_again } => WatchEvent::Live { honored, is_again },
        WatchOutput::Changed(event) => WatchEvent::Changed(event),
        WatchOutput::Waiting { end, until } => WatchEvent::Waiting {
            error: ListenError::of(end, asked),
            wait: until - host::now(),
        },
        WatchOutput::Stopped(end) => return ListenError::of(end, asked).map(Err),
    }))
}
