//! The other side of a connection: threads of the runtime that follow the scripts of the host
//! (`raddle_wire::script`). What such a party does are transitions on sockets, as those of the
//! program are.
//!
//! A step of a party is enabled only when it can be done as a whole: a client connects when the
//! program listens; `expect` takes its bytes when all are there, or when it is certain that they
//! never will be. So a party adds one transition for each line of its script. What it has not taken
//! stays in the buffer of its socket; where that is full, the party takes what is there.

use core::ffi::CStr;

use raddle_vocab::party::{MAX_PARTIES, Party, PartyRole};
use raddle_vocab::{Failure, OpKind, Outcome, io};
use raddle_wire::script::{self, DATA_BYTES, HOST_BYTES, MAX_STEPS, ScriptParty, ScriptStep, Scripts, action};

use super::address::Address;
use super::connect::{self, Asked, bound_to, touched};
use super::data::{Pieces, drop_bytes, look, send_part};
use super::readiness::{self, has_room_to_wait, waiting};
use super::{ROOM, Socket, SocketPhase, make, shut, socket};
use crate::interpose::io::partial::Portion;
use crate::interpose::io::slots;
use crate::interpose::process::failure;
use crate::interpose::thread::lifecycle;
use crate::sched::enabled::{CanStep, enabled};
use crate::sched::{self, virtual_time};
use crate::state::{AnnouncedOp, ThreadStatus, process, run};
use crate::trace;

/// Bytes of an explanation, at most.
const TEXT: usize = 900;
/// Bytes of data that an explanation shows, at most.
const SHOWN: usize = 200;

/// What a party waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartyWait {
    /// Nothing but its turn.
    None,
    /// That the program listens where it connects to.
    Listener,
    /// That the program connects.
    Caller,
    /// Room for what it sends, of which so many bytes are sent.
    Room {
        /// Bytes sent.
        sent: u32,
    },
    /// What the step with this number says, of which it has taken so many bytes.
    Step {
        /// Number of the step.
        step: u32,
        /// Bytes taken.
        taken: u32,
    },
}

/// The scripts; empty if the host has given none.
fn scripts() -> &'static Scripts {
    // SAFETY: the file has at least this part, is mapped for ever, and the host does not change it
    // after the start.
    unsafe { &*process().file.add(script::OFFSET).cast::<Scripts>() }
}

/// Where connections are recorded: there are no parties then.
pub fn log_path() -> &'static CStr {
    CStr::from_bytes_until_nul(&scripts().data).unwrap_or_default()
}

/// All parties.
fn parties() -> &'static [ScriptParty] {
    let scripts = scripts();
    &scripts.parties[..(scripts.parties_used as usize).min(MAX_PARTIES)]
}

/// Whether all numbers lie where they should.
pub fn is_sound() -> bool {
    let scripts = scripts();
    let steps = scripts.steps_used as usize;
    let fits = |start: u32, len: u32, most: usize| start as usize + len as usize <= most;
    scripts.parties_used as usize <= MAX_PARTIES
        && steps <= MAX_STEPS
        && parties().iter().all(|party| {
            fits(party.first_step, party.steps, steps)
                && party.address_len as usize <= party.address.len()
                && Party::of_component(party.component).is_some()
                && party.host[HOST_BYTES - 1] == 0
        })
        && scripts.steps[..steps].iter().all(|step| fits(step.data, step.len, DATA_BYTES))
}

fn address(party: &ScriptParty) -> Address {
    Address::of(&party.address[..party.address_len as usize])
}

fn data(step: &ScriptStep) -> &'static [u8] {
    &scripts().data[step.data as usize..][..step.len as usize]
}

/// Main creates all parties, before the program runs.
pub fn create_all() {
    for (number, script) in parties().iter().enumerate() {
        let Some(party) = Party::of_component(script.component) else { continue };
        if party.role == PartyRole::Peer {
            listen(script, party);
        }
        lifecycle::create_party(party, number);
    }
}

/// A socket at which the program finds the peer. Of several at one address, the first comes first.
fn listen(script: &ScriptParty, party: Party) {
    let address = address(script);
    let Some(index) = make(address.family(), libc::SOCK_STREAM) else { return };
    let this = socket(index);
    (this.phase, this.local, this.is_bound) = (SocketPhase::Listening, address, true);
    (this.thing, this.bound_at) = (address.endpoint(libc::SOCK_STREAM).thing(), u32::MAX - u32::from(party.number));
    (this.users, this.backlog, this.script) = (1, 0, script.component);
}

/// Whether the address is that of a peer, which may have been called already.
pub fn is_peer(target: &Address) -> bool {
    let is_it = |script: &ScriptParty| {
        let own = address(script);
        let is_inet = own.family() != libc::AF_UNIX;
        is_peer_role(script) && is_inet && own.port() == target.port() && own.meets(target)
    };
    parties().iter().any(is_it)
}

fn is_peer_role(script: &ScriptParty) -> bool {
    Party::of_component(script.component).is_some_and(|party| party.role == PartyRole::Peer)
}

/// The address of the peer that the program looks up by this name.
pub fn host_address(name: &[u8]) -> Option<Address> {
    let is_it = |script: &&ScriptParty| {
        let end = script.host.iter().position(|&byte| byte == 0).unwrap_or(HOST_BYTES);
        end > 0 && script.host[..end].eq_ignore_ascii_case(name)
    };
    parties().iter().find(is_it).map(address)
}

/// Where a client can connect now: through either of the Internet protocols.
fn open_target(wanted: &Address) -> Option<Address> {
    let other = (wanted.family() == libc::AF_INET).then(|| Address::loopback(libc::AF_INET6, wanted.port()));
    let is_open = |target: &Address| {
        let listener =
            bound_to(target, libc::SOCK_STREAM, |socket| socket.phase == SocketPhase::Listening && socket.script == 0);
        listener.is_some_and(has_room_to_wait)
    };
    [Some(*wanted), other].into_iter().flatten().find(is_open)
}

/// A party at work.
struct Player {
    party: Party,
    script: &'static ScriptParty,
    /// Its socket.
    index: usize,
}

/// The body of a party's thread. The argument is its number among all parties.
pub extern "C-unwind" fn play(number: usize) -> usize {
    let Some(script) = parties().get(number) else { return 0 };
    let Some(party) = Party::of_component(script.component) else { return 0 };
    let made = match party.role {
        PartyRole::Client => make(address(script).family(), libc::SOCK_STREAM),
        PartyRole::Peer => super::all().find(|&index| socket(index).script == script.component),
    };
    let Some(index) = made else { return 0 };
    let mut player = Player { party, script, index };
    player.begin();
    let first = script.first_step;
    let is_open = (first..first + script.steps).all(|step| player.step(step));
    if is_open {
        let last = (first + script.steps).checked_sub(1).filter(|_| script.steps > 0);
        player.close(last.map_or(0, |last| scripts().steps[last as usize].line), false);
    }
    0
}

impl Player {
    /// Waits for its turn.
    fn turn(&self, line: u32, wait: PartyWait, second: Option<u32>) {
        let private = &mut run().me().private;
        (private.socket, private.party_wait) = (self.index as u16 + 1, wait);
        let events = match wait {
            PartyWait::Caller => io::WAITS_FOR_CALLER,
            _ => io::WAITS_FOR_PROGRAM,
        };
        let arg = io::waits_for(-1, events) | second.map_or(0, io::and);
        let object = io::file(socket(self.index).thing);
        let op = AnnouncedOp::new(OpKind::Io, object, slots::may_make_ready(arg), self.party.place(line));
        sched::arrive(op);
        sched::commit(&op, Outcome::Done, 0, 0);
        let private = &mut run().me().private;
        (private.socket, private.party_wait) = (0, PartyWait::None);
    }

    /// Makes the connection.
    fn begin(&mut self) {
        match self.party.role {
            PartyRole::Client => {
                let wanted = address(self.script);
                socket(self.index).users = 1;
                socket(self.index).remote = wanted;
                self.turn(0, PartyWait::Listener, touched(&wanted, libc::SOCK_STREAM));
                let target = open_target(&wanted).unwrap_or(wanted);
                let this = socket(self.index);
                (this.domain, this.remote) = (target.family(), target);
                if !matches!(connect::ask(self.index), Asked::Made) {
                    self.fails(0, b"there is no room for its connection");
                }
            }
            PartyRole::Peer => {
                let listener = self.index;
                self.turn(0, PartyWait::Caller, None);
                if let Some(end) = connect::accept(listener) {
                    socket(end).users = 1;
                    self.index = end;
                }
                *socket(listener) = Socket::UNUSED;
            }
        }
        sched::changed_channels();
    }

    /// Performs a step. False if there is no connection behind it.
    fn step(&self, number: u32) -> bool {
        let step = &scripts().steps[number as usize];
        match step.action {
            action::SEND => self.send(step),
            action::SHUTDOWN => {
                self.turn(step.line, PartyWait::None, None);
                // One that is closed already has nothing to shut down.
                let _ = connect::shut_down(self.index, libc::SHUT_WR);
                sched::changed_channels();
            }
            action::DELAY => virtual_time::slept(step.amount),
            action::CLOSE | action::RESET => {
                self.close(step.line, step.action == action::RESET);
                return false;
            }
            _ => self.expect(number, step),
        }
        true
    }

    /// Sends bytes. What the program no longer takes is lost, as in a network.
    fn send(&self, step: &ScriptStep) {
        let bytes = data(step);
        let mut sent = 0;
        while sent < bytes.len() {
            self.turn(step.line, PartyWait::Room { sent: sent as u32 }, None);
            let piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            let result = send_part(self.index, &Pieces::new(&raw const piece, 1), sent, Portion::All);
            sched::changed_channels();
            match result {
                Ok(len) => sent += len,
                Err(libc::EAGAIN) => {}
                Err(_) => return,
            }
        }
    }

    /// Takes what the step expects.
    fn expect(&self, number: u32, step: &ScriptStep) {
        let mut taken = 0;
        loop {
            self.turn(step.line, PartyWait::Step { step: number, taken }, None);
            let progress = progress(self.index, step, taken);
            if progress.is_wrong {
                self.fails_expectation(step, taken);
            }
            if progress.take > 0 {
                drop_bytes(self.index, progress.take as usize);
                super::data::freed(self.index);
                sched::changed_channels();
            }
            taken += progress.take;
            if progress.is_done {
                return;
            }
        }
    }

    /// Ends the connection.
    fn close(&self, line: u32, is_hard: bool) {
        self.turn(line, PartyWait::None, None);
        socket(self.index).users = 0;
        socket(self.index).ends_hard = is_hard;
        connect::ended(self.index, self.party.place(line));
        sched::changed_channels();
    }

    fn fails_expectation(&self, step: &ScriptStep, taken: u32) -> ! {
        let mut text = Text::new();
        text.add_expectation(step);
        let is_short = step.action != action::EXPECT_CLOSE && !differs(self.index, step, taken);
        text.add(if is_short { b", but the connection ended behind " } else { b", but received " });
        text.add_received(self.index, step, taken);
        self.fails(step.line, text.bytes())
    }

    fn fails(&self, line: u32, text: &[u8]) -> ! {
        failure::stop_thread(Failure::Script, 0, self.party.place(line), text)
    }
}

/// Whether nothing more comes.
fn is_over(socket: &Socket) -> bool {
    socket.is_finished || socket.phase != SocketPhase::Connected || socket.error != 0 || socket.shut & shut::READ != 0
}

/// How far a step can go with what is there.
struct StepProgress {
    /// Bytes to take.
    take: u32,
    /// Whether it ends with them.
    is_done: bool,
    /// Whether it is certain that the expectation is never met.
    is_wrong: bool,
}

impl StepProgress {
    /// Whether the party need not wait.
    fn is_any(&self) -> bool {
        self.take > 0 || self.is_done || self.is_wrong
    }
}

fn progress(index: usize, step: &ScriptStep, taken: u32) -> StepProgress {
    let this = socket(index);
    let (there, is_over, bytes) = (this.len, is_over(this), data(step));
    let is_full = there as usize == ROOM;
    let whole = |needed: u64| {
        let is_done = u64::from(there) >= needed;
        let take = if is_done { needed as u32 } else { there };
        StepProgress { take: if is_done || is_full { take } else { 0 }, is_done, is_wrong: !is_done && is_over }
    };
    match step.action {
        action::EXPECT => {
            let progress = whole(u64::from(step.len - taken));
            StepProgress { is_wrong: progress.is_wrong || differs(index, step, taken), ..progress }
        }
        action::EXPECT_BYTES => whole(step.amount - u64::from(taken).min(step.amount)),
        action::EXPECT_UNTIL => {
            let (there, len) = (there as usize, bytes.len());
            let ends_at = |end: &usize| (0..len).all(|at| byte(index, end - len + at) == bytes[at]);
            match (len..=there).find(ends_at) {
                Some(end) => StepProgress { take: end as u32, is_done: true, is_wrong: false },
                // What the delimiter may begin in stays.
                None if is_full => StepProgress { take: (there + 1 - len) as u32, is_done: false, is_wrong: false },
                None => StepProgress { take: 0, is_done: false, is_wrong: is_over },
            }
        }
        _ => StepProgress { take: 0, is_done: there == 0 && is_over, is_wrong: there > 0 },
    }
}

/// Whether other bytes have come than those that the step expects.
fn differs(index: usize, step: &ScriptStep, taken: u32) -> bool {
    if step.action != action::EXPECT {
        return false;
    }
    let rest = &data(step)[taken as usize..];
    (0..rest.len().min(socket(index).len as usize)).any(|at| byte(index, at) != rest[at])
}

/// A byte that waits at the socket.
fn byte(index: usize, at: usize) -> u8 {
    let mut byte = 0;
    look(index, at, &raw mut byte, 1);
    byte
}

/// Whether the party of a connection can go on by its script; `None` if it is at no step of it.
pub fn can_follow_script(thing: u32) -> Option<bool> {
    let is_it = |&tid: &usize| {
        let private = &run().fibers[tid].private;
        let socket_index = usize::from(private.socket).checked_sub(1);
        let is_of_thing = socket_index.is_some_and(|index| socket(index).thing == thing);
        is_of_thing && matches!(private.party_wait, PartyWait::Step { .. })
    };
    (0..run().threads).find(is_it).map(can_go_on)
}

/// Whether the party with this thread can make its next step.
pub fn can_go_on(tid: usize) -> bool {
    let private = &run().fibers[tid].private;
    let Some(index) = usize::from(private.socket).checked_sub(1) else { return true };
    match private.party_wait {
        PartyWait::None => true,
        PartyWait::Listener => open_target(&socket(index).remote).is_some(),
        PartyWait::Caller => waiting(index).next().is_some(),
        PartyWait::Room { .. } => readiness::can_go_on(index, libc::POLLOUT),
        PartyWait::Step { step, taken } => progress(index, &scripts().steps[step as usize], taken).is_any(),
    }
}

/// Whether every party is done, or was never called.
pub fn are_done() -> bool {
    let is_done = |tid: usize| {
        let fiber = &run().fibers[tid];
        fiber.private.party.is_none()
            || fiber.status == ThreadStatus::Ended
            || fiber.status == ThreadStatus::Pending && fiber.private.party_wait == PartyWait::Caller
    };
    (0..run().threads).all(is_done)
}

/// At the end of a run: says what parties wait for. If the program has ended, they wait for ever.
pub fn report_at_rest() {
    let run = run();
    let can_step = |tid: usize| enabled(tid) != CanStep::No;
    let has_failed = |tid: usize| run.fibers[tid].status == ThreadStatus::Failed;
    if parties().is_empty() || (0..run.threads).any(|tid| can_step(tid) || has_failed(tid)) {
        return;
    }
    for tid in 0..run.threads {
        let fiber = &run.fibers[tid];
        if let Some(number) = fiber.private.party
            && fiber.status == ThreadStatus::Pending
        {
            report(tid, &parties()[usize::from(number)], fiber.private.party_wait);
        }
    }
}

fn report(tid: usize, script: &ScriptParty, wait: PartyWait) {
    let has_ended = run().exit.is_some();
    let index = usize::from(run().fibers[tid].private.socket).saturating_sub(1);
    let mut text = Text::new();
    match wait {
        PartyWait::None | PartyWait::Caller => return,
        PartyWait::Listener => {
            text.add(b"the program to listen at ");
            text.add_address(&address(script));
            text.add(if has_ended { b", but it ended" } else { b"" });
        }
        PartyWait::Room { .. } => {
            text.add(b"the program to take what it sends");
            text.add(if has_ended { b", but it ended" } else { b"" });
        }
        PartyWait::Step { step, taken } => {
            let step = &scripts().steps[step as usize];
            // The end of the program closes its connections.
            if step.action == action::EXPECT_CLOSE && has_ended {
                return;
            }
            text.add_expectation(step);
            text.add(if has_ended { b", but the program ended behind " } else { b" and has received " });
            text.add_received(index, step, taken);
        }
    }
    let failure = if has_ended { Failure::Script } else { Failure::ScriptWaits };
    trace::failure_at_rest(tid, failure, text.bytes());
}

/// An explanation that is put together.
struct Text {
    bytes: [u8; TEXT],
    len: usize,
}

impl Text {
    fn new() -> Text {
        Text { bytes: [0; TEXT], len: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn add(&mut self, part: &[u8]) {
        let len = part.len().min(TEXT - self.len);
        self.bytes[self.len..self.len + len].copy_from_slice(&part[..len]);
        self.len += len;
    }

    fn add_number(&mut self, number: u64) {
        let (mut digits, mut at, mut rest) = ([0u8; 20], 20, number);
        while at == 20 || rest > 0 {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.add(&digits[at..]);
    }

    fn add_byte(&mut self, byte: u8) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        match byte {
            b'\n' => self.add(b"\\n"),
            b'\r' => self.add(b"\\r"),
            b'\t' => self.add(b"\\t"),
            b'"' | b'\\' => self.add(&[b'\\', byte]),
            b' '..=b'~' => self.add(&[byte]),
            _ => self.add(&[b'\\', b'x', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]),
        }
    }

    /// Bytes in quotes, as far as they are shown.
    fn add_quoted(&mut self, bytes: impl Iterator<Item = u8>) {
        let mut bytes = bytes.peekable();
        self.add(b"\"");
        for byte in bytes.by_ref().take(SHOWN) {
            self.add_byte(byte);
        }
        self.add(if bytes.peek().is_some() { b"\"..." } else { b"\"" });
    }

    fn add_expectation(&mut self, step: &ScriptStep) {
        match step.action {
            action::EXPECT => self.add_quoted(data(step).iter().copied()),
            action::EXPECT_BYTES => {
                self.add_number(step.amount);
                self.add(b" bytes");
            }
            action::EXPECT_UNTIL => {
                self.add(b"bytes up to ");
                self.add_quoted(data(step).iter().copied());
            }
            _ => self.add(b"the end of the connection"),
        }
    }

    /// What has come for the step.
    fn add_received(&mut self, index: usize, step: &ScriptStep, taken: u32) {
        let there = socket(index).len as usize;
        if taken == 0 && there == 0 {
            return self.add(b"nothing");
        }
        let earlier = if step.action == action::EXPECT { &data(step)[..taken as usize] } else { &[] };
        if earlier.is_empty() && taken > 0 {
            self.add_number(u64::from(taken));
            self.add(b" bytes and ");
        }
        self.add_quoted(earlier.iter().copied().chain((0..there).map(|at| byte(index, at))));
    }

    fn add_address(&mut self, address: &Address) {
        if address.family() == libc::AF_UNIX {
            let name = address.name();
            let end = name.iter().skip(1).position(|&byte| byte == 0).map_or(name.len(), |end| end + 1);
            return self.add_quoted(name[..end].iter().copied());
        }
        self.add(b"port ");
        self.add_number(u64::from(address.port()));
    }
}
