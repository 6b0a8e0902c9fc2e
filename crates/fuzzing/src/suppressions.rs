//! Suppression files.

use raddle_model::finding::{AccessReport, Finding, Kind, Place, Severity};
use raddle_report::suppress::Suppressions;

/// The bytes up to the first zero are a file; those after it are names in a race.
pub fn suppressions(data: &[u8]) {
    let mut parts = data.splitn(2, |&byte| byte == 0).map(String::from_utf8_lossy);
    let (text, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let mut suppressions = match Suppressions::parse(&text) {
        Ok(suppressions) => suppressions,
        Err(error) => {
            assert!((1..=text.lines().count()).contains(&error.line), "{error}");
            return;
        }
    };
    let count = suppressions.unused().count();
    let used = suppressions.suppresses(&race(&name)).is_some();
    assert_eq!(suppressions.unused().count() + usize::from(used), count, "one line is used");
}

/// A race in which all names are this one.
fn race(name: &str) -> Finding {
    let place = Place { file: Some(name.into()), function: Some(name.into()), ..Place::default() };
    let access = AccessReport { place: place.clone(), stack: vec![place], ..AccessReport::default() };
    Finding {
        id: "r1".into(),
        variable: Some(name.into()),
        ..Finding::new(Severity::Error, Kind::DataRace, vec![access])
    }
}
