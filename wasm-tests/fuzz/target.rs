//! Fuzz targets, and the search for an input that breaks one.

use std::panic::{self, AssertUnwindSafe};

use proptest::{
    prelude::*,
    test_runner::{TestCaseError, TestError, TestRng, TestRunner},
};

use crate::{inputs, json, lives, protocol, served, wires};

/// Code that takes untrusted bytes, and must neither panic nor break a promise.
pub struct Target {
    pub name: &'static str,
    /// The inputs to try.
    pub inputs: fn() -> BoxedStrategy<Vec<u8>>,
    /// Panics if something is wrong.
    pub run: fn(&[u8]),
}

/// An input that breaks a target, as small as possible.
pub struct Found {
    pub bytes: Vec<u8>,
    pub why: String,
}

pub const ALL: &[Target] = &[
    Target {
        name: "json",
        inputs: inputs::json,
        run: json::agrees_with_a_lenient_reader,
    },
    Target {
        name: "filter",
        inputs: inputs::filters,
        run: protocol::filter,
    },
    Target {
        name: "request",
        inputs: inputs::requests,
        run: protocol::request,
    },
    Target {
        name: "screen",
        inputs: inputs::headers,
        run: protocol::screen,
    },
    Target {
        name: "exchange",
        inputs: inputs::requests,
        run: protocol::exchange,
    },
    Target {
        name: "served",
        inputs: inputs::served,
        run: served::served,
    },
    Target {
        name: "bus-frames",
        inputs: inputs::frames,
        run: wires::bus_frames,
    },
    Target {
        name: "sse-in",
        inputs: inputs::streams,
        run: wires::sse_in,
    },
    Target {
        name: "sse-out",
        inputs: inputs::messages,
        run: wires::sse_out,
    },
    Target {
        name: "stdio",
        inputs: inputs::lines,
        run: wires::stdio,
    },
    Target {
        name: "client",
        inputs: inputs::responses,
        run: wires::client,
    },
    Target {
        name: "stream-life",
        inputs: inputs::steps,
        run: lives::stream,
    },
    Target {
        name: "bus-life",
        inputs: inputs::steps,
        run: lives::bus,
    },
];

impl Target {
    /// Tries this many inputs; a failure is shrunk.
    pub fn search(&self, cases: u32, rng: TestRng) -> Result<(), Found> {
        let config = ProptestConfig {
            cases,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let mut runner = TestRunner::new_with_rng(config, rng);
        let outcome = runner.run(&(self.inputs)(), |bytes| {
            panic::catch_unwind(AssertUnwindSafe(|| (self.run)(&bytes)))
                .map_err(|thrown| TestCaseError::fail(said(&*thrown)))
        });
        match outcome {
            Ok(()) => Ok(()),
            Err(TestError::Fail(why, bytes)) => Err(Found {
                bytes,
                why: why.message().to_owned(),
            }),
            Err(TestError::Abort(why)) => panic!("{}: {why}", self.name),
        }
    }
}

impl Found {
    pub fn shown(&self) -> String {
        self.bytes.escape_ascii().to_string()
    }
}

fn said(thrown: &(dyn std::any::Any + Send)) -> String {
    let text = thrown.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| thrown.downcast_ref::<&str>().copied())
        .unwrap_or("a panic")
        .to_owned()
}
