//! What has been received, on disk: partial files, their sums, their final names.
