use std::cell::RefCell;

use mcp_listen::{
    client::{self, CloseReason, HttpAction, ServerHint, WatchOutput},
    clock::Millis,
    filter::SubscriptionFilter,
    http::Headers,
    limits::Limits,
};

use crate::{
    Component,
    convert::{error, lines_of},
    wit::{
        client::{
            Action, End, Guest, GuestWatch, Hint, Live, Output, Request, Watch as WatchHandle,
            WatchOptions,
        },
        types::{Error, ErrorCode},
    },
};

impl Guest for Component {
    type Watch = Watch;
}

/// A subscription that is kept open.
pub(crate) struct Watch(RefCell<client::Watch>);

impl GuestWatch for Watch {
    fn open(filter: String, options: WatchOptions, now: u64) -> Result<WatchHandle, Error> {
        let filter = SubscriptionFilter::from_json(&filter, &Limits::default())
            .map_err(|problem| error(ErrorCode::InvalidFilter, &problem))?;
        let (hint, seed) = (options.hint.into(), options.seed);
        let opens_again = options.opens_again;
        let watch = client::Watch::new(filter, options.into(), hint, seed, Millis(now));
        let watch = watch.without_repeats();
        let watch = if opens_again { watch } else { watch.once() };
        Ok(WatchHandle::new(Self(RefCell::new(watch))))
    }

    fn poll_action(&self) -> Option<Action> {
        let action = self.0.borrow_mut().poll_action()?;
        Some(match action {
            HttpAction::Close(call) => Action::Close(call),
            HttpAction::Send(call, request) => {
                let headers = request.headers.into_iter();
                Action::Send(Request {
                    call,
                    method: request.method.to_owned(),
                    headers: headers
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                    body: request.body,
                })
            }
            _ => return None,
        })
    }

    fn poll_output(&self, now: u64) -> Option<Output> {
        let mut watch = self.0.borrow_mut();
        Some(match watch.poll_output(Millis(now))? {
            WatchOutput::Live { honored, .. } => Output::Live(Live {
                honored: honored.to_json(),
                id: watch.id().map(|id| id.raw().to_owned()),
                version: watch.version().map(str::to_owned),
            }),
            WatchOutput::Changed(event) => Output::Changed(event.to_public_json()),
            WatchOutput::Waiting { end, .. } => Output::Waiting(ended(&watch, end)),
            WatchOutput::Stopped(end) => Output::Stopped(ended(&watch, end)),
            _ => return None,
        })
    }

    fn handle_head(&self, call: u32, status: u16, headers: Vec<(String, String)>, now: u64) {
        let lines = lines_of(&headers);
        let headers = Headers::new(&lines);
        let mut watch = self.0.borrow_mut();
        watch.handle_head(call, status, &headers, Millis(now));
    }

    fn handle_body(&self, call: u32, bytes: Vec<u8>, now: u64) {
        self.0.borrow_mut().handle_bytes(call, &bytes, Millis(now));
    }

    fn handle_end(&self, call: u32, now: u64) {
        self.0.borrow_mut().handle_end(call, Millis(now));
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.0.borrow().poll_timeout().map(|at| at.0)
    }

    fn handle_timeout(&self, now: u64) {
        self.0.borrow_mut().handle_timeout(Millis(now));
    }

    fn handle_online(&self, now: u64) {
        self.0.borrow_mut().handle_online(Millis(now));
    }

    fn cancel(&self) {
        self.0.borrow_mut().cancel();
    }
}

impl From<Hint> for ServerHint {
    fn from(hint: Hint) -> Self {
        match hint {
            Hint::Discover => Self::Discover { is_page: false },
            Hint::Modern => Self::Modern,
            Hint::Legacy => Self::Legacy,
        }
    }
}

impl From<WatchOptions> for client::SubscriptionOptions {
    fn from(options: WatchOptions) -> Self {
        Self {
            client_info: options.client_info,
            acknowledgment: Millis(options.acknowledgment).into(),
            silence: Millis(options.silence).into(),
            ..Self::default()
        }
    }
}

fn ended(watch: &client::Watch, end: CloseReason) -> End {
    let code = end.code().to_owned();
    let refusal = if let CloseReason::Refused(refusal) = end {
        Some(refusal)
    } else {
        None
    };
    End {
        code,
        status: refusal.as_ref().map(|refusal| refusal.status),
        rpc_code: refusal.as_ref().and_then(|refusal| refusal.code),
        text: refusal.map(|refusal| refusal.text),
        retry_after: watch.retry_after().map(|span| span.0),
    }
}
