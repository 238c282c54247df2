//! One connection to a server: many calls in flight, answered out of order.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use lookaside_core::{FailureKind, LookupError};
use prost::Message;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, tcp::OwnedReadHalf, tcp::OwnedWriteHalf},
    sync::{mpsc, oneshot},
    task::AbortHandle,
};

use super::messages::{ConnectionHeader, RequestHeader, ResponseHeader, UserInformation};
use crate::lookup::address::Host;

/// A call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    /// The connection cannot be made, or broke.
    #[error("{0}")]
    Connection(String),
    /// The server threw an exception.
    #[error("{message} ({class})")]
    Exception {
        /// The exception's class, without its package.
        class: String,
        /// Its first line.
        message: String,
    },
    /// What came is no answer.
    #[error("{0}")]
    Malformed(String),
}

impl CallError {
    /// The exception with this class and text.
    pub(super) fn exception(class: &str, text: &str) -> Self {
        let class = class.rsplit(['.', '$']).next().unwrap_or(class);
        let line = text.lines().next().unwrap_or_default();
        let message = line.split_once(": ").map_or(line, |(_, message)| message);
        // Some tell all about the table.
        let message = message.chars().take(300).collect();
        Self::Exception { class: class.to_owned(), message }
    }

    /// What it means for a lookup.
    pub(super) fn to_failure(&self) -> LookupError {
        let kind = match self {
            Self::Connection(_) => FailureKind::Unavailable,
            Self::Malformed(_) => FailureKind::Malformed,
            Self::Exception { class, .. } => match class.as_str() {
                "CallQueueTooBigException"
                | "RegionTooBusyException"
                | "RpcThrottlingException"
                | "ServerTooBusyException" => FailureKind::Throttled,
                "NoSuchColumnFamilyException"
                | "TableNotFoundException"
                | "AccessDeniedException"
                | "DoNotRetryIOException"
                | "FatalConnectionException"
                | "UnknownServiceException"
                | "UnsupportedOperationException" => FailureKind::Rejected,
                _ => FailureKind::Unavailable,
            },
        };
        LookupError::new(kind, self.to_string())
    }
}

/// The calls that wait for their answers, by their numbers.
type Calls = HashMap<u32, oneshot::Sender<Result<Bytes, CallError>>>;

/// None once the connection is broken.
type Waiting = Mutex<Option<Calls>>;

/// A connection; dropping it ends its calls.
#[derive(Debug)]
pub(super) struct Connection {
    next: AtomicU32,
    waiting: Arc<Waiting>,
    frames: mpsc::Sender<Bytes>,
    tasks: [AbortHandle; 2],
}

impl Drop for Connection {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Takes the call out again when its caller is gone.
struct Place<'a> {
    waiting: &'a Waiting,
    id: u32,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = locked(self.waiting).as_mut() {
            waiting.remove(&self.id);
        }
    }
}

fn locked(waiting: &Waiting) -> MutexGuard<'_, Option<Calls>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    /// Connects to `service` of the server at `host`.
    pub(super) async fn open(host: &Host, service: &str, user: &str, timeout: Duration) -> Result<Self, CallError> {
        let broken = |error: std::io::Error| CallError::Connection(format!("{host}: {error}"));
        let stream = tokio::time::timeout(timeout, TcpStream::connect((host.name.as_str(), host.port)))
            .await
            .map_err(|_| {
                CallError::Connection(format!("{host}: no connection within {}", humantime::format_duration(timeout)))
            })?
            .map_err(broken)?;
        stream.set_nodelay(true).map_err(broken)?;
        let (read, mut write) = stream.into_split();
        let user_info = Some(UserInformation { effective_user: user.to_owned() });
        let header = ConnectionHeader { user_info, service_name: service.to_owned() }.encode_to_vec();
        // The version of the protocol, and simple authentication.
        let mut opening = BytesMut::from(&b"HBas\x00\x50"[..]);
        opening.put_u32(u32::try_from(header.len()).unwrap_or(u32::MAX));
        opening.put_slice(&header);
        write.write_all(&opening).await.map_err(broken)?;

        let waiting: Arc<Waiting> = Arc::new(Mutex::new(Some(HashMap::new())));
        let (frames, frames_to_write) = mpsc::channel(1024);
        let reading = tokio::spawn(read_all(read, Arc::clone(&waiting), host.clone()));
        let writing = tokio::spawn(write_all(write, frames_to_write));
        Ok(Self { next: AtomicU32::new(0), waiting, frames, tasks: [reading.abort_handle(), writing.abort_handle()] })
    }

    /// Whether calls can still be made.
    pub(super) fn is_open(&self) -> bool {
        locked(&self.waiting).is_some() && !self.frames.is_closed()
    }

    /// Calls `method` and waits for its answer.
    pub(super) async fn call<R: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
        timeout: Duration,
    ) -> Result<R, CallError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        match locked(&self.waiting).as_mut() {
            Some(waiting) => drop(waiting.insert(id, answer)),
            None => return Err(lost()),
        }
        let _place = Place { waiting: &self.waiting, id };
        let header = RequestHeader {
            call_id: Some(id),
            method_name: method.to_owned(),
            request_param: true,
            timeout: u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX),
        };
        let header = header.encode_length_delimited_to_vec();
        let request = request.encode_length_delimited_to_vec();
        let mut frame = BytesMut::with_capacity(4 + header.len() + request.len());
        let length = u32::try_from(header.len() + request.len());
        frame.put_u32(length.map_err(|_| CallError::Malformed("the request is over 4 GiB".into()))?);
        frame.put_slice(&header);
        frame.put_slice(&request);
        let exchange = async {
            self.frames.send(frame.freeze()).await.map_err(|_| lost())?;
            answered.await.map_err(|_| lost())?
        };
        let late =
            |_| CallError::Connection(format!("no answer to {method} within {}", humantime::format_duration(timeout)));
        let answer = tokio::time::timeout(timeout, exchange).await.map_err(late)??;
        R::decode(answer)
            .map_err(|error| CallError::Malformed(format!("the answer to {method} cannot be read: {error}")))
    }
}

fn lost() -> CallError {
    CallError::Connection("the connection was lost".into())
}

async fn write_all(mut write: OwnedWriteHalf, mut frames: mpsc::Receiver<Bytes>) {
    while let Some(frame) = frames.recv().await {
        let mut together = BytesMut::from(frame);
        // What waits already goes along.
        while let Ok(frame) = frames.try_recv() {
            together.put_slice(&frame);
        }
        if write.write_all(&together).await.is_err() {
            return;
        }
    }
}

/// Hands answers to their callers until the connection breaks, which ends all calls.
async fn read_all(mut read: OwnedReadHalf, waiting: Arc<Waiting>, host: Host) {
    let error = loop {
        if let Err(error) = read_one(&mut read, &waiting).await {
            break error;
        }
    };
    tracing::debug!("the connection to {host} ended: {error}");
    for (_, answer) in locked(&waiting).take().into_iter().flatten() {
        let _ = answer.send(Err(match &error {
            CallError::Connection(reason) => CallError::Connection(format!("{host}: {reason}")),
            other => other.clone(),
        }));
    }
}

async fn read_one(read: &mut OwnedReadHalf, waiting: &Waiting) -> Result<(), CallError> {
    /// What the server itself takes at most.
    const LONGEST: usize = 256 << 20;
    let broken = |error: std::io::Error| CallError::Connection(error.to_string());
    let malformed = |error: prost::DecodeError| CallError::Malformed(error.to_string());
    let length = read.read_u32().await.map_err(broken)? as usize;
    if length > LONGEST {
        return Err(CallError::Malformed(format!("an answer of {length} bytes was announced")));
    }
    let mut frame = BytesMut::zeroed(length);
    read.read_exact(&mut frame).await.map_err(broken)?;
    let mut frame = frame.freeze();
    let header = ResponseHeader::decode_length_delimited(&mut frame).map_err(malformed)?;
    let result = match header.exception {
        Some(exception) => Err(CallError::exception(&exception.class, &exception.stack)),
        None if frame.is_empty() => Ok(Bytes::new()),
        None => {
            let length = prost::decode_length_delimiter(&mut frame).map_err(malformed)?;
            frame.truncate(length.min(frame.remaining()));
            Ok(frame)
        }
    };
    let answer = locked(waiting).as_mut().and_then(|waiting| waiting.remove(&header.call_id));
    // Where the caller gave up, nobody waits.
    if let Some(answer) = answer {
        let _ = answer.send(result);
    }
    Ok(())
}
