use alloc::{string::String, vec::Vec};

/// One field of an HTTP response: its name in lower case, and its value.
pub type Field = (&'static str, String);

/// The header fields of one HTTP request, as lines `name: value`.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    lines: &'a str,
}

impl<'a> Headers<'a> {
    /// Takes one field per line; names in any case, values with or without surrounding white space.
    pub fn new(lines: &'a str) -> Self {
        Self { lines }
    }

    /// Returns the fields as they were given, one per line.
    pub fn lines(&self) -> &'a str {
        self.lines
    }

    /// Returns the value of the first field `name`, trimmed (RFC 9110, 5.5).
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// Returns the value of the field `name` if there is exactly one.
    pub fn single(&self, name: &str) -> Option<&'a str> {
        let mut values = self.all(name);
        let first = values.next();
        first.filter(|_| values.next().is_none())
    }

    /// Whether the body is declared as uncompressed JSON in UTF-8.
    pub fn declare_json(&self) -> bool {
        let Some(content_type) = self.single("content-type") else {
            return false;
        };
        let mut parts = content_type.split(';').map(str::trim);
        parts
            .next()
            .is_some_and(|media| media.eq_ignore_ascii_case("application/json"))
            && parts.all(is_no_other_charset)
            && self
                .get("content-encoding")
                .is_none_or(|encoding| encoding.eq_ignore_ascii_case("identity"))
    }

    /// Whether the client explicitly accepts an event stream.
    pub fn name_event_stream(&self) -> bool {
        self.take_event_stream() == Some(true)
    }

    /// Whether the client accepts an event stream; one that names no media type accepts everything.
    pub fn accept_event_stream(&self) -> bool {
        self.take_event_stream() != Some(false)
    }

    /// Whether `Content-Length` announces more than `limit` bytes.
    pub fn declare_more_than(&self, limit: usize) -> bool {
        self.get("content-length").is_some_and(|length| {
            let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
            is_number && length.parse().map_or(true, |length: usize| length > limit)
        })
    }

    /// Returns whether the client accepts event streams; `None` if it names no media type.
    fn take_event_stream(&self) -> Option<bool> {
        let ranges = self.all("accept").flat_map(|ranges| ranges.split(','));
        let named: Vec<&str> = ranges.filter(|range| !range.trim().is_empty()).collect();
        let best = EVENT_STREAM_RANGES
            .iter()
            .find_map(|media| named.iter().find(|range| is_range(range, media)));
        (!named.is_empty()).then(|| best.is_some_and(|range| !is_refused(range)))
    }

    fn all<'n>(&self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.lines
            .lines()
            .filter_map(|line| line.split_once(':'))
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim_matches([' ', '\t']))
    }
}

fn is_no_other_charset(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    !name.trim().eq_ignore_ascii_case("charset")
        || value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
}

fn is_range(range: &str, media: &str) -> bool {
    let named = range.split(';').next().unwrap_or_default();
    named.trim().eq_ignore_ascii_case(media)
}

/// Whether a media range has weight zero, which excludes it (RFC 9110, 12.4.2).
fn is_refused(range: &str) -> bool {
    range.split(';').skip(1).any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let is_zero = value.trim().trim_end_matches(['0', '.']).is_empty();
        name.trim().eq_ignore_ascii_case("q") && is_zero
    })
}

/// The media ranges that match an event stream; the most specific one that a client names counts
/// (RFC 9110, 12.5.1).
const EVENT_STREAM_RANGES: [&str; 3] = ["text/event-stream", "text/*", "*/*"];
