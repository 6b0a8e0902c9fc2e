//! `raddle status`: what is under way on a server.

use std::io::{self, Write};

use raddle_cluster::ServerConnection;
use raddle_cluster::status::{self, Member, SearchStatus};
use raddle_exec::interrupt;
use raddle_report::escape::clean;
use serde_json::json;

use super::args::StatusArgs;
use crate::check::progress::duration;
use crate::error::CommandResult;
use crate::exit_codes;

/// Runs the command.
pub fn run(args: &StatusArgs) -> CommandResult {
    interrupt::install()?;
    let connection = ServerConnection::open(&args.nats.access()?, "raddle status", interrupt::requested)?;
    let searches = status::all(&connection)?;
    let text = if args.json { format!("{}\n", to_json(&searches)) } else { to_text(&searches, status::now()) };
    io::stdout().write_all(text.as_bytes())?;
    Ok(exit_codes::FINE)
}

fn to_text(searches: &[SearchStatus], now: u64) -> String {
    if searches.is_empty() {
        return "no search is under way\n".into();
    }
    let mut text = String::new();
    for search in searches {
        let age = duration(now.saturating_sub(search.began) as f64);
        text += &format!("{} ({}), begun {age} ago\n", clean(&search.program), search.id);
        text += &match &search.coordinator {
            None => "  no coordinator: `raddle coordinate` with the same words goes on\n".into(),
            Some(Member { runs, done, open, estimate, .. }) => {
                let rate: f64 = search.workers.iter().map(|worker| worker.rate).sum();
                let left = estimate.map(|all| duration((all - *runs as f64).max(0.0) / rate.max(1e-9)));
                let left = left.map_or_else(String::new, |left| format!(", {left} left"));
                let all = estimate.map_or_else(String::new, |all| format!(" of about {all:.0}"));
                format!("  {runs} runs{all}, {rate:.0}/s{left}; {done} tasks done, {open} open\n")
            }
        };
        if search.workers.is_empty() {
            text += "  no workers\n";
        }
        for Member { name, runs, rate, done, .. } in &search.workers {
            text += &format!("  worker {name}: {runs} runs, {rate:.0}/s, {done} tasks\n");
        }
    }
    text
}

fn to_json(searches: &[SearchStatus]) -> serde_json::Value {
    let member = |member: &Member| {
        let Member { name, runs, rate, done, open, estimate } = member;
        json!({ "process": name, "runs": runs, "rate": rate, "done": done, "open": open, "estimate": estimate })
    };
    let search = |search: &SearchStatus| {
        json!({
            "id": search.id,
            "program": search.program,
            "began": search.began,
            "coordinator": search.coordinator.as_ref().map(member),
            "workers": search.workers.iter().map(member).collect::<Vec<_>>(),
        })
    };
    json!({ "searches": searches.iter().map(search).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_told_in_lines() {
        assert_eq!(to_text(&[], 0), "no search is under way\n");
        let member =
            |name: &str, runs| Member { name: name.into(), runs, rate: 50.0, done: 3, open: 2, estimate: None };
        let mut search = SearchStatus {
            id: "0123456789abcdef".into(),
            program: "bank".into(),
            began: 100,
            coordinator: Some(Member { estimate: Some(1000.0), ..member("a/1", 500) }),
            workers: vec![member("b/2", 300), member("c/3", 200)],
        };
        let text = to_text(std::slice::from_ref(&search), 110);
        assert!(text.contains("bank (0123456789abcdef), begun about 10 s ago"), "{text}");
        assert!(text.contains("500 runs of about 1000, 100/s, about 5 s left; 3 tasks done, 2 open"), "{text}");
        assert!(text.contains("worker b/2: 300 runs"), "{text}");
        search.coordinator = None;
        assert!(to_text(&[search], 110).contains("no coordinator"));
    }
}
