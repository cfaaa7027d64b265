"""The sum of a cart."""


def total(prices, discount=0):
    """Returns the sum of the prices, reduced by a discount in percent."""
    return sum(prices) - discount
