use alloc::borrow::Cow;
use alloc::{borrow::ToOwned, string::String, vec::Vec};

use crate::sorted::Set;

use super::node::{Document, Node, Object, Value};

/// The reason why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes are not UTF-8.
    Encoding,
    /// The text breaks the grammar, or a string holds a lone surrogate.
    Syntax,
    /// Arrays and objects are nested deeper than allowed.
    Depth,
}

/// Maximum depth of what a server or a peer of the core writes: results, capabilities and schemas,
/// which may nest deeper than a request.
pub(crate) const MAX_PEER_DEPTH: usize = 128;

/// Reads a whole JSON text whose arrays and objects nest at most `max_depth` deep.
///
/// Duplicate keys are recorded, not refused, so that the response can still carry the request id.
///
/// # Errors
/// The first [`ReadError`] from the left.
pub fn read(bytes: &[u8], max_depth: usize) -> Result<Document<'_>, ReadError> {
    let text = core::str::from_utf8(bytes).map_err(|_| ReadError::Encoding)?;
    let mut reader = Reader {
        text,
        at: 0,
        depth_left: max_depth,
        has_duplicate_key: false,
    };
    let root = reader.node()?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(ReadError::Syntax);
    }
    Ok(Document {
        root,
        has_duplicate_key: reader.has_duplicate_key,
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth_left: usize,
    has_duplicate_key: bool,
}

impl<'a> Reader<'a> {
    fn node(&mut self) -> Result<Node<'a>, ReadError> {
        self.skip_space();
        let start = self.at;
        let value = self.value()?;
        Ok(Node {
            raw: self.since(start)?,
            value,
        })
    }

    fn value(&mut self) -> Result<Value<'a>, ReadError> {
        match self.peek().ok_or(ReadError::Syntax)? {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::array),
            b'"' => self.string().map(Value::String),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            _ => self.number(),
        }
    }

    fn nested(
        &mut self,
        container: impl FnOnce(&mut Self) -> Result<Value<'a>, ReadError>,
    ) -> Result<Value<'a>, ReadError> {
        self.depth_left = self.depth_left.checked_sub(1).ok_or(ReadError::Depth)?;
        self.at += 1;
        let value = container(self)?;
        self.depth_left += 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value<'a>, ReadError> {
        let mut members = Vec::new();
        self.skip_space();
        if !self.take(b'}') {
            loop {
                members.push(self.member()?);
                if self.ends(b'}')? {
                    break;
                }
            }
        }
        self.has_duplicate_key |= has_duplicate(&members);
        Ok(Value::Object(Object { members }))
    }

    fn member(&mut self) -> Result<(Cow<'a, str>, Node<'a>), ReadError> {
        self.skip_space();
        let name = self.string()?;
        self.skip_space();
        self.expect(b':')?;
        Ok((name, self.node()?))
    }

    fn array(&mut self) -> Result<Value<'a>, ReadError> {
        let mut items = Vec::new();
        self.skip_space();
        if !self.take(b']') {
            loop {
                items.push(self.node()?);
                if self.ends(b']')? {
                    break;
                }
            }
        }
        Ok(Value::Array(items))
    }

    /// Returns whether the container ends after an item; otherwise a comma must follow.
    fn ends(&mut self, close: u8) -> Result<bool, ReadError> {
        self.skip_space();
        if self.take(close) {
            return Ok(true);
        }
        self.expect(b',').map(|()| false)
    }

    fn string(&mut self) -> Result<Cow<'a, str>, ReadError> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            match self.peek().ok_or(ReadError::Syntax)? {
                b'"' => {
                    let plain = self.since(start)?;
                    self.at += 1;
                    return Ok(Cow::Borrowed(plain));
                }
                b'\\' => return self.escaped_string(start).map(Cow::Owned),
                0..0x20 => return Err(ReadError::Syntax),
                _ => self.at += 1,
            }
        }
    }

    fn escaped_string(&mut self, start: usize) -> Result<String, ReadError> {
        let mut text = self.since(start)?.to_owned();
        loop {
            let plain = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..0x20)) {
                self.at += 1;
            }
            text.push_str(self.since(plain)?);
            if self.take(b'"') {
                return Ok(text);
            }
            self.expect(b'\\')?;
            text.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, ReadError> {
        let letter = self.peek().ok_or(ReadError::Syntax)?;
        self.at += 1;
        match letter {
            b'"' => Ok('"'),
            b'\\' => Ok('\\'),
            b'/' => Ok('/'),
            b'b' => Ok('\u{8}'),
            b'f' => Ok('\u{c}'),
            b'n' => Ok('\n'),
            b'r' => Ok('\r'),
            b't' => Ok('\t'),
            b'u' => self.unicode_escape(),
            _ => Err(ReadError::Syntax),
        }
    }

    fn unicode_escape(&mut self) -> Result<char, ReadError> {
        let first = self.four_hex_digits()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or(ReadError::Syntax);
        }
        self.expect(b'\\')?;
        self.expect(b'u')?;
        match self.four_hex_digits()? {
            second @ 0xdc00..0xe000 => {
                char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
                    .ok_or(ReadError::Syntax)
            }
            _ => Err(ReadError::Syntax),
        }
    }

    fn four_hex_digits(&mut self) -> Result<u32, ReadError> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        self.at += 4;
        digits
            .and_then(|text| u32::from_str_radix(text, 16).ok())
            .ok_or(ReadError::Syntax)
    }

    fn number(&mut self) -> Result<Value<'a>, ReadError> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Ok(Value::Number)
    }

    fn digits(&mut self) -> Result<(), ReadError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start {
            return Err(ReadError::Syntax);
        }
        Ok(())
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Result<Value<'a>, ReadError> {
        let end = self.at + word.len();
        if self.text.get(self.at..end) != Some(word) {
            return Err(ReadError::Syntax);
        }
        self.at = end;
        Ok(value)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), ReadError> {
        if self.take(byte) {
            return Ok(());
        }
        Err(ReadError::Syntax)
    }

    fn take(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn since(&self, start: usize) -> Result<&'a str, ReadError> {
        self.text.get(start..self.at).ok_or(ReadError::Syntax)
    }
}

/// Whether two members have the same name. A few names are compared pair by pair, which needs no
/// memory; a hostile body may hold thousands.
fn has_duplicate(members: &[(Cow<'_, str>, Node<'_>)]) -> bool {
    let names = || members.iter().map(|(name, _)| name.as_ref());
    if members.len() <= MAX_COMPARED_NAMES {
        let mut places = names().enumerate();
        return places.any(|(place, name)| names().take(place).any(|before| before == name));
    }
    let mut known = Set::default();
    !names().all(|name| known.insert(name))
}

/// Maximum number of members whose names are each compared with those before it.
const MAX_COMPARED_NAMES: usize = 16;
