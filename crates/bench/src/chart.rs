//! Charts as SVG.

use std::fmt::Write as _;

const COLOURS: [&str; 8] = ["#d95f02", "#1b9e77", "#7570b3", "#888888", "#e7298a", "#66a61e", "#e6ab02", "#a6761d"];
const WIDTH: usize = 900;

/// Bars on a logarithmic scale: a group for each row, with a bar for each series that has a value.
pub fn bars(series: &[&str], rows: &[(String, Vec<Option<f64>>)]) -> String {
    const LEFT: usize = 260;
    let group = 13 * series.len() + 10;
    let mut out = open(50 + rows.len() * group);
    legend(&mut out, series);
    let most = rows.iter().flat_map(|(_, values)| values.iter().flatten()).fold(10.0, |a: f64, &b| a.max(b));
    let scale = (WIDTH - LEFT - 90) as f64 / most.log10();
    for (row, (title, values)) in rows.iter().enumerate() {
        let top = 40 + row * group;
        text(&mut out, 10, top + group / 2, title);
        for (number, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let (width, y) = (2.0 + scale * value.max(1.0).log10(), top + number * 13);
            let colour = COLOURS[number % COLOURS.len()];
            let _ =
                writeln!(out, "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{width:.0}\" height=\"11\" fill=\"{colour}\"/>");
            text(&mut out, LEFT + width as usize + 5, y + 9, &format!("{value:.0}"));
        }
    }
    out + "</svg>\n"
}

/// A line for each series over integers, with a logarithmic vertical scale.
pub fn lines(series: &[(&str, Vec<(u64, f64)>)], below: &str) -> String {
    const HEIGHT: f64 = 420.0;
    const BOTTOM: f64 = 480.0;
    let points = || series.iter().flat_map(|(_, points)| points.iter());
    let (least, most) = points().fold((u64::MAX, 1), |(a, b), &(x, _)| (a.min(x), b.max(x)));
    let top = points().fold(10.0, |most: f64, &(_, y)| most.max(y)).log10().ceil();
    let low = points().fold(f64::MAX, |least: f64, &(_, y)| least.min(y)).max(1.0).log10().floor();
    let place = |x: u64, y: f64| {
        let across = (x - least) as f64 / (most - least).max(1) as f64;
        let up = (y.max(1.0).log10() - low) / (top - low).max(1.0);
        (70.0 + across * (WIDTH as f64 - 110.0), BOTTOM - up * HEIGHT)
    };
    let mut out = open(520);
    legend(&mut out, &series.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for power in low as i32..=top as i32 {
        let (x, y) = place(least, 10f64.powi(power));
        let _ = writeln!(out, "<path d=\"M{x:.0} {y:.0}H{}\" stroke=\"#dddddd\"/>", WIDTH - 40);
        text(&mut out, 5, y as usize + 4, &format!("{:.0}", 10f64.powi(power)));
    }
    for x in least..=most {
        text(&mut out, place(x, 1.0).0 as usize - 5, BOTTOM as usize + 16, &x.to_string());
    }
    text(&mut out, WIDTH / 2 - 60, BOTTOM as usize + 34, below);
    for (number, (_, points)) in series.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let path: Vec<String> =
            points.iter().map(|&(x, y)| place(x, y)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let path = path.join(" ");
        let _ = writeln!(out, "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>");
    }
    out + "</svg>\n"
}

fn open(height: usize) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    )
}

fn legend(out: &mut String, names: &[&str]) {
    let mut x = 10;
    for (number, name) in names.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let _ = writeln!(out, "<rect x=\"{x}\" y=\"10\" width=\"12\" height=\"12\" fill=\"{colour}\"/>");
        text(out, x + 16, 20, name);
        x += 34 + 6 * name.len();
    }
}

fn text(out: &mut String, x: usize, y: usize, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\">{words}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_for_each_number_and_none_for_those_that_are_missing() {
        let rows = [("a & b".to_string(), vec![Some(10.0), None]), ("c".to_string(), vec![Some(1.0), Some(1000.0)])];
        let drawn = bars(&["x", "y"], &rows);
        assert_eq!(drawn.matches("height=\"11\"").count(), 3);
        assert!(drawn.contains("a &amp; b") && drawn.ends_with("</svg>\n"));
    }

    #[test]
    fn a_line_for_each_series() {
        let drawn = lines(&[("one", vec![(3, 10.0), (5, 1000.0)]), ("two", vec![(4, 1.0)])], "threads");
        assert_eq!(drawn.matches("<polyline").count(), 2);
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
    }
}
