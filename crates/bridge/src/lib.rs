//! The in-jail program: readiness, tokens and carrying bytes.
