//! Templates, the native runtime, limits, the keeper and the reaper.
