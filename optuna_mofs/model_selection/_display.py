"""The front of a search in notebooks."""

from __future__ import annotations

from html import escape

from optuna_mofs.fronts import Front

#: Maximum number of rows of the table; the middle of a longer front is left out.
_MAX_ROWS = 12


def front_html(front: Front, chosen: int, summary: str) -> str:
    """Return the front as a compact table that can be folded.

    Args:
        front: The non-dominated trials.
        chosen: Number of the trial whose row is marked.
        summary: The line above the table.
    """
    table = front.to_frame()
    wanted = ["n_features", *front.metric_names, "honest", "honest_low", "honest_high"]
    table = table[[name for name in dict.fromkeys(wanted) if name in table.columns]]
    numbers = table.index.tolist()
    rows = list(range(len(table)))
    if len(rows) > _MAX_ROWS:
        # The chosen trial stays visible.
        half = _MAX_ROWS // 2
        kept = {*rows[:half], *rows[-half:]}
        rows = [i for i in rows if i in kept or numbers[i] == chosen]
    lines = [
        "<tr>" + "".join(f"<th>{escape(n)}</th>" for n in ("trial", *table.columns)) + "</tr>"
    ]
    previous = -1
    for i in rows:
        if i > previous + 1:
            lines.append(f'<tr><td colspan="{len(table.columns) + 1}">&#8943;</td></tr>')
        cells = [str(numbers[i]), *(_cell(value) for value in table.iloc[i])]
        style = ' style="font-weight:bold"' if numbers[i] == chosen else ""
        lines.append(f"<tr{style}>" + "".join(f"<td>{escape(c)}</td>" for c in cells) + "</tr>")
        previous = i
    warning = front.honest().warning
    note = "" if warning is None else f"<p>{escape(warning)}</p>"
    return (
        f"<details open><summary>{escape(summary)}</summary>{note}"
        f"<table>{''.join(lines)}</table></details>"
    )


def _cell(value: object) -> str:
    number = float(value)  # type: ignore[arg-type]
    return f"{number:.0f}" if number.is_integer() and number >= 1 else f"{number:.4g}"
