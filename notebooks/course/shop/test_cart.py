"""Run with: python3 -B test_cart.py"""

import sys

from cart import total

sys.tracebacklimit = 0  # a failed assert prints only its message
assert total([10, 20]) == 30, f"expected 30, got {total([10, 20])}"
found = total([100, 50], discount=10)
assert found == 135, f"expected 135, got {found}"
print("2 checks passed")
