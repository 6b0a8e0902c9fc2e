//! The lengths of instructions agree with objdump, for C++ compiled by gcc with and without
//! optimisation.

use std::fs;
use std::process::Command;

use raddle_testkit::tools::require;
use raddle_x86::{CodeReader, FrameStorage, LONGEST, decode, is_dead};

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

impl CodeReader for Bytes<'_> {
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

#[test]
fn a_variable_that_outlives_the_loop_is_not_dead() {
    let dead = |code: &[u8], pc, place| is_dead(pc, place, &mut Bytes(code));
    for byte in 0..4 {
        assert!(dead(LOOP, 0, FrameStorage::Byte(-4 + byte)));
        assert!(!dead(LOOP, 0, FrameStorage::Byte(-8 + byte)));
        assert!(dead(LOOP, 0, FrameStorage::Byte(-24 + byte)), "nothing reads it");
        assert!(dead(LOOP, 24, FrameStorage::Byte(-8 + byte)), "inside the loop it is written first");
    }
    assert!(dead(LOOP, 0, FrameStorage::Register(3)), "written at once, and given back in the end");
    assert!(!dead(LOOP, 14, FrameStorage::Register(3)));
    assert!(!dead(LOOP, 0, FrameStorage::Register(12)), "the caller's");
}

#[test]
fn without_a_frame_pointer_nothing_is_known_of_what_is_never_written() {
    let mut code = LOOP.to_vec();
    code[39] = 0x90;
    assert!(!is_dead(0, FrameStorage::Byte(-24), &mut Bytes(&code)), "the frame is not given up");
    let by_stack_pointer = [&[0x8b, 0x44, 0x24, 0x08][..], LOOP].concat();
    assert!(!is_dead(0, FrameStorage::Byte(-24), &mut Bytes(&by_stack_pointer)));
}

#[test]
fn a_pointer_that_somebody_gets_keeps_a_variable_alive() {
    let mut code = LOOP.to_vec();
    code[10] = 0xf3;
    assert!(!is_dead(0, FrameStorage::Byte(-4), &mut Bytes(&code)));
}
