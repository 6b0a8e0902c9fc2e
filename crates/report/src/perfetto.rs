//! Perfetto: a process per finding, a track per thread, a slice per event, and the locks held on a
//! track below.
//!
//! The message types have only those fields of Perfetto's trace protocol that are used here.

use prost::Message;

use crate::annotated::{AnnotatedTrace, Interval};
use crate::bundle::ReportBundle;

/// An event is shown as one microsecond, because schedules have no time.
const WIDTH: u64 = 1000;
/// The only writer of packets.
const SEQUENCE: u32 = 1;

/// A trace.
#[derive(Clone, PartialEq, Message)]
pub struct PerfettoTrace {
    /// Packets in order.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// A track or an event.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Number of the writer.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// An event.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// A track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// The number by which events refer to it.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Title.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// Set for a process.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// Set for a thread.
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    /// The track that it is shown below.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
}

/// A process.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessDescriptor {
    /// Number.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Title.
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// A thread.
#[derive(Clone, PartialEq, Message)]
pub struct ThreadDescriptor {
    /// Its process.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Number.
    #[prost(int32, optional, tag = "2")]
    pub tid: Option<i32>,
    /// Title.
    #[prost(string, optional, tag = "5")]
    pub thread_name: Option<String>,
}

/// The start or end of a slice, or an instant.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// More about it.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// 1 start, 2 end, 3 instant.
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Category.
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    /// Title.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
}

/// A name with a value.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// Value.
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    /// Name.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
}

const BEGIN: i32 = 1;
const END: i32 = 2;

/// The report as a trace file.
#[must_use]
pub fn render(run: &ReportBundle) -> Vec<u8> {
    let mut trace = PerfettoTrace::default();
    for (number, (finding, annotated)) in run.findings().enumerate() {
        let pid = number as i32 + 1;
        let title = format!("{}: {}", finding.id, finding.message);
        let process = ProcessDescriptor { pid: Some(pid), process_name: Some(title) };
        let uuid = Some(track(pid, 0));
        trace.packet.push(descriptor(TrackDescriptor { uuid, process: Some(process), ..TrackDescriptor::default() }));
        if let Some(annotated) = annotated {
            tracks(&mut trace, annotated, pid);
            events(&mut trace, annotated, pid);
        }
    }
    trace.encode_to_vec()
}

/// Numbers of tracks: one for the process, then three for each thread.
fn track(pid: i32, below: usize) -> u64 {
    (pid as u64) << 32 | below as u64
}

fn thread_track(pid: i32, thread: usize) -> u64 {
    track(pid, 1 + 3 * thread)
}

fn descriptor(descriptor: TrackDescriptor) -> TracePacket {
    TracePacket {
        trusted_packet_sequence_id: Some(SEQUENCE),
        track_descriptor: Some(descriptor),
        ..TracePacket::default()
    }
}

fn tracks(trace: &mut PerfettoTrace, annotated: &AnnotatedTrace, pid: i32) {
    for (number, lane) in annotated.threads.iter().enumerate() {
        let name = lane.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        let thread = ThreadDescriptor {
            pid: Some(pid),
            tid: Some(pid * 1000 + number as i32),
            thread_name: Some(format!("{}{name}", lane.thread)),
        };
        let uuid = thread_track(pid, number);
        trace.packet.push(descriptor(TrackDescriptor {
            uuid: Some(uuid),
            thread: Some(thread),
            parent_uuid: Some(track(pid, 0)),
            ..TrackDescriptor::default()
        }));
        for (offset, title) in [(1, "holds"), (2, "waits")] {
            trace.packet.push(descriptor(TrackDescriptor {
                uuid: Some(uuid + offset),
                name: Some(format!("{} {title}", lane.thread)),
                parent_uuid: Some(uuid),
                ..TrackDescriptor::default()
            }));
        }
    }
}

fn events(trace: &mut PerfettoTrace, annotated: &AnnotatedTrace, pid: i32) {
    for (at, event) in annotated.events.iter().enumerate() {
        let place = annotated.place(event);
        let mut annotations = Vec::new();
        let mut note = |name: &str, value: Option<String>| {
            if value.is_some() {
                annotations.push(DebugAnnotation { name: Some(name.into()), string_value: value });
            }
        };
        let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
        note("place", place.file.as_ref().map(|file| format!("{file}{line}")));
        note("function", place.function.clone());
        note("value", event.value.clone());
        note("mark", event.mark.map(|mark| mark.to_string()));
        let start = TrackEvent {
            debug_annotations: annotations,
            r#type: Some(BEGIN),
            track_uuid: Some(thread_track(pid, event.thread)),
            categories: vec![event.op.clone()],
            name: Some(event.text.clone()),
        };
        slice(trace, start, at as u64 * WIDTH, (at as u64 + 1) * WIDTH);
    }
    intervals(trace, annotated, pid, &annotated.holds, 1, "hold");
    intervals(trace, annotated, pid, &annotated.waits, 2, "wait");
}

fn intervals(
    trace: &mut PerfettoTrace,
    annotated: &AnnotatedTrace,
    pid: i32,
    all: &[Interval],
    offset: u64,
    category: &str,
) {
    for interval in all {
        let name = interval.object.and_then(|object| annotated.objects.get(object)).cloned();
        let start = TrackEvent {
            r#type: Some(BEGIN),
            track_uuid: Some(thread_track(pid, interval.thread) + offset),
            categories: vec![category.into()],
            name: Some(name.unwrap_or_else(|| "the end of a thread".into())),
            ..TrackEvent::default()
        };
        let to = interval.to.unwrap_or(annotated.events.len());
        slice(trace, start, interval.from as u64 * WIDTH, to as u64 * WIDTH);
    }
}

fn slice(trace: &mut PerfettoTrace, start: TrackEvent, from: u64, to: u64) {
    let end = TrackEvent { r#type: Some(END), track_uuid: start.track_uuid, ..TrackEvent::default() };
    for (time, event) in [(from, start), (to, end)] {
        trace.packet.push(TracePacket {
            timestamp: Some(time),
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_event: Some(event),
            track_descriptor: None,
        });
    }
}
