//! The lengths of instructions agree with objdump, for C++ compiled by gcc with and without
//! optimisation.

use std::fs;
use std::process::Command;

use raddle_liveness::{CodePlace, CodeReader, Fate, FrameEnd, Scratch, Storage, fate, frame_end};
use raddle_testkit::tools::require;
use raddle_x86::{LONGEST, X86, decode};

const PROGRAM: &str = r#"
#include <atomic>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
std::atomic<int> flag;
std::map<std::string, double> table;
int look(int times) {
    int last = -1, now;
    while ((now = flag.load()) < times)
        last = now;
    return last;
}
int main(int argc, char **argv) {
    std::thread other([] { flag = 3; });
    for (int i = 0; i < argc; i++)
        table[argv[i]] += i * 0.5f + look(2);
    switch (argc) {
    case 1: puts("1"); break;
    case 2: puts("2"); break;
    case 3: return 3;
    case 4: return 9;
    case 5: return 7;
    }
    other.join();
    return table.size() > 3 && argv[0][0] % 7 == 2;
}
"#;

/// Address and bytes of each instruction of the text section.
fn disassembled(options: &[&str]) -> Vec<(u64, Vec<u8>, String)> {
    require("g++");
    require("objdump");
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("p.cpp"), folder.path().join("p"));
    fs::write(&source, PROGRAM).unwrap();
    let built = Command::new("g++").args(options).arg(&source).arg("-o").arg(&binary).arg("-pthread").status().unwrap();
    assert!(built.success());
    let listing = Command::new("objdump").args(["-d", "-w", "-j", ".text"]).arg(&binary).output().unwrap();
    let text = String::from_utf8(listing.stdout).unwrap();
    text.lines().filter_map(instruction).collect()
}

fn instruction(line: &str) -> Option<(u64, Vec<u8>, String)> {
    let mut parts = line.split('\t');
    let address = u64::from_str_radix(parts.next()?.trim().strip_suffix(':')?, 16).ok()?;
    let bytes =
        parts.next()?.split_whitespace().map(|byte| u8::from_str_radix(byte, 16)).collect::<Result<_, _>>().ok()?;
    Some((address, bytes, parts.next()?.to_string()))
}

#[test]
fn lengths_agree() {
    for options in [&["-O0", "-fsanitize=thread"][..], &["-O3"][..]] {
        let all = disassembled(options);
        assert!(all.len() > 500, "{} instructions", all.len());
        for (address, bytes, text) in &all {
            let found = decode(bytes).map(|instruction| instruction.length);
            let unknown = found.is_none() && (text.contains("bad") || text.starts_with('v'));
            assert!(found == Some(bytes.len()) || unknown, "{address:x}: {bytes:x?} {text}: {found:?}");
        }
    }
}

struct Bytes<'a>(&'a [u8]);

impl CodeReader<X86> for Bytes<'_> {
    fn fetch(&mut self, pc: u64) -> Option<[u8; LONGEST]> {
        let rest = self.0.get(usize::try_from(pc).ok()?..)?;
        let mut bytes = [0xf1; LONGEST];
        let len = rest.len().min(LONGEST);
        bytes[..len].copy_from_slice(&rest[..len]);
        Some(bytes)
    }

    fn only_records_access(&mut self, function: u64) -> bool {
        function == 0x100
    }

    fn never_returns(&mut self, function: u64) -> bool {
        function == 0x200
    }

    fn is_import(&mut self, code: u64) -> bool {
        code == 0x300
    }

    fn may_lead(&mut self, pointer: i32, byte: i32) -> bool {
        // A variable at these distances, in the code that has one.
        const VARIABLE: core::ops::Range<i32> = 0..16;
        self.0 != POINTERS || VARIABLE.contains(&pointer) == VARIABLE.contains(&byte)
    }

    fn is_private(&self, _byte: i32) -> bool {
        self.0 == CLEANUP_SLOT
    }
}

/// Leaves a scope by two ways, with one copy of what both do; only one of them goes on to read what
/// is at 8.
#[rustfmt::skip]
const CLEANUP: &[u8] = &[
    0x85, 0xc0,                         //  0 test %eax,%eax
    0x74, 0x07,                         //  2 je 11
    0xbb, 0x00, 0x00, 0x00, 0x00,       //  4 mov $0,%ebx
    0xeb, 0x09,                         //  9 jmp 20
    0x89, 0x44, 0x24, 0x08,             // 11 mov %eax,8(%rsp)
    0xbb, 0x01, 0x00, 0x00, 0x00,       // 15 mov $1,%ebx
    0xe8, 0xe7, 0x00, 0x00, 0x00,       // 20 call 0x100
    0x83, 0xfb, 0x01,                   // 25 cmp $1,%ebx
    0x75, 0x04,                         // 28 jne 34
    0x8b, 0x44, 0x24, 0x08,             // 30 mov 8(%rsp),%eax
    0x48, 0x83, 0xc4, 0x18,             // 34 add $24,%rsp
    0xc3,                               // 38 ret
];

/// The same, with the number on the stack.
#[rustfmt::skip]
const CLEANUP_SLOT: &[u8] = &[
    0x85, 0xc0,                                     //  0 test %eax,%eax
    0x74, 0x0a,                                     //  2 je 14
    0xc7, 0x44, 0x24, 0x04, 0x00, 0x00, 0x00, 0x00, //  4 movl $0,4(%rsp)
    0xeb, 0x0c,                                     // 12 jmp 26
    0x89, 0x44, 0x24, 0x08,                         // 14 mov %eax,8(%rsp)
    0xc7, 0x44, 0x24, 0x04, 0x01, 0x00, 0x00, 0x00, // 18 movl $1,4(%rsp)
    0xe8, 0xe1, 0x00, 0x00, 0x00,                   // 26 call 0x100
    0x8b, 0x44, 0x24, 0x04,                         // 31 mov 4(%rsp),%eax
    0x85, 0xc0,                                     // 35 test %eax,%eax
    0x74, 0x04,                                     // 37 je 43
    0x8b, 0x44, 0x24, 0x08,                         // 39 mov 8(%rsp),%eax
    0x48, 0x83, 0xc4, 0x18,                         // 43 add $24,%rsp
    0xc3,                                           // 47 ret
];

/// Asks the same question twice: whether two registers are equal.
#[rustfmt::skip]
const TWICE: &[u8] = &[
    0x48, 0x39, 0xdd,             //  0 cmp %rbx,%rbp
    0x74, 0x04,                   //  3 je 9
    0x89, 0x44, 0x24, 0x08,       //  5 mov %eax,8(%rsp)
    0xe8, 0xf2, 0x00, 0x00, 0x00, //  9 call 0x100
    0x48, 0x39, 0xdd,             // 14 cmp %rbx,%rbp
    0x74, 0x04,                   // 17 je 23
    0x8b, 0x44, 0x24, 0x08,       // 19 mov 8(%rsp),%eax
    0x48, 0x83, 0xc4, 0x18,       // 23 add $24,%rsp
    0xc3,                         // 27 ret
];

#[test]
fn branches_that_contradict_each_other_are_no_path() {
    for (code, shared) in [(CLEANUP, 20), (CLEANUP_SLOT, 26), (TWICE, 9)] {
        let fate = |pc| fate_in(code, pc, None, Storage::Byte(8));
        assert_eq!(fate(0), Fate::DeadUnshared, "{code:x?}");
        assert_eq!(fate(shared), Fate::Alive);
        // The number or one of the registers is changed between.
        let mut changed = code.to_vec();
        let at = shared as usize;
        changed[at..at + 5].copy_from_slice(match code {
            CLEANUP | TWICE => &[0x83, 0xc3, 0x01, 0x90, 0x90],
            _ => &[0x83, 0x44, 0x24, 0x04, 0x01],
        });
        assert_eq!(fate_in(&changed, 0, None, Storage::Byte(8)), Fate::Alive);
    }
    // The number lies where a pointer may lead.
    let mut pointed_to = CLEANUP_SLOT.to_vec();
    pointed_to.push(0x90);
    assert_eq!(fate_in(&pointed_to, 0, None, Storage::Byte(8)), Fate::Alive);
}

/// Counts the rounds of a loop at 8, and ends when a register is zero.
#[rustfmt::skip]
const COUNTED: &[u8] = &[
    0x83, 0x44, 0x24, 0x08, 0x01, //  0 addl $1,8(%rsp)
    0xe8, 0xf6, 0x00, 0x00, 0x00, //  5 call 0x100
    0x85, 0xc0,                   // 10 test %eax,%eax
    0x75, 0xf2,                   // 12 jne 0
    0x48, 0x83, 0xc4, 0x18,       // 14 add $24,%rsp
    0xc3,                         // 18 ret
];

#[test]
fn a_count_that_nothing_reads_is_dead() {
    let fate = |code: &[u8], byte| fate_in(code, 5, None, Storage::Byte(byte));
    assert_eq!((8..12).map(|byte| fate(COUNTED, byte)).collect::<Vec<_>>(), [Fate::Dead; 4]);
    let with = |at: usize, bytes: &[u8]| {
        let mut code = COUNTED.to_vec();
        code.splice(at..at, bytes.iter().copied());
        code
    };
    // Read behind the loop: whole, and by its highest byte only, into which all others go.
    assert_eq!(fate(&with(14, &[0x8b, 0x44, 0x24, 0x08]), 8), Fate::Alive);
    let highest = with(14, &[0x0f, 0xb6, 0x44, 0x24, 0x0b]);
    assert_eq!([fate(&highest, 8), fate(&highest, 11)], [Fate::Alive; 2]);
    // Its lowest byte depends on no other.
    let lowest = with(14, &[0x0f, 0xb6, 0x44, 0x24, 0x08]);
    assert_eq!([fate(&lowest, 8), fate(&lowest, 9)], [Fate::Alive, Fate::Dead]);
    // The loop ends when the count is zero, by the flags.
    let mut by_flags = COUNTED.to_vec();
    by_flags.splice(5..12, [0x90; 7]);
    assert_eq!(fate_in(&by_flags, 0, None, Storage::Byte(8)), Fate::Alive);
}

/// Makes pointers to a variable at the stack pointer, in three ways, and writes what is kept at 16.
#[rustfmt::skip]
const POINTERS: &[u8] = &[
    0x48, 0x89, 0xe7,             //  0 mov %rsp,%rdi
    0xe8, 0xf8, 0x00, 0x00, 0x00, //  3 call 0x100
    0x48, 0x8d, 0x6c, 0x24, 0x08, //  8 lea 8(%rsp),%rbp
    0x48, 0x89, 0xef,             // 13 mov %rbp,%rdi
    0xe8, 0x00, 0x00, 0x00, 0x00, // 16 call 21
    0x89, 0x44, 0x24, 0x10,       // 21 mov %eax,16(%rsp)
    0x89, 0x44, 0x24, 0x04,       // 25 mov %eax,4(%rsp)
    0x48, 0x83, 0xc4, 0x18,       // 29 add $24,%rsp
    0xc3,                         // 33 ret
];

/// Keeps a pointer to what it writes at 8 for two records of accesses; then it reads through
/// another one.
#[rustfmt::skip]
const RECORDS: &[u8] = &[
    0x48, 0x8d, 0x5c, 0x24, 0x08, //  0 lea 8(%rsp),%rbx
    0x48, 0x89, 0xdf,             //  5 mov %rbx,%rdi
    0xe8, 0xf3, 0x00, 0x00, 0x00, //  8 call 0x100
    0x48, 0x89, 0xdf,             // 13 mov %rbx,%rdi
    0xe8, 0xeb, 0x00, 0x00, 0x00, // 16 call 0x100
    0xc6, 0x44, 0x24, 0x08, 0x01, // 21 movb $1,8(%rsp)
    0x31, 0xdb,                   // 26 xor %ebx,%ebx
    0x48, 0x8d, 0x44, 0x24, 0x10, // 28 lea 16(%rsp),%rax
    0x48, 0x8b, 0x38,             // 33 mov (%rax),%rdi
    0xe8, 0xd7, 0x00, 0x00, 0x00, // 36 call 0x100
    0x48, 0x83, 0xc4, 0x18,       // 41 add $24,%rsp
    0xc3,                         // 45 ret
];

#[test]
fn a_pointer_that_only_records_use_leads_nowhere() {
    let fate = |pc, byte| fate_in(RECORDS, pc, None, Storage::Byte(byte));
    assert_eq!(fate(0, 8), Fate::Dead);
    assert_eq!(fate(26, 8), Fate::Alive);
    assert_eq!(fate(0, 16), Fate::Alive);
}

#[test]
fn a_pointer_leads_to_its_own_variable_only() {
    let fate = |pc, byte| fate_in(POINTERS, pc, None, Storage::Byte(byte));
    assert_eq!(fate(0, 4), Fate::Alive);
    assert_eq!(fate(21, 4), Fate::DeadUnshared);
    assert_eq!(fate(0, 16), Fate::Dead);
    assert_eq!(fate(0, 23), Fate::Dead);
    let place = CodePlace { pc: 0, frame_pointer: None };
    let mut scratch = Scratch::NEW;
    let end = frame_end(place, &mut Bytes(POINTERS), &mut scratch);
    assert_eq!(end, Some(FrameEnd { return_address: 24, end: 24 + 8, frame_pointer: None }));
}

/// A loop that remembers what it saw last: the new value, at -4, is written before it is read; the
/// last one, at -8, is not.
#[rustfmt::skip]
const LOOP: &[u8] = &[
    0x89, 0xc3,                   //  0 mov %eax,%ebx
    0x48, 0x8d, 0x45, 0xfc,       //  2 lea -4(%rbp),%rax
    0x48, 0x89, 0xc7,             //  6 mov %rax,%rdi
    0xe8, 0xf2, 0x00, 0x00, 0x00, //  9 call 0x100
    0x89, 0x5d, 0xfc,             // 14 mov %ebx,-4(%rbp)
    0x8b, 0x45, 0xfc,             // 17 mov -4(%rbp),%eax
    0x85, 0xc0,                   // 20 test %eax,%eax
    0x75, 0x08,                   // 22 jne 32
    0x8b, 0x45, 0xfc,             // 24 mov -4(%rbp),%eax
    0x89, 0x45, 0xf8,             // 27 mov %eax,-8(%rbp)
    0xeb, 0xe0,                   // 30 jmp 0
    0x8b, 0x45, 0xf8,             // 32 mov -8(%rbp),%eax
    0x48, 0x8b, 0x5d, 0xf0,       // 35 mov -16(%rbp),%rbx
    0xc9,                         // 39 leave
    0xc3,                         // 40 ret
];

/// Distance of the frame pointer from the stack pointer in [`LOOP`].
const FP: i32 = 32;

fn fate_in(code: &[u8], pc: u64, frame_pointer: Option<i32>, storage: Storage) -> Fate {
    let mut scratch = Scratch::NEW;
    fate(CodePlace { pc, frame_pointer }, storage, &mut Bytes(code), &mut scratch)
}

#[test]
fn a_variable_that_outlives_the_loop_is_not_dead() {
    let of_byte = |code: &[u8], pc, byte: i32| fate_in(code, pc, Some(FP), Storage::Byte(FP + byte));
    let of_register = |pc, number| fate_in(LOOP, pc, Some(FP), Storage::Register(number));
    for byte in 0..4 {
        assert_eq!(of_byte(LOOP, 0, -4 + byte), Fate::Dead, "an access to it is recorded");
        assert_eq!(of_byte(LOOP, 0, -8 + byte), Fate::Alive);
        assert_eq!(of_byte(LOOP, 0, -24 + byte), Fate::Dead, "nothing reads it");
        assert_eq!(of_byte(LOOP, 24, -8 + byte), Fate::DeadUnshared, "inside the loop it is written first");
        assert_eq!(of_byte(LOOP, 0, -16 + byte), Fate::Returned(1 << 3), "the caller's rbx");
    }
    assert_eq!(of_register(0, 3), Fate::Dead, "written at once, and given back in the end");
    assert_eq!(of_register(14, 3), Fate::Alive);
    assert_eq!(of_register(0, 12), Fate::Returned(1 << 12), "the caller's");
    assert_eq!(of_register(0, 5), Fate::Alive, "the frame pointer");
}

#[test]
fn what_is_not_known_is_alive() {
    let mut code = LOOP.to_vec();
    code[10] = 0xf3;
    assert_eq!(fate_in(&code, 0, Some(FP), Storage::Byte(FP - 4)), Fate::Alive, "another function gets a pointer");
    assert_eq!(fate_in(&code, 0, Some(FP), Storage::Byte(FP - 8)), Fate::Alive);
    assert_eq!(fate_in(&LOOP[..39], 0, Some(FP), Storage::Byte(FP - 24)), Fate::Alive, "unknown code");
    assert_eq!(fate_in(LOOP, 0, None, Storage::Byte(8)), Fate::Alive, "a frame of unknown size");
}

/// A pointer to an object is passed before one of its fields is written.
#[rustfmt::skip]
const FIELD: &[u8] = &[
    0x48, 0x8d, 0x7c, 0x24, 0x08,                   //  0 lea 8(%rsp),%rdi
    0xe8, 0x2b, 0x00, 0x00, 0x00,                   //  5 call 0x35
    0xc7, 0x44, 0x24, 0x0c, 0x01, 0x00, 0x00, 0x00, // 10 movl $1,12(%rsp)
    0x48, 0x83, 0xc4, 0x18,                         // 18 add $24,%rsp
    0x5b,                                           // 22 pop %rbx
    0x5d,                                           // 23 pop %rbp
    0xc3,                                           // 24 ret
];

#[test]
fn a_field_is_alive_where_the_object_is_passed_before_it_is_written() {
    for byte in 8..16 {
        assert_eq!(fate_in(FIELD, 0, None, Storage::Byte(byte)), Fate::Alive);
        let expected = if byte < 12 { Fate::Dead } else { Fate::DeadUnshared };
        assert_eq!(fate_in(FIELD, 10, None, Storage::Byte(byte)), expected, "written or released");
    }
    assert_eq!(fate_in(FIELD, 0, None, Storage::Byte(4)), Fate::Alive, "the pointer may be one to its end");
}

#[test]
fn frames_without_a_frame_pointer_are_known() {
    for (pc, from) in [(0, 0), (10, 0), (22, 24), (23, 32)] {
        let place = CodePlace { pc, frame_pointer: None };
        let end = FrameEnd { return_address: 40 - from, end: 40 - from + 8, frame_pointer: Some(32 - from) };
        let mut scratch = Scratch::NEW;
        assert_eq!(frame_end(place, &mut Bytes(FIELD), &mut scratch), Some(end), "{pc}");
    }
    assert_eq!(fate_in(FIELD, 10, None, Storage::Byte(24)), Fate::Returned(1 << 3), "popped into rbx");
    assert_eq!(fate_in(FIELD, 10, None, Storage::Byte(32)), Fate::Returned(1 << 5), "popped into rbp");
    assert_eq!(fate_in(FIELD, 10, None, Storage::Byte(40)), Fate::Alive, "the return address");
    assert_eq!(fate_in(FIELD, 10, None, Storage::Register(3)), Fate::Dead);
    assert_eq!(fate_in(FIELD, 10, None, Storage::Register(5)), Fate::Dead);
}

#[test]
fn arguments_are_alive_until_they_are_read() {
    #[rustfmt::skip]
    let code = [
        0xff, 0xd0,                   //  0 call *%rax
        0x48, 0x8b, 0x44, 0x24, 0x10, //  2 mov 16(%rsp),%rax
        0x48, 0x83, 0xc4, 0x08,       //  7 add $8,%rsp
        0xc3,                         // 11 ret
    ];
    assert_eq!(fate_in(&code, 0, None, Storage::Byte(16)), Fate::Alive, "the first argument on the stack");
    assert_eq!(fate_in(&code, 0, None, Storage::Byte(24)), Fate::Dead, "the second");
    assert_eq!(fate_in(&code, 7, None, Storage::Byte(16)), Fate::Dead);
    assert_eq!(fate_in(&code, 7, None, Storage::Byte(8)), Fate::Alive, "the return address");
}

#[test]
fn nothing_follows_a_call_that_never_returns() {
    #[rustfmt::skip]
    let code = [
        0xe8, 0xfb, 0x01, 0x00, 0x00, //  0 call 0x200
        0x48, 0x89, 0xd8,             //  5 mov %rbx,%rax
        0xc3,                         //  8 ret
    ];
    assert_eq!(fate_in(&code, 0, None, Storage::Register(3)), Fate::Dead);
    assert_eq!(fate_in(&code, 5, None, Storage::Register(3)), Fate::Alive);
}

/// A function that ends with a call of a function of another module.
#[rustfmt::skip]
const TAIL: &[u8] = &[
    0x48, 0x83, 0xc4, 0x08,       //  0 add $8,%rsp
    0x5b,                         //  4 pop %rbx
    0xe9, 0xf6, 0x02, 0x00, 0x00, //  5 jmp 0x300
];

#[test]
fn a_jump_to_another_module_returns() {
    let place = CodePlace { pc: 0, frame_pointer: None };
    let mut scratch = Scratch::NEW;
    let end = frame_end(place, &mut Bytes(TAIL), &mut scratch);
    assert_eq!(end, Some(FrameEnd { return_address: 16, end: 16 + 8, frame_pointer: None }));
    let of = |storage| fate_in(TAIL, 0, None, storage);
    assert_eq!(of(Storage::Register(12)), Fate::Returned(1 << 12));
    assert_eq!(of(Storage::Byte(8)), Fate::Returned(1 << 3));
    assert_eq!(of(Storage::Byte(16)), Fate::Alive, "the return address");
    assert_eq!(of(Storage::Byte(24)), Fate::Alive, "an argument of the other function");
    let elsewhere = [&TAIL[..5], &[0xe9, 0xf6, 0x03, 0x00, 0x00]].concat();
    assert_eq!(frame_end(place, &mut Bytes(&elsewhere), &mut scratch), None);
}

/// A function that passes a pointer to the lowest of its variables.
#[rustfmt::skip]
const POINTER: &[u8] = &[
    0x48, 0x8d, 0x45, 0xd0,       //  0 lea -0x30(%rbp),%rax
    0x48, 0x89, 0xc7,             //  4 mov %rax,%rdi
    0xe8, 0x44, 0x01, 0x00, 0x00, //  7 call 0x150
    0x89, 0x45, 0xf0,             // 12 mov %eax,-0x10(%rbp)
    0x48, 0x8b, 0x5d, 0xf8,       // 15 mov -8(%rbp),%rbx
    0xc9,                         // 19 leave
    0xc3,                         // 20 ret
];

/// How far the variable reaches is not known, but a register that was saved lies outside.
#[test]
fn a_pointer_does_not_lead_to_a_saved_register() {
    let of = |byte: i32| fate_in(POINTER, 0, Some(0x40), Storage::Byte(0x40 + byte));
    assert_eq!(of(-8), Fate::Returned(1 << 3));
    assert_eq!(of(-0x10), Fate::Alive, "it may be a part of the variable");
    assert_eq!(of(-0x30), Fate::Alive);
    assert_eq!(of(-0x38), Fate::Alive, "the pointer may be to the end of a variable");
}

/// The second byte of a register is a part of it.
#[test]
fn second_bytes_belong_to_their_register() {
    const RBX: u32 = 1 << 3;
    // movzbl %bh, %eax; mov $1, %bh; cmp $1, %bh; sete %bh; mov %bh, %al; add %bh, (%rax)
    let codes: [&[u8]; 6] =
        [&[0x0f, 0xb6, 0xc7], &[0xb7, 1], &[0x80, 0xff, 1], &[0x0f, 0x94, 0xc7], &[0x88, 0xf8], &[0, 0x38]];
    for code in codes {
        let instruction = decode(code).unwrap();
        assert!(instruction.reads & RBX != 0 && instruction.writes & RBX == 0, "{code:x?} {instruction:?}");
    }
    // With a prefix: movzbl %dil, %eax; movzbl %bpl, %eax with the prefix of wide registers.
    assert_eq!(decode(&[0x41, 0x0f, 0xb6, 0xc7]).unwrap().reads & RBX, 0);
    // Whole registers: mov %edi, %eax.
    assert_eq!(decode(&[0x89, 0xf8]).unwrap().reads & RBX, 0);
}

/// A function that goes on by a table of jumps returns to where its other ways lead.
#[test]
fn ways_that_are_not_known_do_not_hide_the_end_of_a_frame() {
    // test %eax, %eax; je +2; jmp *%rax; add $8, %rsp; pop %rbp; ret
    const CODE: &[u8] = &[0x85, 0xc0, 0x74, 2, 0xff, 0xe0, 0x48, 0x83, 0xc4, 8, 0x5d, 0xc3];
    let place = CodePlace { pc: 0, frame_pointer: None };
    let mut scratch = Scratch::NEW;
    let end = FrameEnd { return_address: 16, end: 16 + 8, frame_pointer: Some(8) };
    assert_eq!(frame_end(place, &mut Bytes(CODE), &mut scratch), Some(end));
    // What is read there is not known.
    assert_eq!(fate(place, Storage::Byte(0), &mut Bytes(CODE), &mut scratch), Fate::Alive);
    // jmp *%rax alone
    assert_eq!(frame_end(place, &mut Bytes(&[0xff, 0xe0]), &mut scratch), None);
}
