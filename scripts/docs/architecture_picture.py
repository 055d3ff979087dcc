"""The picture of the architecture: boxes for the parts, and an arrow from a part to what it uses."""

from html import escape

from scripts.docs.architecture import PARTS, Arrow, Kind, Part, find_arrows, leave_out_what_follows

WIDTH, HEIGHT = 222, 52
STEP_X, STEP_Y = 246, 84
MARGIN, LEGEND = 22, 52
ROWS = 1 + max(part.row for part in PARTS)
FULL_WIDTH = round(2 * MARGIN + max(part.column for part in PARTS) * STEP_X + WIDTH)
FULL_HEIGHT = round(2 * MARGIN + (ROWS - 1) * STEP_Y + HEIGHT + LEGEND)

LEGENDS: dict[Kind, str] = {
    "sensitive": "sees the true counts",
    "private": "works on measurements alone",
    "public": "public facts",
    "user": "puts it together",
    "research": "for public or invented data",
}
STYLE = """
svg{background:#fff}text{fill:#1d2430}.what,.legend{fill:#465061}
.arrow{fill:none;stroke:#8a94a3;stroke-width:1.6}.head{fill:#8a94a3}
rect{stroke-width:1.6}
.sensitive{fill:#fdeedd;stroke:#c9772b}.private{fill:#e0f2e8;stroke:#2b8a5c}
.public{fill:#eef1f5;stroke:#7b8696}.user{fill:#e1edf9;stroke:#2f74b5}.research{fill:#f0e8f6;stroke:#8a63a8}
@media(prefers-color-scheme:dark){
svg{background:#131416}text{fill:#e6e9ee}.what,.legend{fill:#b4bcc8}
.arrow{stroke:#7d8794}.head{fill:#7d8794}
.sensitive{fill:#40290f;stroke:#d98f45}.private{fill:#12382a;stroke:#4fb486}
.public{fill:#252a31;stroke:#7f8a99}.user{fill:#16304a;stroke:#5c9bd6}.research{fill:#33254a;stroke:#a886c6}}
""".strip()


def draw_architecture() -> str:
    """The SVG."""
    arrows = sorted(leave_out_what_follows(set(find_arrows())))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {FULL_WIDTH} {FULL_HEIGHT}" role="img" '
            f'width="{FULL_WIDTH}" height="{FULL_HEIGHT}" '
            'font-family="system-ui, sans-serif" font-size="12">',
            "<title>The parts of Tallytree, and which uses which</title>",
            f"<desc>{escape('; '.join(f'{user} uses {used}' for user, used in arrows))}</desc>",
            f"<style>{STYLE}</style>",
            '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker>',
            *(_draw_arrow(arrow, arrows) for arrow in arrows),
            *(_draw_part(part) for part in PARTS),
            *_draw_legend(),
            "</svg>",
            "",
        ]
    )


def _place(part: Part) -> tuple[float, float]:
    """The left upper corner of a part's box."""
    return MARGIN + part.column * STEP_X, MARGIN + (ROWS - 1 - part.row) * STEP_Y


def _draw_part(part: Part) -> str:
    x, y = _place(part)
    middle = f'x="{x + WIDTH / 2:g}" text-anchor="middle"'
    return (
        f'<rect class="{part.kind}" x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="7"/>'
        f'<text {middle} y="{y + 22:g}" font-size="15" font-weight="600">{escape(part.name)}</text>'
        f'<text class="what" {middle} y="{y + 40:g}">{escape(part.what)}</text>'
    )


def _draw_arrow(arrow: Arrow, arrows: list[Arrow]) -> str:
    """From the lower edge of a box to the upper edge of the one that it uses."""
    parts = {part.name: part for part in PARTS}
    user, used = (parts[name] for name in arrow)
    x1 = _find_end(user, [parts[b] for a, b in arrows if a == user.name], used)
    x2 = _find_end(used, [parts[a] for a, b in arrows if b == used.name], user)
    y1, y2 = _place(user)[1] + HEIGHT, _place(used)[1] - 2
    bend = (y2 - y1) * 0.45
    return (
        f'<path class="arrow" marker-end="url(#head)" '
        f'd="M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"/>'
    )


def _find_end(part: Part, others: list[Part], other: Part) -> float:
    """Where an arrow meets a box: the arrows at one edge stand side by side, ordered by where they lead."""
    order = sorted(others, key=lambda each: (each.column, each.row))
    place = (order.index(other) + 1) / (len(order) + 1)
    return _place(part)[0] + WIDTH * (0.2 + 0.6 * place)


def _draw_legend() -> list[str]:
    y = FULL_HEIGHT - LEGEND - 4
    drawn = []
    for number, (kind, text) in enumerate(LEGENDS.items()):
        x = MARGIN + (number % 3) * (FULL_WIDTH - 2 * MARGIN) / 3
        top = y + 26 * (number // 3)
        drawn.append(
            f'<rect class="{kind}" x="{x:g}" y="{top:g}" width="22" height="16" rx="4"/>'
            f'<text class="legend" x="{x + 30:g}" y="{top + 12:g}">{escape(text)}</text>'
        )
    return drawn
