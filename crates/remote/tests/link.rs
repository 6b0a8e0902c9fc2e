//! Messages over connections that break, and what is not let in.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use raddle_remote::channel::Ending;
use raddle_remote::{AgentAddress, AgentEndpoint, Channel, Incoming, LinkError, Server, ServerLimits, Timing, Token};

const SOON: Duration = Duration::from_millis(20);

fn timing() -> Timing {
    Timing {
        heartbeat: Duration::from_millis(50),
        silence: Duration::from_millis(1500),
        patience: Duration::from_secs(4),
    }
}

fn anywhere() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// A server that runs as long as this.
struct Running {
    stop: Arc<AtomicBool>,
    address: SocketAddr,
    token: Token,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    fn new(sessions: usize, time: Option<Duration>, handler: impl Fn(Channel) + Send + Sync + 'static) -> Self {
        let token = Token::random().unwrap();
        let limits = ServerLimits { sessions, time, longest: 1 << 20, timing: timing() };
        let server = Server::listen(anywhere(), token.clone(), limits, Box::new(handler)).unwrap();
        let (address, stop) = (server.address().unwrap(), Arc::<AtomicBool>::default());
        let asked = Arc::clone(&stop);
        let thread = thread::spawn(move || server.run(|| asked.load(Ordering::Relaxed)));
        Running { stop, address, token, thread: Some(thread) }
    }

    fn endpoint(&self) -> AgentEndpoint {
        endpoint(self.address, self.token.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(thread::JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

fn endpoint(at: SocketAddr, token: Token) -> AgentEndpoint {
    let address = AgentAddress::Tcp { host: at.ip().to_string(), port: at.port() };
    AgentEndpoint { address, token, timing: timing() }
}

fn open(endpoint: &AgentEndpoint) -> Result<Channel, LinkError> {
    endpoint.open(Duration::ZERO, 1 << 26, || false)
}

/// Answers each message with a longer one.
fn echo(channel: Channel) {
    loop {
        match channel.receive(SOON) {
            Incoming::Message(bytes) => channel.send(bytes.repeat(3)),
            Incoming::Nothing => {}
            Incoming::Ended(_) => return,
        }
    }
}

/// Passes connections on, and cuts each after some bytes.
fn cutting(to: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(anywhere()).unwrap();
    let (at, cuts) = (listener.local_addr().unwrap(), Arc::<AtomicUsize>::default());
    let counted = Arc::clone(&cuts);
    thread::spawn(move || {
        for (number, here) in listener.incoming().enumerate() {
            let Ok(here) = here else { return };
            let there = TcpStream::connect(to).unwrap();
            // Some end in the first words, some in the middle of a message.
            let budget = [20, 300, 5000, 90_000, 400_000][number % 5] + number * 37;
            for (mut from, mut to) in
                [(here.try_clone().unwrap(), there.try_clone().unwrap()), (there.try_clone().unwrap(), here)]
            {
                let counted = Arc::clone(&counted);
                thread::spawn(move || {
                    let (mut left, mut bytes) = (budget, [0; 4096]);
                    while let Ok(count) = from.read(&mut bytes)
                        && count > 0
                    {
                        let passed = count.min(left);
                        left -= passed;
                        if to.write_all(&bytes[..passed]).is_err() {
                            break;
                        }
                        if left == 0 {
                            counted.fetch_add(1, Ordering::Relaxed);
                            break;
                        }
                    }
                    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                });
            }
        }
    });
    (at, cuts)
}

#[test]
fn each_message_comes_once_and_in_order_however_often_the_connection_breaks() {
    const MESSAGES: usize = 400;
    let server = Running::new(4, None, echo);
    let (at, cuts) = cutting(server.address);
    let endpoint = endpoint(at, server.token.clone());
    let channel = endpoint.open(Duration::from_secs(10), 1 << 26, || false).unwrap();
    let message = |number: usize| {
        let mut noise = number as u64;
        let next = move |_| {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (noise >> 33) as u8
        };
        (0..number * 13 % 4000 + 1).map(next).collect::<Vec<u8>>()
    };
    let (mut sent, mut received) = (0, 0);
    let begun = Instant::now();
    while received < MESSAGES {
        while sent < MESSAGES && sent < received + 50 {
            channel.send(message(sent));
            sent += 1;
        }
        match channel.receive(SOON) {
            Incoming::Message(bytes) => {
                assert_eq!(bytes, message(received).repeat(3), "answer {received}");
                received += 1;
            }
            Incoming::Nothing => assert!(begun.elapsed() < Duration::from_secs(100), "{received} answers"),
            Incoming::Ended(why) => panic!("{why:?} after {received} answers"),
        }
    }
    assert!(matches!(channel.receive(SOON), Incoming::Nothing), "an answer too many");
    assert!(cuts.load(Ordering::Relaxed) > 5, "{cuts:?} cuts");
}

#[test]
fn only_who_knows_the_token_is_let_in() {
    static SERVED: AtomicUsize = AtomicUsize::new(0);
    let server = Running::new(4, None, |channel| {
        SERVED.fetch_add(1, Ordering::Relaxed);
        echo(channel);
    });
    let wrong = open(&endpoint(server.address, Token::random().unwrap())).unwrap_err();
    assert!(wrong.to_string().contains("the token is wrong"), "{wrong}");
    assert_eq!(SERVED.load(Ordering::Relaxed), 0);
    let _channel = open(&server.endpoint()).unwrap();
    let begun = Instant::now();
    while SERVED.load(Ordering::Relaxed) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10));
        thread::sleep(SOON);
    }
}

/// What comes back to these bytes, until the other side closes the connection.
fn answer_to(at: SocketAddr, bytes: &[u8], pause: Duration) -> Vec<u8> {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for piece in bytes.chunks(if pause.is_zero() { bytes.len() } else { 1 }) {
        thread::sleep(pause);
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    // A connection with words that were not read any more ends like this.
    assert!(read.is_ok() || read.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
    answer
}

#[test]
fn garbage_giants_and_slow_words_are_refused() {
    let server = Running::new(4, None, |_| panic!("nothing of this is to be served"));
    let text = |bytes: &[u8], pause| String::from_utf8_lossy(&answer_to(server.address, bytes, pause)).into_owned();
    let other_protocol = text(b"\x12\0\0\0GET / HTTP/1.1\r\n\r\n", Duration::ZERO);
    assert!(other_protocol.contains("this is no raddle"), "{other_protocol}");
    let giant = text(&[0xff; 64], Duration::ZERO);
    assert!(giant.contains("a frame of 4294967295 bytes"), "{giant}");
    let begun = Instant::now();
    let slow = text(&[0x20, 0, 0, 0].repeat(10), Duration::from_millis(300));
    assert!(slow.contains("says nothing for too long"), "{slow}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_session_that_breaks_the_rules_is_ended() {
    let server = Running::new(4, None, echo);
    let channel = open(&server.endpoint()).unwrap();
    // The server takes a mebibyte.
    channel.send((0..(3 << 20) as u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect());
    let begun = Instant::now();
    loop {
        match channel.receive(SOON) {
            Incoming::Nothing => assert!(begun.elapsed() < Duration::from_secs(10)),
            Incoming::Ended(Ending::Told(why)) => {
                assert!(why.contains("longer than"), "{why}");
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}

fn ending(channel: &Channel) -> Ending {
    let begun = Instant::now();
    loop {
        match channel.receive(SOON) {
            Incoming::Ended(why) => return why,
            _ => assert!(begun.elapsed() < Duration::from_secs(20), "it does not end"),
        }
    }
}

#[test]
fn there_are_no_more_sessions_than_allowed_and_none_lasts_longer() {
    let server = Running::new(1, Some(Duration::from_secs(4)), echo);
    let first = open(&server.endpoint()).unwrap();
    let second = open(&server.endpoint()).unwrap_err();
    assert!(second.to_string().contains("no more may"), "{second}");
    assert!(matches!(ending(&first), Ending::Told(why) if why.contains("4 seconds")));
    let begun = Instant::now();
    while open(&server.endpoint()).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(10), "the place does not become free");
    }
}

#[test]
fn a_server_that_was_started_again_has_forgotten_the_session() {
    let first = Running::new(4, None, echo);
    let (at, token) = (first.address, first.token.clone());
    // A way that leads to the second server once the first is gone.
    let target = Arc::new(std::sync::Mutex::new(at));
    let listener = TcpListener::bind(anywhere()).unwrap();
    let way = listener.local_addr().unwrap();
    let leads = Arc::clone(&target);
    let open_ones = Arc::new(std::sync::Mutex::new(Vec::<TcpStream>::new()));
    let kept = Arc::clone(&open_ones);
    thread::spawn(move || {
        for here in listener.incoming() {
            let (mut here, mut there) = (here.unwrap(), TcpStream::connect(*leads.lock().unwrap()).unwrap());
            kept.lock().unwrap().extend([here.try_clone().unwrap(), there.try_clone().unwrap()]);
            let (mut back, mut from) = (here.try_clone().unwrap(), there.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut here, &mut there));
            thread::spawn(move || std::io::copy(&mut from, &mut back));
        }
    });
    let channel = open(&endpoint(way, token.clone())).unwrap();
    let limits = ServerLimits { sessions: 4, time: None, longest: 1 << 20, timing: timing() };
    let second = Server::listen(anywhere(), token, limits, Box::new(echo)).unwrap();
    *target.lock().unwrap() = second.address().unwrap();
    thread::spawn(move || second.run(|| false));
    open_ones.lock().unwrap().iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    assert!(matches!(ending(&channel), Ending::Lost(LinkError::Forgotten(_))));
}

#[test]
fn a_server_that_is_gone_is_named_and_a_host_that_is_gone_is_not_waited_for_without_end() {
    static ENDED: AtomicBool = AtomicBool::new(false);
    let server = Running::new(4, None, |channel| {
        echo(channel);
        ENDED.store(true, Ordering::Relaxed);
    });
    let endpoint = server.endpoint();
    let channel = open(&endpoint).unwrap();
    drop(server);
    assert!(matches!(ending(&channel), Ending::Told(why) if why.contains("stopped")));
    assert!(ENDED.load(Ordering::Relaxed));
    assert!(matches!(open(&endpoint), Err(LinkError::Unreachable(..))));
}
