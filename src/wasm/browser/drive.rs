use std::task::{Context, Poll};

use crate::{
    client::{Subscription, Watch},
    clock::Millis,
    listen::Headers,
};

use super::{
    exchange::{Arrival, Exchange},
    host::{self, Timer},
};

/// What a machine of the core waits for: its answer, and its deadline.
#[derive(Debug, Default)]
pub(super) struct Drive {
    exchange: Option<Exchange>,
    timer: Option<Timer>,
}

/// A machine of the core that is fed an answer.
pub(super) trait Machine {
    fn handle_head(&mut self, status: u16, headers: &Headers<'_>, now: Millis);
    fn handle_bytes(&mut self, bytes: &[u8], now: Millis);
    fn handle_end(&mut self);
    fn handle_timeout(&mut self, now: Millis);
    fn poll_timeout(&self) -> Option<Millis>;
}

impl Drive {
    /// What comes of this is awaited from now on, and nothing else.
    pub(super) fn await_answer(&mut self, exchange: Exchange) {
        self.exchange = Some(exchange);
    }

    /// The answer is awaited no more: what is still open of it is closed.
    pub(super) fn close_answer(&mut self) {
        self.exchange = None;
    }

    /// Ready once the machine was handed something.
    ///
    /// What has arrived goes before the deadline: a page that nobody polled for a while has not heard
    /// of it yet, which is no silence of the server's.
    pub(super) fn poll(
        &mut self,
        machine: &mut impl Machine,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        if let Some(exchange) = &mut self.exchange
            && let Poll::Ready(arrival) = exchange.poll(context)
        {
            match arrival {
                Arrival::Head(status, lines) => {
                    machine.handle_head(status, &Headers::new(&lines), host::now());
                }
                Arrival::Bytes(bytes) => machine.handle_bytes(&bytes, host::now()),
                Arrival::End => machine.handle_end(),
            }
            return Poll::Ready(());
        }
        self.poll_deadline(machine, context)
    }

    fn poll_deadline(&mut self, machine: &mut impl Machine, context: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = machine.poll_timeout() else {
            self.timer = None;
            return Poll::Pending;
        };
        loop {
            let now = host::now();
            if deadline <= now {
                self.timer = None;
                machine.handle_timeout(now);
                return Poll::Ready(());
            }
            // Deadlines move with every sign of life; a timer that fires too early is set anew then.
            let earlier = self.timer.take().filter(|timer| timer.at <= deadline);
            let timer = self
                .timer
                .insert(earlier.unwrap_or_else(|| Timer::new(deadline, now)));
            if timer.poll(context).is_pending() {
                return Poll::Pending;
            }
            self.timer = None;
        }
    }
}

macro_rules! machine {
    ($name:ty) => {
        impl Machine for $name {
            fn handle_head(&mut self, status: u16, headers: &Headers<'_>, now: Millis) {
                self.handle_head(status, headers, now);
            }

            fn handle_bytes(&mut self, bytes: &[u8], now: Millis) {
                self.handle_bytes(bytes, now);
            }

            fn handle_end(&mut self) {
                self.handle_end();
            }

            fn handle_timeout(&mut self, now: Millis) {
                self.handle_timeout(now);
            }

            fn poll_timeout(&self) -> Option<Millis> {
                self.poll_timeout()
            }
        }
    };
}

machine!(Subscription);
machine!(Watch);
