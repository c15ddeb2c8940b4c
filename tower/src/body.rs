use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::stream_body::StreamBody;

pin_project! {
    /// The body of a response: a stream, an error, or the body of the inner service.
    #[derive(Debug)]
    pub struct Body<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProjection]
    #[derive(Debug)]
    enum Kind<B> {
        Own { own: Own },
        Inner { #[pin] body: B },
    }
}

/// A body that this layer produces.
#[derive(Debug)]
pub(crate) enum Own {
    Stream(StreamBody),
    Text(Option<Bytes>),
}

impl Own {
    pub(crate) fn text(text: impl Into<Bytes>) -> Self {
        Self::Text(Some(text.into()).filter(|text| !text.is_empty()))
    }
}

impl<B> Body<B> {
    pub(crate) fn own(own: Own) -> Self {
        Self {
            kind: Kind::Own { own },
        }
    }

    pub(crate) fn inner(body: B) -> Self {
        Self {
            kind: Kind::Inner { body },
        }
    }
}

impl<B: http_body::Body<Data = Bytes>> http_body::Body for Body<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let whole = |bytes: Option<Bytes>| bytes.map(|bytes| Ok(Frame::data(bytes)));
        match self.project().kind.project() {
            KindProjection::Own { own } => match own {
                Own::Stream(stream) => stream.poll(context.waker()).map(whole),
                Own::Text(text) => Poll::Ready(whole(text.take())),
            },
            KindProjection::Inner { body } => body.poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Own { own } => matches!(own, Own::Text(None)),
            Kind::Inner { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Own {
                own: Own::Text(text),
            } => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Kind::Own { .. } => SizeHint::default(),
            Kind::Inner { body } => body.size_hint(),
        }
    }
}
