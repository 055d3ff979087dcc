"""What is used of resvg-py."""

def svg_to_bytes(
    *,
    svg_string: str,
    width: int | None = None,
    background: str | None = None,
    style_sheet: str | None = None,
    skip_system_fonts: bool = False,
    font_dirs: list[str] | None = None,
) -> bytes: ...
