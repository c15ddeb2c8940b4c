/// The header fields of one HTTP request, as lines `name: value`.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    lines: &'a str,
}

impl<'a> Headers<'a> {
    /// Takes one field a line; names in any case, values with or without white space around them.
    pub fn new(lines: &'a str) -> Self {
        Self { lines }
    }

    /// The value of the first field `name`, trimmed (RFC 9110, 5.5).
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.lines
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim_matches([' ', '\t']))
    }

    /// Whether the body is declared as JSON in UTF-8 that is not compressed.
    pub fn declare_json(&self) -> bool {
        let Some(content_type) = self.get("content-type") else {
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

    /// Whether the client takes an event stream; one that names nothing takes everything.
    pub fn accept_event_stream(&self) -> bool {
        self.get("accept")
            .is_none_or(|ranges| ranges.split(',').any(is_event_stream_range))
    }
}

fn is_no_other_charset(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    !name.trim().eq_ignore_ascii_case("charset")
        || value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
}

fn is_event_stream_range(range: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    let is_match = ["text/event-stream", "text/*", "*/*"]
        .iter()
        .any(|stream| media.eq_ignore_ascii_case(stream));
    is_match
        && !parts.any(|parameter| parameter.replace(' ', "").trim_end_matches(['0', '.']) == "q=")
}
