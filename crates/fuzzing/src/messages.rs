use raddle_exec::remote::message::{AgentAnswer, HostRequest};
use raddle_remote::frame::{Assembler, Frame, FrameReader, LONGEST, parse, put_message};

/// Bytes of a message that a side takes here.
const LONGEST_MESSAGE: usize = 1 << 16;

/// What comes over a connection between host and agent: as frames, and as what stands in them. A
/// message that is understood is understood again.
pub fn messages(data: &[u8]) {
    let mut from = data;
    let mut reader = FrameReader::default();
    let (mut assembler, mut received) = (Assembler::new(LONGEST_MESSAGE), 0);
    while let Ok(Some(bytes)) = reader.read(&mut from, LONGEST)
        && let Ok(frame) = parse(&bytes)
    {
        let Frame::Data { number, last, bytes, .. } = frame else { continue };
        let Ok(whole) = assembler.take(number, received, last, bytes) else { break };
        if let Some(message) = whole {
            assert!(message.len() <= LONGEST_MESSAGE);
            received += 1;
            read(&message);
        }
    }
    read(data);
    let mut sent = Vec::new();
    put_message(1, 0, data, &mut sent);
    let frame = FrameReader::default().read(&mut &sent[..], LONGEST);
    assert!(matches!(frame, Ok(Some(_))), "a frame of this side's is a frame");
}

fn read(message: &[u8]) {
    if let Ok(request) = HostRequest::parse(message) {
        let again = HostRequest::parse(&request.to_bytes());
        assert_eq!(format!("{again:?}"), format!("{:?}", Ok::<_, ()>(request)));
    }
    if let Ok(answer) = AgentAnswer::parse(message) {
        let again = AgentAnswer::parse(&answer.to_bytes());
        assert_eq!(format!("{again:?}"), format!("{:?}", Ok::<_, ()>(answer)));
    }
}
