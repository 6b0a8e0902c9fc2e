//! Smaller programs that may still show what a big one shows.

use super::program::{AbstractOp, AbstractProgram, Stmt};

/// The smallest program that can be reached by single simplifications, each of which keeps `still`
/// true. `still` is asked about at most `tries` programs.
#[must_use]
pub fn minimise(
    program: &AbstractProgram,
    mut tries: usize,
    mut still: impl FnMut(&AbstractProgram) -> bool,
) -> AbstractProgram {
    let mut best = program.clone();
    'again: loop {
        for candidate in simpler(&best) {
            if tries == 0 {
                return best;
            }
            tries -= 1;
            if still(&candidate) {
                best = candidate;
                continue 'again;
            }
        }
        return best;
    }
}

/// Every program that is one simplification smaller: a body emptied, a critical section opened, a
/// statement left out, a branch or loop replaced by what is in it. The greatest simplifications
/// come first.
#[must_use]
pub fn simpler(program: &AbstractProgram) -> Vec<AbstractProgram> {
    let mut all = Vec::new();
    for body in 1..program.bodies.len() {
        if !program.bodies[body].is_empty() {
            let mut smaller = program.clone();
            smaller.bodies[body].clear();
            all.push(smaller);
        }
    }
    for body in 0..program.bodies.len() {
        for block in simpler_blocks(&program.bodies[body]) {
            let mut smaller = program.clone();
            smaller.bodies[body] = block;
            all.push(smaller);
        }
    }
    for function in 0..program.functions.len() {
        for block in simpler_blocks(&program.functions[function]) {
            let mut smaller = program.clone();
            smaller.functions[function] = block;
            all.push(smaller);
        }
    }
    all
}

fn simpler_blocks(block: &[Stmt]) -> Vec<Vec<Stmt>> {
    let splice = |from: usize, to: usize, with: Vec<Stmt>| -> Vec<Stmt> {
        block[..from].iter().cloned().chain(with).chain(block[to..].iter().cloned()).collect()
    };
    let mut all = Vec::new();
    for at in 0..block.len() {
        if let Some(end) = end_of_section(block, at) {
            all.push(splice(at, end + 1, Vec::new()));
            all.push(splice(at, end + 1, block[at + 1..end].to_vec()));
        } else if !matches!(&block[at], Stmt::Op(AbstractOp::Unlock(_))) {
            all.push(splice(at, at + 1, Vec::new()));
        }
        match &block[at] {
            Stmt::Op(_) | Stmt::Call(..) => {}
            Stmt::If(condition, then, otherwise) => {
                all.push(splice(at, at + 1, then.clone()));
                all.push(splice(at, at + 1, otherwise.clone()));
                let thens = simpler_blocks(then).into_iter().map(|then| (then, otherwise.clone()));
                let others = simpler_blocks(otherwise).into_iter().map(|otherwise| (then.clone(), otherwise));
                for (then, otherwise) in thens.chain(others) {
                    all.push(splice(at, at + 1, vec![Stmt::If(condition.clone(), then, otherwise)]));
                }
            }
            Stmt::While(condition, body) => {
                all.push(splice(at, at + 1, body.clone()));
                // The last statement counts the rounds.
                let (count, rest) = body.split_last().map_or((None, &body[..]), |(last, rest)| (Some(last), rest));
                for inner in simpler_blocks(rest) {
                    let inner = inner.into_iter().chain(count.cloned()).collect();
                    all.push(splice(at, at + 1, vec![Stmt::While(condition.clone(), inner)]));
                }
            }
            Stmt::Once(once, body) => {
                for inner in simpler_blocks(body) {
                    all.push(splice(at, at + 1, vec![Stmt::Once(*once, inner)]));
                }
            }
        }
    }
    all
}

/// Where the critical section that starts here ends, if it ends in the same block.
fn end_of_section(block: &[Stmt], at: usize) -> Option<usize> {
    let Stmt::Op(AbstractOp::Lock(mutex)) = &block[at] else { return None };
    let unlock = |stmt: &Stmt| matches!(stmt, Stmt::Op(AbstractOp::Unlock(other)) if other == mutex);
    block[at + 1..].iter().position(unlock).map(|offset| at + 1 + offset)
}
