//! The texts between edges, bus and shards, and those in the rows of a bus, by the files of the
//! corpus: read and written as they are there. `wasm-tests/node/bus/wire.test.ts` checks that no
//! file is left out.

mod describe;
mod messages;
mod sessions;
mod texts;

use serde::Deserialize;
use serde_json::Value;

/// A file of the corpus and its content.
macro_rules! fixture {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../corpus/wire/", $name, ".json")),
        )
    };
}
use fixture;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    text: String,
    reads: Value,
}

/// The value that reading a text gives, and the text that is written from it.
struct Both {
    reads: Value,
    writes: String,
}

/// Checks that the texts of a file are read and written today.
#[track_caller]
fn written((file, cases): (&str, &str), read: impl Fn(&str) -> Option<Both>) {
    former((file, cases), &read);
    for Case { name, text, .. } in cases_of(cases) {
        let writes = read(&text).map(|both| both.writes);
        assert_eq!(writes, Some(text), "{file}, {name}: {CHANGED}");
    }
}

/// Checks that the texts of a file are read, as a previous version of the wire has written them.
#[track_caller]
fn former((file, cases): (&str, &str), read: impl Fn(&str) -> Option<Both>) {
    for Case { name, text, reads } in cases_of(cases) {
        let read = read(&text).map(|both| both.reads);
        assert_eq!(read, Some(reads), "{file}, {name}: {CHANGED}");
    }
}

fn cases_of(file: &str) -> Vec<Case> {
    let cases: Vec<Case> = serde_json::from_str(file).unwrap();
    assert!(!cases.is_empty());
    cases
}

const CHANGED: &str = "the wire or a row has changed. Leave this file as it is, and keep reading \
it: raise `WIRE` in js/cloudflare/wire/upgrade.ts, and put the new text into a file of the new \
version beside it (\"The wire\" in wasm-tests/corpus/README.md)";
