//! The exact example passes all vectors, and the naive one fails: `cargo test`.
#[allow(dead_code)]
#[path = "../examples/laplace.rs"]
mod laplace;

const TYPES: [&str; 5] = ["calibration", "law", "pair", "sum", "tape"];

fn file(kind: &str) -> String {
    format!("{}/../../{kind}.json", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_exact_example_passes() {
    let (right, wrong) = vectors::check(&TYPES.map(file), &mut laplace::Laplace { is_naive: false }).unwrap();
    assert!(right > 0 && wrong == 0);
}

#[test]
fn the_naive_example_is_caught_in_each_type_that_it_has() {
    for kind in ["calibration", "law"] {
        assert!(vectors::check(&[file(kind)], &mut laplace::Laplace { is_naive: true }).unwrap().1 > 0, "{kind}");
    }
}
