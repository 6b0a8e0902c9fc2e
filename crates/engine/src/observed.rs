//! What one execution shows to be wrong, without a search.

use raddle_exec::recording::RecordingNames;
use raddle_model::defect::{Defect, DefectFinder, Part};
use raddle_model::finding::{Kind, Severity};
use raddle_model::{Execution, ThreadPath};

/// Something wrong, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// What sort.
    pub kind: Kind,
    /// What exactly, as a fixed word.
    pub detail: &'static str,
    /// How bad.
    pub severity: Severity,
    /// A line for people.
    pub text: String,
}

/// Everything that the finder takes for wrong with an execution.
pub fn observed(execution: &Execution, names: &dyn RecordingNames, mut finder: DefectFinder) -> Vec<Observed> {
    let defects = finder.find(execution);
    let observed = defects.iter().map(|defect| Observed {
        kind: defect.signature.kind,
        detail: defect.signature.detail,
        severity: defect.severity,
        text: text(defect, execution, names),
    });
    observed.collect()
}

/// `data-race: read write of balance (T1 at bank.c:14; T2 at bank.c:14)`
fn text(defect: &Defect, execution: &Execution, names: &dyn RecordingNames) -> String {
    let mut line = format!("{}: {}", defect.signature.kind.word(), defect.signature.detail.replace('-', " "));
    if defect.severity == Severity::Warning {
        line = format!("warning: {line}");
    }
    let about_memory = !matches!(defect.signature.kind, Kind::Crash | Kind::Assertion);
    if let Some(name) = defect.object.filter(|_| about_memory).and_then(|object| names.object(object)) {
        line += &format!(" of {name}");
    }
    if !defect.text.is_empty() && defect.text != defect.signature.detail {
        line += &format!(": {}", raddle_report::symbols::demangle(&defect.text));
    }
    let parts: Vec<String> = defect.parts.iter().map(|part| part_text(part, execution, names)).collect();
    if parts.is_empty() { line } else { format!("{line} ({})", parts.join("; ")) }
}

fn part_text(part: &Part, execution: &Execution, names: &dyn RecordingNames) -> String {
    let path = |thread: u16| execution.threads.get(usize::from(thread)).map_or(&MAIN, |thread| &thread.path);
    let mut text = path(part.thread).to_string();
    if let Some(waits) = &part.waits {
        match (names.object(waits.object).filter(|_| waits.object != 0), waits.holders.first()) {
            (Some(object), _) => text += &format!(" waits for {object}"),
            (None, Some(&holder)) => text += &format!(" waits for {}", path(holder)),
            (None, None) => text += " waits",
        }
    }
    if let Some(place) = names.place(part.pc).filter(|_| part.pc != 0) {
        text += &format!(" at {place}");
    }
    text
}

static MAIN: ThreadPath = ThreadPath(Vec::new());
