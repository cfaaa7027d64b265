"""Learners' work: a folder for each learner, with session logs and notebooks, which are read and not run."""
