"""What is used of resvg-py."""

def svg_to_bytes(
    *, svg_string: str, width: int | None = None, background: str | None = None
) -> bytes: ...
