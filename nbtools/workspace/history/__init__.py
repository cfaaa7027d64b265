"""The journal of changes: pre-images, snapshots and undo."""
