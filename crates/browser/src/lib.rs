//! The driver: CDP, pages, snapshots, actions and screenshots.
