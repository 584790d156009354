//! The few elements that a plot is made of.

use std::fmt::Write;

use super::{GROUND, INK};

/// A drawing that grows.
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// The style of a text.
#[derive(Clone, Copy)]
pub struct Text {
    pub size: f64,
    pub bold: bool,
    pub colour: &'static str,
    /// `start`, `middle` or `end`: which of its points is given.
    pub anchor: &'static str,
    /// Turned to be read from below.
    pub upward: bool,
}

impl Default for Text {
    fn default() -> Self {
        Self { size: 12.0, bold: false, colour: INK, anchor: "start", upward: false }
    }
}

/// The mark of a point. Marks are distinguishable without their colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Disc,
    Square,
    Diamond,
    Triangle,
}

impl Mark {
    pub const ALL: [Mark; 4] = [Mark::Disc, Mark::Square, Mark::Diamond, Mark::Triangle];
}

impl Svg {
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub fn text(&mut self, x: f64, y: f64, text: &str, how: Text) {
        let Text { size, bold, colour, anchor, upward } = how;
        let weight = if bold { " font-weight=\"600\"" } else { "" };
        let turn = if upward { format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"") } else { String::new() };
        let text = escaped(text);
        self.put(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{colour}\" text-anchor=\"{anchor}\"{weight}{turn}>{text}</text>"
        ));
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
        ));
    }

    /// Draws lines from point to point, in dashes if `dashed` is true.
    pub fn path(&mut self, points: &[(f64, f64)], colour: &str, width: f64, dashed: bool) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        let dashes = if dashed { " stroke-dasharray=\"6 6\"" } else { "" };
        self.put(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashes}/>"
        ));
    }

    pub fn band(&mut self, x: f64, y: f64, width: f64, height: f64, colour: &str) {
        self.put(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
        ));
    }

    pub fn mark(&mut self, (x, y): (f64, f64), mark: Mark, size: f64, colour: &str) {
        let style = format!("fill=\"{colour}\" stroke=\"{GROUND}\" stroke-width=\"1\"");
        let polygon = |corners: &[(f64, f64)]| {
            let corner = |(dx, dy): &(f64, f64)| format!("{:.1},{:.1}", x + dx * size, y + dy * size);
            format!(
                "<polygon points=\"{}\" {style}/>",
                corners.iter().map(corner).collect::<Vec<_>>().join(" ")
            )
        };
        let element = match mark {
            Mark::Disc => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size:.1}\" {style}/>"),
            Mark::Square => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            Mark::Diamond => polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
            Mark::Triangle => polygon(&[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)]),
        };
        self.put(format_args!("{element}"));
    }

    fn put(&mut self, element: std::fmt::Arguments) {
        // A string takes everything.
        let _ = writeln!(self.body, "{element}");
    }

    /// The document. `title` is for those who hear it read.
    pub fn finish(self, title: &str) -> String {
        let Self { width, height, body } = self;
        let title = escaped(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif\" role=\"img\">\n\
             <title>{title}</title>\n\
             <rect width=\"{width:.0}\" height=\"{height:.0}\" rx=\"6\" fill=\"{GROUND}\"/>\n{body}</svg>\n"
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_well_formed() {
        let mut svg = Svg::new(100.0, 50.0);
        svg.text(1.0, 2.0, "a < b & \"c\"", Text { bold: true, upward: true, ..Text::default() });
        svg.line((0.0, 0.0), (1.0, 1.0), INK, 1.0);
        svg.path(&[(0.0, 0.0), (1.0, 1.0)], INK, 2.0, false);
        svg.band(0.0, 0.0, 5.0, 5.0, GROUND);
        Mark::ALL.iter().for_each(|mark| svg.mark((5.0, 5.0), *mark, 4.0, INK));
        let text = svg.finish("<title>");
        let document = roxmltree::Document::parse(&text).unwrap();
        let texts = document.descendants().filter(roxmltree::Node::is_text).filter_map(|node| node.text());
        let texts: Vec<&str> = texts.filter(|text| !text.trim().is_empty()).collect();
        assert_eq!(texts, ["<title>", "a < b & \"c\""]);
        assert_eq!(document.root_element().children().filter(roxmltree::Node::is_element).count(), 10);
    }
}
