"""Line diffs, word diffs, three-way merges and patch formats; pure functions without I/O."""
