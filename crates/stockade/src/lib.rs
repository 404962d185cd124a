//! The `stockade` program: command line, configuration and doctor.

pub mod cli;
pub mod config;
pub mod doctor;
pub mod login_test;
pub mod smoke;
