use mcp_listen::{
    client::{Call, Listener, Output, State, Transfer, Watch, WatchOutput},
    clock::Millis,
    listen::Headers,
};

/// What the core says of requests, and is told of their answers.
pub(super) trait Machine {
    /// What there is to tell.
    type Output;

    fn handle_head(&mut self, call: Call, status: u16, headers: &Headers<'_>, now: Millis);
    fn handle_bytes(&mut self, call: Call, bytes: &[u8], now: Millis);
    fn handle_end(&mut self, call: Call, now: Millis);
    fn handle_timeout(&mut self, now: Millis);
    fn cancel(&mut self);
    fn poll_transfer(&mut self) -> Option<Transfer>;
    fn poll_output(&mut self, now: Millis) -> Option<Self::Output>;
    fn poll_timeout(&self) -> Option<Millis>;
    /// Whether no response is awaited any more.
    fn is_ended(&self) -> bool;
    /// Whether nothing will come that is not there to tell.
    fn is_over(&self) -> bool;
}

macro_rules! machine {
    ($name:ty, $output:ty, $($rest:item)+) => {
        impl Machine for $name {
            type Output = $output;

            fn handle_head(&mut self, call: Call, status: u16, headers: &Headers<'_>, now: Millis) {
                self.handle_head(call, status, headers, now);
            }

            fn handle_bytes(&mut self, call: Call, bytes: &[u8], now: Millis) {
                self.handle_bytes(call, bytes, now);
            }

            fn handle_end(&mut self, call: Call, now: Millis) {
                self.handle_end(call, now);
            }

            fn handle_timeout(&mut self, now: Millis) {
                self.handle_timeout(now);
            }

            fn cancel(&mut self) {
                self.cancel();
            }

            fn poll_transfer(&mut self) -> Option<Transfer> {
                self.poll_transfer()
            }

            fn poll_timeout(&self) -> Option<Millis> {
                self.poll_timeout()
            }

            fn is_ended(&self) -> bool {
                self.is_ended()
            }

            $($rest)+
        }
    };
}

machine! {
    Listener, Output,
    fn poll_output(&mut self, _: Millis) -> Option<Output> {
        self.poll_output()
    }
    fn is_over(&self) -> bool {
        self.is_ended()
    }
}

machine! {
    Watch, WatchOutput,
    fn poll_output(&mut self, now: Millis) -> Option<WatchOutput> {
        self.poll_output(now)
    }
    fn is_over(&self) -> bool {
        self.state() == State::Stopped
    }
}
