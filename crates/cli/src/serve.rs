//! The live view of a search (`--serve`): a page on a loopback address, protected by a token.
//!
//! A request must name the token in its path and this server in its `Host` header. A foreign page
//! that runs in the user's browser cannot guess the token. It cannot read the answer through a host
//! name that it resolves to this machine (DNS rebinding) either, because the header then has that
//! name.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use raddle_model::Estimate;
use raddle_model::finding::{Finding, Report, Stats};
use serde_json::{Value, json};

const PAGE: &str = include_str!("serve/page.html");
/// Longer requests come from no known client.
const LONGEST_REQUEST: u64 = 16 << 10;
/// How long a client may take to send its request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Points of the curve; every second one is dropped when there are twice as many.
const POINTS: usize = 500;
/// Events of an execution that share a bar of the histogram.
const BUCKET: usize = 5;
/// How long the end of a search waits until an open page has fetched the verdict.
const FAREWELL: Duration = Duration::from_millis(1500);

/// What the page shows.
#[derive(Default)]
struct State {
    program: String,
    /// Runs of all searches, as the report counts them, and their events.
    runs: u64,
    events: u64,
    estimate: Option<Estimate>,
    /// Seconds and runs.
    curve: Vec<(f64, u64)>,
    depths: BTreeMap<usize, u64>,
    findings: Vec<Value>,
    verdict: Option<Value>,
    asked: Option<Instant>,
    told_verdict: bool,
}

/// A running view.
pub struct Live {
    state: Arc<Mutex<State>>,
    started: Instant,
    next_point: Duration,
    pause: Duration,
    url: String,
}

impl Live {
    /// Opens the view for a program.
    ///
    /// # Errors
    /// If there is no loopback address, or no randomness.
    pub fn open(program: &str) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let token = token()?;
        let state = Arc::new(Mutex::new(State { program: program.into(), ..State::default() }));
        let url = format!("http://{address}/{token}/");
        let shared = Arc::clone(&state);
        std::thread::Builder::new().name("live view".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, token) = (Arc::clone(&shared), token.clone());
                // A silent client must not block the others.
                let _ = std::thread::Builder::new().spawn(move || answer(stream, address, &token, &shared));
            }
        })?;
        let pause = Duration::from_millis(100);
        Ok(Live { state, started: Instant::now(), next_point: Duration::ZERO, pause, url })
    }

    /// The address of the page.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// An execution with so many events was examined.
    pub fn examined(&self, events: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state.depths.entry(events / BUCKET * BUCKET).or_default() += 1;
    }

    /// Another execution was made; `earlier` searches were made before.
    pub fn update(&mut self, stats: &Stats, earlier: &Stats, estimate: Option<Estimate>) {
        let elapsed = self.started.elapsed();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if elapsed < self.next_point {
            return;
        }
        self.next_point = elapsed + self.pause;
        (state.runs, state.events) = (earlier.runs() + stats.runs(), earlier.events + stats.events);
        state.estimate = estimate;
        let runs = state.runs;
        state.curve.push((elapsed.as_secs_f64(), runs));
        if state.curve.len() >= 2 * POINTS {
            let mut keep = false;
            state.curve.retain(|_| {
                keep = !keep;
                keep
            });
            self.pause *= 2;
        }
    }

    /// Something was found.
    pub fn finding(&self, finding: &Finding) {
        let told = json!({ "id": finding.id, "severity": finding.severity, "message": finding.message });
        self.state.lock().unwrap_or_else(PoisonError::into_inner).findings.push(told);
    }

    /// The search is over: an open page gets the verdict before the server ends.
    pub fn finish(&self, report: &Report) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.runs = report.stats.runs_in_all();
        state.events = state.events.max(report.stats.events);
        let runs = state.runs;
        state.curve.push((self.started.elapsed().as_secs_f64(), runs));
        state.verdict = Some(json!({ "word": report.verdict, "reason": report.reason }));
        let watched = state.asked.is_some_and(|asked| asked.elapsed() < 2 * FAREWELL);
        drop(state);
        let deadline = Instant::now() + FAREWELL;
        while watched && Instant::now() < deadline {
            if self.state.lock().unwrap_or_else(PoisonError::into_inner).told_verdict {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// 128 random bits.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A request as far as it matters.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    method: String,
    path: String,
    hosts: Vec<String>,
}

fn answer(stream: TcpStream, address: SocketAddr, token: &str, state: &Mutex<State>) {
    let limited = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    if limited.is_err() {
        return;
    }
    let Some(request) = read(&mut BufReader::new((&stream).take(LONGEST_REQUEST))) else { return };
    let response = respond(&request, address, token, state);
    // The client may have closed the connection.
    let _ = (&stream).write_all(&response);
}

fn read(input: &mut dyn BufRead) -> Option<Request> {
    let mut line = String::new();
    input.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
    let mut hosts = Vec::new();
    loop {
        let mut header = String::new();
        if input.read_line(&mut header).ok()? == 0 {
            return None;
        }
        let header = header.trim_end();
        if header.is_empty() {
            return Some(Request { method, path, hosts });
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("host")
        {
            hosts.push(value.trim().to_ascii_lowercase());
        }
    }
}

fn respond(request: &Request, address: SocketAddr, token: &str, state: &Mutex<State>) -> Vec<u8> {
    let port = address.port();
    let known = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let [host] = &request.hosts[..] else { return response(400, "text/plain", "one Host header, please\n") };
    if !known.contains(host) {
        return response(403, "text/plain", "this server has another name\n");
    }
    let Some(rest) = request.path.strip_prefix('/').and_then(|path| strip_token(path, token)) else {
        return response(403, "text/plain", "the address is not complete: use the one that raddle printed\n");
    };
    match (request.method.as_str(), rest) {
        ("GET" | "HEAD", "/") => response(200, "text/html; charset=utf-8", PAGE),
        ("GET" | "HEAD", "/state") => response(200, "application/json", &snapshot(state)),
        ("GET" | "HEAD", _) => response(404, "text/plain", "there is nothing here\n"),
        _ => response(405, "text/plain", "this view can only be looked at\n"),
    }
}

/// What follows the token, compared in a time that does not depend on how much of it is right.
fn strip_token<'a>(path: &'a str, token: &str) -> Option<&'a str> {
    let given = path.as_bytes().get(..token.len())?;
    let difference = given.iter().zip(token.as_bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    (difference == 0).then(|| path.get(token.len()..)).flatten()
}

fn snapshot(state: &Mutex<State>) -> String {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.asked = Some(Instant::now());
    state.told_verdict = state.verdict.is_some();
    json!({
        "program": state.program, "runs": state.runs, "events": state.events, "curve": state.curve,
        "estimate": state.estimate.map(|estimate| estimate.likely()),
        "depths": state.depths.iter().collect::<Vec<_>>(), "bucket": BUCKET,
        "findings": state.findings, "verdict": state.verdict,
    })
    .to_string()
}

fn response(status: u16, kind: &str, body: &str) -> Vec<u8> {
    let word = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        _ => "Method Not Allowed",
    };
    format!(
        "HTTP/1.1 {status} {word}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         X-Frame-Options: DENY\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(line: &str, hosts: &[&str]) -> String {
        let address: SocketAddr = "127.0.0.1:4000".parse().unwrap();
        let state = Mutex::new(State::default());
        let mut text = format!("{line} HTTP/1.1\r\n");
        for host in hosts {
            text += &format!("Host: {host}\r\n");
        }
        text += "\r\n";
        let request = read(&mut text.as_bytes()).unwrap();
        String::from_utf8(respond(&request, address, "abc123", &state)).unwrap().lines().next().unwrap().to_string()
    }

    #[test]
    fn only_the_token_and_the_own_name_let_in() {
        let fine = "HTTP/1.1 200 OK";
        assert_eq!(ask("GET /abc123/", &["127.0.0.1:4000"]), fine);
        assert_eq!(ask("GET /abc123/state", &["LOCALHOST:4000"]), fine);
        for (line, hosts) in [
            ("GET /", &["127.0.0.1:4000"][..]),
            ("GET /abc124/", &["127.0.0.1:4000"]),
            ("GET /abc12", &["127.0.0.1:4000"]),
            ("GET /é", &["127.0.0.1:4000"]),
            ("GET /abc123/", &["evil.example:4000"]),
            ("GET /abc123/", &["127.0.0.1:4001"]),
            ("GET /abc123/", &["127.0.0.1"]),
        ] {
            assert_eq!(ask(line, hosts), "HTTP/1.1 403 Forbidden", "{line} {hosts:?}");
        }
        assert_eq!(ask("GET /abc123/", &[]), "HTTP/1.1 400 Bad Request");
        assert_eq!(ask("GET /abc123/", &["127.0.0.1:4000", "evil.example"]), "HTTP/1.1 400 Bad Request");
        assert_eq!(ask("GET /abc123/x", &["127.0.0.1:4000"]), "HTTP/1.1 404 Not Found");
        assert_eq!(ask("POST /abc123/", &["127.0.0.1:4000"]), "HTTP/1.1 405 Method Not Allowed");
    }

    #[test]
    fn tokens_differ() {
        let (one, two) = (token().unwrap(), token().unwrap());
        assert!(one != two && one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }

    #[test]
    fn runs_are_counted_as_in_the_report() {
        let mut live = Live::open("x").unwrap();
        let earlier = Stats { executions: 100, blocked: 28, ..Stats::default() };
        live.update(&Stats { executions: 5, matched: 2, ..Stats::default() }, &earlier, None);
        assert_eq!(live.state.lock().unwrap().runs, 135);
    }

    #[test]
    fn long_searches_keep_a_short_curve() {
        let mut live = Live::open("x").unwrap();
        for number in 0..5000 {
            live.next_point = Duration::ZERO;
            live.examined(number as usize % 50);
            live.update(&Stats { executions: number, ..Stats::default() }, &Stats::default(), None);
        }
        let state = live.state.lock().unwrap();
        assert!(state.curve.len() <= 2 * POINTS);
        assert_eq!(state.depths.values().sum::<u64>(), 5000);
        assert_eq!(state.depths.len(), 10);
    }
}
