//! What one record says.

use raddle_model::object::ThreadOp;
use raddle_model::weak::AtomicDetail;
use raddle_model::{
    Access, AccessKind, Event, Execution, HeldRead, Op, Operation as _, Pending, PendingState, StateKey,
};
use raddle_vocab::{MappingChange, MemOrder, OpKind, Outcome, Words};
use raddle_wire::record::{self, flag};

use super::DecodeErrorKind;

/// The first word of a record, taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub kind: u8,
    pub flags: u8,
    pub tid: u16,
    pub count: u32,
}

impl Header {
    #[inline]
    pub fn parse(word: u64) -> Self {
        let (kind, flags, tid, count) = record::parse_header(word);
        Header { kind, flags, tid, count }
    }
}

/// An access that follows so many events.
#[inline]
pub(super) fn access_of(header: Header, body: &[u64], after: u32) -> Access {
    let (pc, extra) = record::unpack_pc(body[1]);
    let (kind, size) = match header.kind {
        record::READ => (AccessKind::Read, u64::from(extra)),
        record::WRITE => (AccessKind::Write, u64::from(extra)),
        record::READ_RANGE => (AccessKind::Read, body[2]),
        record::WRITE_RANGE => (AccessKind::Write, body[2]),
        record::ALLOC => (AccessKind::Alloc, body[2]),
        record::MAPPING => {
            // What no target writes drops the memory, which conflicts with all.
            let change = MappingChange::from_byte(extra as u8).unwrap_or(MappingChange::Unmap);
            (AccessKind::Mapping(change), body[2])
        }
        _ => (AccessKind::Free, body[2]),
    };
    // No object reaches beyond the end of the address space; readers may add the two.
    let size = size.min(u64::MAX - body[0]);
    Access {
        thread: header.tid,
        kind,
        volatile: header.flags & flag::VOLATILE != 0,
        addr: body[0],
        size,
        pc,
        after,
        count: header.count,
    }
}

/// All accesses of a trace that was decoded without an error.
pub fn plain_accesses(words: &[u64]) -> impl Iterator<Item = Access> {
    let mut rest = words;
    let mut events = 0;
    std::iter::from_fn(move || {
        loop {
            let header = Header::parse(*rest.first()?);
            let (body, tail) = rest.split_at_checked(record::words(header.kind, header.count)?)?;
            rest = tail;
            let is_pending = header.flags & flag::PENDING != 0;
            match header.kind {
                _ if is_pending => {}
                kind if OpKind::from_byte(kind).is_some() => events += 1,
                record::READ
                | record::WRITE
                | record::READ_RANGE
                | record::WRITE_RANGE
                | record::ALLOC
                | record::FREE
                | record::MAPPING => return Some(access_of(header, &body[1..], events)),
                _ => {}
            }
        }
    })
}

/// What a target says of the atomic operation before, or of the one that a thread stands before at
/// the end: one time at most.
pub(super) fn atomic_detail(header: Header, body: &[u64], into: &mut Execution) -> Result<(), DecodeErrorKind> {
    let (behind, how) = (u16::try_from(header.count), u8::try_from(body[1]));
    let (Ok(behind), Ok(how)) = (behind, how) else { return Err(DecodeErrorKind::StrayDetail) };
    let is_pending = header.flags & flag::PENDING != 0;
    let (event, operand) = match into.events.len().checked_sub(1) {
        _ if is_pending => (u32::from(header.tid), body[0]),
        Some(last) if into.events[last].thread == header.tid && into.events[last].op.as_atomic().is_some() => {
            (last as u32, body[0])
        }
        _ => return Err(DecodeErrorKind::StrayDetail),
    };
    let details = if is_pending { &mut into.pending_details } else { &mut into.details };
    if details.last().is_some_and(|last| last.event >= event) {
        return Err(DecodeErrorKind::StrayDetail);
    }
    details.push(AtomicDetail { event, behind, how, operand });
    Ok(())
}

/// The key of the state behind the events so far.
pub(super) fn key(header: Header, body: &[u64], into: &mut Execution) {
    if header.flags & flag::PENDING != 0 {
        into.keys = vec![StateKey::REVOKED];
    } else if into.keys.len() <= into.events.len() {
        into.keys.resize(into.events.len(), StateKey::UNKNOWN);
        let is_known = body[0] != 0;
        if !is_known {
            crate::limits::log_no_key(body[1], into.events.len());
        }
        let key = StateKey(u128::from(body[0]) | u128::from(body[1]) << 64);
        into.keys.push(if is_known { key } else { StateKey::UNKNOWN });
    }
}

/// The pending operation of a thread that did not record it.
pub(super) fn unknown_pending(thread: u16) -> Pending {
    let event = Event::new(thread, Op::Thread(ThreadOp::Start));
    Pending { event, state: PendingState::Enabled, found: 0 }
}

/// An event is a function of its words.
pub(super) fn parse_event(
    header: Header,
    kind: OpKind,
    body: &[u64; record::STEP_WORDS],
) -> Result<Event, DecodeErrorKind> {
    let &[_, obj, packed, arg, value, old] = body;
    let (pc, extra) = record::unpack_pc(packed);
    let (order, outcome, log_size) = record::parse_step_extra(extra);
    let order = MemOrder::from_byte(order).ok_or(DecodeErrorKind::Order(order))?;
    let outcome = Outcome::from_byte(outcome).ok_or(DecodeErrorKind::Outcome(outcome))?;
    let (outside, exposed) = (log_size & record::OUTSIDE != 0, log_size & record::EXPOSED != 0);
    let log_size = log_size & !(record::OUTSIDE | record::EXPOSED);
    if log_size > 31 {
        return Err(DecodeErrorKind::Size(log_size));
    }
    let op = Op::unpack(&Words { kind, outcome, order, size: 1 << log_size, outside, obj, arg, value, old })?;
    Ok(Event { thread: header.tid, pc, accesses: header.count, held: HeldRead::NONE, exposed, op })
}

/// The text in the words of a text record.
pub(super) fn text(body: &[u64], length: u32) -> String {
    let bytes: Vec<u8> = body.iter().flat_map(|word| word.to_le_bytes()).take(length as usize).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
