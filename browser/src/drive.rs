use std::{
    rc::Rc,
    task::{Context, Poll, ready},
};

use mcp_listen::{
    client::{Call, State, Transfer, Watch, WatchOutput},
    http::Headers,
};

use super::{
    error::ListenError,
    exchange::{Arrival, Exchange, Target},
    host::{self, Alarm},
};

/// The machine of the core and what it waits for: its answers, and its deadline.
///
/// Dropped, it closes every response, and ends the session where there is one.
#[derive(Debug)]
pub(super) struct Drive {
    machine: Watch,
    target: Rc<Target>,
    exchanges: Vec<(Call, Exchange)>,
    alarm: Alarm,
}

impl Drive {
    pub(super) fn new(machine: Watch, target: Target) -> Self {
        Self {
            machine,
            target: Rc::new(target),
            exchanges: Vec::new(),
            alarm: Alarm::default(),
        }
    }

    pub(super) fn machine(&self) -> &Watch {
        &self.machine
    }

    /// What there is to tell next; `None`: nothing any more.
    pub(super) fn poll_output(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<WatchOutput>, ListenError>> {
        loop {
            self.transfer();
            if let Some(output) = self.machine.poll_output(host::now()) {
                self.transfer();
                return Poll::Ready(Ok(Some(output)));
            }
            if self.machine.state() == State::Stopped {
                return Poll::Ready(Ok(None));
            }
            ready!(self.poll_input(context))?;
        }
    }

    /// Gives all up.
    pub(super) fn close(&mut self) {
        self.machine.cancel();
        self.transfer();
    }

    /// Where no response is awaited any more, what is still to be sent is a farewell.
    fn transfer(&mut self) {
        let is_ended = self.machine.is_ended();
        if is_ended {
            self.exchanges.clear();
        }
        while let Some(transfer) = self.machine.poll_transfer() {
            match transfer {
                Transfer::Send(_, request) if is_ended => self.target.bid_farewell(&request),
                Transfer::Send(call, request) => {
                    let exchange = Exchange::new(&self.target, request);
                    self.exchanges.push((call, exchange));
                }
                Transfer::Close(call) => self.forget(call),
            }
        }
    }

    /// Ready once the core was handed something.
    ///
    /// What has arrived goes before the deadline: a page that nobody polled for a while has not heard
    /// of it yet, which is no silence of the server's.
    fn poll_input(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ListenError>> {
        for (call, exchange) in &mut self.exchanges {
            let call = *call;
            if let Poll::Ready(arrival) = exchange.poll(context) {
                return Poll::Ready(self.handle(call, arrival.ok()));
            }
        }
        let now = ready!(self.alarm.poll(self.machine.poll_timeout(), context));
        self.machine.handle_timeout(now);
        Poll::Ready(Ok(()))
    }

    /// `None`: the request is none that can be sent, and no other will be.
    fn handle(&mut self, call: Call, arrival: Option<Arrival>) -> Result<(), ListenError> {
        let now = host::now();
        match arrival {
            Some(Arrival::Head(status, lines)) => {
                let headers = Headers::new(&lines);
                self.machine.handle_head(call, status, &headers, now);
            }
            Some(Arrival::Bytes(bytes)) => self.machine.handle_bytes(call, &bytes, now),
            Some(Arrival::End) => {
                self.forget(call);
                self.machine.handle_end(call, now);
            }
            None => {
                self.close();
                return Err(ListenError::InvalidOptions);
            }
        }
        Ok(())
    }

    fn forget(&mut self, call: Call) {
        self.exchanges.retain(|(other, _)| *other != call);
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        self.close();
    }
}
