"""A page as Markdown, its pictures beside it."""

from collections.abc import Sequence

from tallytree.reproduction.document import (
    Block,
    Claim,
    Figure,
    Heading,
    Items,
    Note,
    Paragraph,
    Table,
)


def write_markdown(blocks: Sequence[Block], pictures: str) -> str:
    """The page; ``pictures`` is the folder of the pictures, seen from it."""
    parts: list[str] = []
    for block in blocks:
        text = _write(block, pictures)
        if isinstance(block, Claim) and parts and parts[-1].startswith("- **"):
            parts[-1] += "\n" + text  # one list
        else:
            parts.append(text)
    return "\n\n".join(parts) + "\n"


def _write(block: Block, pictures: str) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {block.text}"
        case Paragraph():
            return block.text
        case Note():
            return f"> {block.text}"
        case Items():
            return "\n".join(f"- {text}" for text in block.texts)
        case Table():
            lines = [block.header, ["---"] * len(block.header), *block.rows]
            return "\n".join("| " + " | ".join(line) + " |" for line in lines)
        case Figure():
            plain = block.caption.replace("*", "")
            return f"![{plain}]({pictures}/{block.name}.svg)\n\n{block.caption}"
        case Claim():
            why = f" {block.why}" if block.why else ""
            return f"- **{block.verdict.value}** ({block.where}): {block.claim} {block.evidence}{why}"
