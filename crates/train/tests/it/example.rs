//! The example program of the library, as it stands.

#![allow(clippy::print_stdout, reason = "the example prints what it found")]

#[path = "../../examples/train_resume_predict.rs"]
mod train_resume_predict;

#[test]
fn the_example_trains_resumes_and_predicts() -> Result<(), Box<dyn std::error::Error>> {
    train_resume_predict::main()
}
