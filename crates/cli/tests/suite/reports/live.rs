//! The live view: which requests it answers, and what it shows.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use super::browser::drive;
use crate::common::{Place, raddle};

/// A search that takes a while: five threads that each take a lock twice.
const LONG: &str = r"
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int racy;
static void *work(void *arg) {
    for (int i = 0; i < 3; i++) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }
    racy++;
    return arg;
}
int main(void) {
    pthread_t t[5];
    for (int i = 0; i < 5; i++) pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 5; i++) pthread_join(t[i], 0);
    return 0;
}
";

struct Running {
    child: Child,
    url: String,
    _place: Place,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

fn running() -> Running {
    let place = Place::new();
    place.write("long.c", LONG);
    let mut command = place.command(raddle());
    command.args(["check", "--serve", "--time-limit", "1000", "long.c"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    let url = loop {
        line.clear();
        assert_ne!(errors.read_line(&mut line).unwrap(), 0, "there is no address");
        if let Some(url) = line.trim().strip_prefix("raddle: live view at ") {
            break url.to_string();
        }
    };
    // Whatever else it says must not fill the pipe.
    std::thread::spawn(move || errors.read_to_end(&mut Vec::new()));
    Running { child, url, _place: place }
}

fn ask(address: &str, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_running_search_is_shown_only_with_the_token() {
    let search = running();
    let rest = search.url.strip_prefix("http://").unwrap();
    let (address, path) = rest.split_once('/').unwrap();
    let path = format!("/{path}");
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    assert_eq!(path.len(), 34);
    assert!(ask(address, &path, address).starts_with("HTTP/1.1 200"));
    let state = ask(address, &format!("{path}state"), address);
    assert!(state.contains("\"runs\"") && state.contains("\"depths\""), "{state}");
    for (path, host) in [
        ("/", address),
        ("/state", address),
        ("/00000000000000000000000000000000/", address),
        (path.as_str(), "evil.example"),
        (path.as_str(), "localhost"),
    ] {
        let answer = ask(address, path, host);
        assert!(answer.starts_with("HTTP/1.1 403") && !answer.contains("\"runs\""), "{path} {host}: {answer}");
    }
    let done = drive("live.js", &search.url);
    assert!(done.stdout.contains("all fine"), "{}", done.all());
}
