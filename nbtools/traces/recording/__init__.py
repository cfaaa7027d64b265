"""Records running sessions as logs."""
