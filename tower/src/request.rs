use bytes::{Bytes, BytesMut};
use http::{Request, header, request::Parts};
use http_body::Body;
use http_body_util::BodyExt;

/// Returns the header fields in the form of the core. Omits values that are not text, which the
/// core does not need.
pub(crate) fn lines(parts: &Parts) -> String {
    let mut lines = String::new();
    for (name, value) in &parts.headers {
        if let Ok(value) = value.to_str() {
            lines.push_str(name.as_str());
            lines.push_str(": ");
            lines.push_str(value);
            lines.push('\n');
        }
    }
    lines
}

/// Returns the URL of the request, as far as it is known.
pub(crate) fn url(parts: &Parts) -> String {
    let scheme = parts.uri.scheme_str().unwrap_or("http");
    let host = parts.headers.get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let authority = parts.uri.authority().map(http::uri::Authority::as_str);
    let host = authority.or(host).unwrap_or_default();
    format!("{scheme}://{host}{}", parts.uri.path())
}

/// Returns the length of the body, if the request or the body declares it.
pub(crate) fn length<B: Body>(request: &Request<B>) -> Option<u64> {
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|length| length.to_str().ok()?.parse().ok());
    request.body().size_hint().exact().or(declared)
}

/// Reads the body, truncated somewhere beyond `limit`: the core rejects a longer one.
pub(crate) async fn read<B>(body: B, limit: usize) -> Result<Bytes, B::Error>
where
    B: Body<Data = Bytes>,
{
    let mut body = Box::pin(body);
    let mut bytes = BytesMut::new();
    while bytes.len() <= limit
        && let Some(frame) = body.frame().await
    {
        if let Ok(data) = frame?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes.freeze())
}
