//! A connection to a server, for callers that wait for each answer.

use std::future::Future;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use async_nats::client::RequestErrorKind;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::object_store::ObjectStore;
use async_nats::jetstream::stream::{self, LastRawMessageErrorKind, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{ConnectErrorKind, ConnectOptions, HeaderMap, ServerAddr};
use tokio::io::AsyncReadExt;
use tokio::runtime::Runtime;

use crate::error::ClusterError;

/// How long a server may take to let a client in.
const ENTRY: Duration = Duration::from_secs(5);
/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a server may be away.
const PATIENCE: Duration = Duration::from_secs(600);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);
/// Bytes of an object, at most.
const MOST_BYTES: u64 = 4 << 30;
/// Says that there must be no message with the subject yet.
const ONLY_IF_NEW: (&str, &str) = ("Nats-Expected-Last-Subject-Sequence", "0");

/// Where a server is, and what lets this process in.
#[derive(Clone, Default)]
pub struct ServerAccess {
    /// `nats://HOST:PORT` or `tls://HOST:PORT`, perhaps with a user and a password, or a token,
    /// before the host.
    pub url: String,
    /// A user.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<String>,
    /// A token.
    pub token: Option<String>,
    /// A file with a JWT and the seed of its key.
    pub credentials: Option<PathBuf>,
    /// A file with the seed of a key.
    pub nkey: Option<PathBuf>,
    /// Certificates to trust.
    pub authority: Option<PathBuf>,
    /// A certificate to show, and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Secrets are not shown.
impl std::fmt::Debug for ServerAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerAccess").field("server", &self.server()).finish_non_exhaustive()
    }
}

impl ServerAccess {
    /// The address without secrets.
    #[must_use]
    pub fn server(&self) -> String {
        match self.url.split_once("://") {
            Some((scheme, rest)) => format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or(rest)),
            None => self.url.rsplit('@').next().unwrap_or_default().into(),
        }
    }

    fn options(&self, address: &ServerAddr) -> Result<ConnectOptions, ClusterError> {
        let mut options = ConnectOptions::new();
        let password = self.password.clone().or_else(|| address.password().map(Into::into));
        let user = self.user.clone().or_else(|| address.username().map(Into::into));
        if let Some(token) = &self.token {
            options = options.token(token.clone());
        }
        options = match (user, password) {
            (Some(user), Some(password)) => options.user_and_password(user, password),
            // An address with one word before the host has a token.
            (Some(token), None) if self.token.is_none() => options.token(token),
            _ => options,
        };
        let read = |path: &Path| {
            let wrong = |error: std::io::Error| credentials(path, &error);
            std::fs::read_to_string(path).map_err(wrong)
        };
        if let Some(path) = &self.credentials {
            options = options.credentials(&read(path)?).map_err(|error| credentials(path, &error))?;
        }
        if let Some(path) = &self.nkey {
            options = options.nkey(read(path)?.trim().into());
        }
        if let Some(path) = &self.authority {
            read(path)?;
            options = options.add_root_certificates(path.clone());
        }
        if let Some((certificate, key)) = &self.certificate {
            read(certificate)?;
            read(key)?;
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(options.require_tls(address.tls_required() || self.authority.is_some()))
    }
}

fn credentials(path: &Path, what: &dyn std::fmt::Display) -> ClusterError {
    ClusterError::Credentials { path: path.display().to_string(), what: what.to_string() }
}

/// Why a request was not answered.
pub(crate) enum Trouble {
    /// The server may be away: it is asked again.
    Again(String),
    /// Asking again makes no difference.
    Never(ClusterError),
}

impl Trouble {
    /// The server may be away.
    pub fn again(why: impl std::fmt::Display) -> Self {
        Trouble::Again(why.to_string())
    }
}

/// A server that this process is connected to. While it is away, requests wait for it.
pub struct ServerConnection {
    runtime: Runtime,
    context: Context,
    should_stop: fn() -> bool,
}

impl std::fmt::Debug for ServerConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerConnection").finish_non_exhaustive()
    }
}

impl ServerConnection {
    /// Connects. `should_stop` tells whether the user wants to end.
    ///
    /// # Errors
    /// If the server cannot be reached, refuses the credentials, or has no JetStream.
    pub fn open(access: &ServerAccess, name: &str, should_stop: fn() -> bool) -> Result<Self, ClusterError> {
        let server = access.server();
        let address: ServerAddr = access.url.parse().map_err(|_| ClusterError::Address(server.clone()))?;
        let options = access.options(&address)?.name(name).connection_timeout(ENTRY).request_timeout(Some(ANSWER));
        let unreachable = |what: String| ClusterError::Unreachable { address: server.clone(), what };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| unreachable(error.to_string()))?;
        let connected = runtime.block_on(async { tokio::time::timeout(2 * ENTRY, options.connect(address)).await });
        let client = match connected {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => {
                return Err(match error.kind() {
                    ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                        ClusterError::Refused(server.clone())
                    }
                    _ => unreachable(error.to_string()),
                });
            }
            Err(_) => return Err(unreachable("it does not answer".into())),
        };
        let context =
            runtime.block_on(async { jetstream::context::ContextBuilder::new().timeout(ANSWER).build(client) });
        let connection = ServerConnection { runtime, context, should_stop };
        connection.insist("answer", async |context| {
            let no_streams = || Trouble::Never(ClusterError::NoJetStream(server.clone()));
            match context.client().request("$JS.API.INFO", bytes::Bytes::new()).await {
                Ok(answer) if is_error(&answer.payload) => Err(no_streams()),
                Ok(_) => Ok(()),
                Err(error) if error.kind() == RequestErrorKind::NoResponders => Err(no_streams()),
                Err(error) => Err(Trouble::again(error)),
            }
        })?;
        Ok(connection)
    }

    /// Bytes of a message, at most, with room for its headers.
    pub(crate) fn room(&self) -> usize {
        self.context.client().max_payload().min(1 << 20).saturating_sub(4096)
    }

    /// Whether the user wants to end.
    pub(crate) fn should_stop(&self) -> bool {
        (self.should_stop)()
    }

    /// Waits for something that goes on in the background.
    pub(crate) fn block<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Has something done in the background.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> tokio::task::JoinHandle<()> {
        self.runtime.spawn(work)
    }

    /// Tries until the server is there, or has been away for too long.
    pub(crate) fn insist<T>(
        &self,
        what: &'static str,
        mut request: impl AsyncFnMut(Context) -> Result<T, Trouble>,
    ) -> Result<T, ClusterError> {
        let begun = Instant::now();
        loop {
            match self.block(request(self.context.clone())) {
                Ok(value) => return Ok(value),
                Err(Trouble::Never(error)) => return Err(error),
                Err(Trouble::Again(why)) => {
                    tracing::debug!(what, why, "server does not answer");
                    if begun.elapsed() > PATIENCE || self.should_stop() {
                        return Err(ClusterError::Server { what, why });
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    /// The stream with this configuration, which is created if it is not there.
    pub(crate) fn stream(&self, config: &stream::Config) -> Result<Stream, ClusterError> {
        self.insist("create a stream", async |context| {
            context.get_or_create_stream(config.clone()).await.map_err(Trouble::again)
        })
    }

    /// Stores a message unless there is one with its subject. False: there is one.
    pub(crate) fn store_once(&self, subject: &str, bytes: &[u8]) -> Result<bool, ClusterError> {
        let bytes = bytes::Bytes::copy_from_slice(bytes);
        self.insist("store", async |context| {
            let mut headers = HeaderMap::new();
            headers.insert(ONLY_IF_NEW.0, ONLY_IF_NEW.1);
            let sent = context.publish_with_headers(subject.to_owned(), headers, bytes.clone()).await;
            let stored = match sent {
                Ok(stored) => stored.await,
                Err(error) => Err(error),
            };
            stored.map(|_| true).or_else(|error| refused(&error))
        })
    }

    /// The message with this subject in a stream, with its number.
    pub(crate) fn stored(&self, stream: &str, subject: &str) -> Result<Option<(u64, Vec<u8>)>, ClusterError> {
        self.insist("read", async |context| {
            let stream = context.get_stream_no_info(stream).await.map_err(Trouble::again)?;
            match stream.get_last_raw_message_by_subject(subject).await {
                Ok(message) => Ok(Some((message.sequence, message.payload.to_vec()))),
                Err(error) => match error.kind() {
                    LastRawMessageErrorKind::NoMessageFound => Ok(None),
                    LastRawMessageErrorKind::JetStream(error) if error.code() == 404 => Ok(None),
                    _ => Err(Trouble::again(error)),
                },
            }
        })
    }

    /// Removes the messages with this subject from a stream.
    pub(crate) fn remove(&self, stream: &str, subject: &str) -> Result<(), ClusterError> {
        self.insist("remove a message", async |context| {
            let stream = context.get_stream_no_info(stream).await.map_err(Trouble::again)?;
            stream.purge().filter(subject).await.map(|_| ()).map_err(Trouble::again)
        })
    }

    /// The bucket of a search.
    pub(crate) fn bucket(&self, name: &str) -> Result<ObjectStore, ClusterError> {
        self.insist("open a bucket", async |context| {
            if let Ok(bucket) = context.get_object_store(name).await {
                return Ok(bucket);
            }
            let config = jetstream::object_store::Config { bucket: name.into(), ..Default::default() };
            context.create_object_store(config).await.map_err(Trouble::again)
        })
    }

    /// Stores an object if it is not there.
    pub(crate) fn put(&self, bucket: &ObjectStore, name: &str, bytes: &[u8]) -> Result<(), ClusterError> {
        self.insist("store an object", async |_| {
            if bucket.info(name).await.is_ok() {
                return Ok(());
            }
            let mut from = bytes;
            bucket.put(name, &mut from).await.map(|_| ()).map_err(Trouble::again)
        })
    }

    /// Reads an object.
    pub(crate) fn get(&self, bucket: &str, name: &str, into: &mut dyn Write) -> Result<(), ClusterError> {
        let bytes = self.insist("send an object", async |context| {
            let bucket = context.get_object_store(bucket).await.map_err(Trouble::again)?;
            let mut object = bucket.get(name).await.map_err(Trouble::again)?.take(MOST_BYTES);
            let mut bytes = Vec::new();
            object.read_to_end(&mut bytes).await.map_err(Trouble::again)?;
            Ok(bytes)
        })?;
        into.write_all(&bytes).map_err(|error| ClusterError::Unfit(error.to_string()))
    }
}

/// Whether an answer says that there is no JetStream for this account.
fn is_error(answer: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(answer).map_or(true, |answer| !answer["error"].is_null())
}

/// What it means that a message was not stored.
fn refused(error: &jetstream::context::PublishError) -> Result<bool, Trouble> {
    match error.kind() {
        PublishErrorKind::WrongLastSequence => Ok(false),
        PublishErrorKind::MaxPayloadExceeded => {
            Err(Trouble::Never(ClusterError::Server { what: "take a message of this size", why: error.to_string() }))
        }
        _ => Err(Trouble::again(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never() -> bool {
        false
    }

    #[test]
    fn secrets_are_never_shown() {
        for url in ["nats://user:secret@host:4222", "tls://secret@host", "user:secret@host"] {
            let access = ServerAccess { url: url.into(), password: Some("secret".into()), ..ServerAccess::default() };
            assert!(!format!("{access:?} {}", access.server()).contains("secret"), "{url}");
            assert!(access.server().contains("host"));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_a_sentence() {
        for url in ["http://host", "nats://", "a b"] {
            let access = ServerAccess { url: url.into(), ..ServerAccess::default() };
            let error = ServerConnection::open(&access, "test", never).unwrap_err();
            assert!(matches!(error, ClusterError::Address(_) | ClusterError::Unreachable { .. }), "{url}: {error}");
        }
    }

    #[test]
    fn files_that_are_not_there_are_named() {
        let access = ServerAccess {
            url: "nats://127.0.0.1:1".into(),
            credentials: Some("/no/such".into()),
            ..ServerAccess::default()
        };
        assert!(ServerConnection::open(&access, "test", never).unwrap_err().to_string().starts_with("/no/such: "));
    }
}
