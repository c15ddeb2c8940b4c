//! Bodies as written in the files of the corpus.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Body {
    Text(Text),
    Bytes { base64: String },
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Text {
    Whole(String),
    Pieces(Vec<Piece>),
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Piece {
    Once(String),
    Times(String, usize),
}

impl Body {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.join().into_bytes(),
            Self::Bytes { base64 } => decode(base64),
        }
    }
}

impl Text {
    pub(crate) fn join(&self) -> String {
        match self {
            Self::Whole(text) => text.clone(),
            Self::Pieces(pieces) => pieces.iter().map(Piece::text).collect(),
        }
    }
}

impl Piece {
    fn text(&self) -> String {
        match self {
            Self::Once(text) => text.clone(),
            Self::Times(text, times) => text.repeat(*times),
        }
    }
}

/// Decodes Base64 with the standard alphabet; drops bits that do not fill a byte.
fn decode(base64: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = base64
        .trim_end_matches('=')
        .chars()
        .map(|digit| ALPHABET.find(digit).unwrap());
    let bits: Vec<usize> = digits
        .flat_map(|digit| (0..6).rev().map(move |bit| digit >> bit & 1))
        .collect();
    let bytes = bits
        .chunks_exact(8)
        .map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | bit));
    bytes.map(|byte| u8::try_from(byte).unwrap()).collect()
}
