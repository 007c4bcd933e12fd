"""Numbers as text, for figures, the dashboard and the command line."""

from __future__ import annotations


def format_number(value: float) -> str:
    """Return a number with four significant digits, whole numbers with all their digits.

    Example:
        >>> format_number(0.123456), format_number(10935.0), format_number(12.0)
        ('0.1235', '10,935', '12')
    """
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:.4g}"


def format_percent(fraction: float) -> str:
    """Return a fraction as a percentage with two significant digits below 10 %.

    Example:
        >>> format_percent(0.1), format_percent(3 / 10935), format_percent(1.0)
        ('10 %', '0.027 %', '100 %')
    """
    text = f"{100 * fraction:.0f}" if fraction >= 0.0995 else f"{100 * fraction:.2g}"
    return f"{text} %"
