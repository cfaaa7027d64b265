"""Kernels of the documentation's pages and of the course are forked from a process that has
imported nbtools.
"""

from __future__ import annotations

from tests.warm_kernels import use_warm_kernels

use_warm_kernels()
