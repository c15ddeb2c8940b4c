//! The stream of a server and the subscription of a client, connected back to back.

use mcp_listen::{
    capabilities::Capabilities,
    client::{CloseReason, Subscription, SubscriptionOptions, SubscriptionOutput},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    http::Headers,
    listen::{self, ServerStream},
    sse,
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{any_event, any_filter, check, is_of_same_key},
    subscription::{STREAM, accept, own_id},
};

#[derive(Clone, Debug)]
enum Step {
    Publish(ServerEvent),
    /// The server writes its next output.
    Write,
    KeepAlive,
    /// The owner of the client takes what there is.
    Poll,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any_event().prop_map(Step::Publish),
        6 => Just(Step::Write),
        1 => Just(Step::KeepAlive),
        3 => Just(Step::Poll),
    ]
}

/// The stream of a server and the subscription of a client, with bytes between them.
struct Wired {
    server: ServerStream,
    client: Subscription,
    chunk_bytes: usize,
    /// Events published after the acknowledgment that the client has yet to receive.
    unread: Vec<ServerEvent>,
    honored: SubscriptionFilter,
    heard_end: bool,
}

impl Wired {
    fn new(filter: SubscriptionFilter, chunk_bytes: usize) -> Self {
        let mut client =
            Subscription::new(own_id(), filter, SubscriptionOptions::default(), Millis(0));
        let accepted = accept(&client.request());
        let honored = accepted.requested.honored(Capabilities::ALL, None);
        let mut server = ServerStream::new(accepted.id, honored.clone(), Millis(0), Millis(0));
        server.handle_attached(Millis(0));
        client.handle_head(200, &Headers::new(STREAM), Millis(0));
        Self {
            server,
            client,
            chunk_bytes,
            unread: Vec::new(),
            honored,
            heard_end: false,
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Publish(event) => {
                self.server.handle_event(event);
                if self.honored.accepts(event) {
                    self.unread
                        .retain(|waiting| !is_of_same_key(waiting, event));
                    self.unread.push(event.clone());
                }
            }
            Step::Write => match self.server.poll_output(Millis(0)) {
                Some(listen::StreamOutput::Message(message)) => self.send(&sse::event(&message)),
                Some(listen::StreamOutput::End) => self.client.handle_end(),
                _ => {}
            },
            Step::KeepAlive => self.send(sse::KEEP_ALIVE),
            Step::Poll => self.poll(),
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(self.chunk_bytes) {
            self.client.handle_bytes(chunk, Millis(0));
        }
    }

    fn poll(&mut self) {
        while let Some(output) = self.client.poll_output() {
            assert!(!self.heard_end, "{output:?} after the end");
            match output {
                SubscriptionOutput::Acknowledged(honored) => assert_eq!(honored, self.honored),
                SubscriptionOutput::Changed(event) => {
                    assert!(self.honored.accepts(&event), "{event:?} was not honored");
                    self.unread.retain(|waiting| *waiting != event);
                }
                SubscriptionOutput::Ended(end) => {
                    assert_eq!(end, CloseReason::Graceful);
                    self.heard_end = true;
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_server_and_a_client_back_to_back_lose_nothing() {
    check(
        (any_filter(), vec(any_step(), 0..60), 1usize..40),
        |(filter, steps, chunk_bytes)| {
            let mut wired = Wired::new(filter, chunk_bytes);
            for step in &steps {
                wired.take(step);
            }
            wired.server.close();
            for _ in 0..100 {
                wired.take(&Step::Write);
            }
            wired.poll();
            assert!(wired.heard_end);
            assert_eq!(
                wired.unread,
                [],
                "the last change of each subject is received"
            );
        },
    );
}
