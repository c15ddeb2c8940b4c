use std::{
    rc::Rc,
    task::{Context, Poll, ready},
};

use mcp_listen::{
    client::{HttpAction, RequestHandle, Watch, WatchOutput, WatchState},
    http::Headers,
};

use super::{
    error::ListenError,
    exchange::{Arrival, Exchange, Target},
    host::{self, Alarm},
};

/// Drives the core's state machine: its responses, and its deadline.
///
/// When dropped, it closes every response and ends the session, if there is one.
#[derive(Debug)]
pub(super) struct Drive {
    machine: Watch,
    target: Rc<Target>,
    exchanges: Vec<(RequestHandle, Exchange)>,
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

    /// Returns the next output; `None` if no more follows.
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
            if self.machine.state() == WatchState::Stopped {
                return Poll::Ready(Ok(None));
            }
            ready!(self.poll_input(context))?;
        }
    }

    /// Cancels the subscription.
    pub(super) fn close(&mut self) {
        self.machine.cancel();
        self.transfer();
    }

    /// Performs the pending network operations. Once the subscription has ended, the requests are
    /// sent without waiting for a response.
    fn transfer(&mut self) {
        let is_ended = self.machine.is_ended();
        if is_ended {
            self.exchanges.clear();
        }
        while let Some(transfer) = self.machine.poll_action() {
            match transfer {
                HttpAction::Send(_, request) if is_ended => self.target.send_final(&request),
                HttpAction::Send(call, request) => {
                    let exchange = Exchange::new(&self.target, request);
                    self.exchanges.push((call, exchange));
                }
                HttpAction::Close(call) => self.forget(call),
                _ => {}
            }
        }
    }

    /// Waits until an input has been passed to the core.
    ///
    /// Arrived input is handled before the deadline: for a page that has not polled for a while,
    /// pending input must not count as silence of the server.
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

    /// Handles an arrival; `None` means that the request cannot be sent, and that no other will be.
    fn handle(&mut self, call: RequestHandle, arrival: Option<Arrival>) -> Result<(), ListenError> {
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

    fn forget(&mut self, call: RequestHandle) {
        self.exchanges.retain(|(other, _)| *other != call);
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        self.close();
    }
}
