"""The user's state folder, and how several processes write to files in it."""
