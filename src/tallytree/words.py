"""What groups and their members are called: households and people, or firms and employees."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from tallytree.errors import InputError, show

MOST_NAME, MOST_TITLE = 60, 200
"""The most letters of a name and of a title."""

_SAID = re.compile(r"'[^']*'|\b(?:(?P<article>[Aa]) )?(?P<group>[Gg]roup)(?P<more>s?)\b(?!-)")
"""Groups in a text of ours, but not the names of levels and columns, which are in quotes."""
_OF_PEOPLE = re.compile(r"\b(?:(?P<article>[Aa]) )?(?P<name>[Pp]erson|[Pp]eople)\b(?!-)")
"""People in a text of ours."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """What a group and its members are called, and a title for the whole.

    A name may be followed by its plural, as in "person/people"; without one, the plural is the usual one.

    >>> words = Words(group="agency", member="employee")
    >>> words.say("Groups by size; a group of size 4")
    'Agencies by size; an agency of size 4'
    >>> words.size_axis
    'Employees per agency'
    """

    group: str = "group"
    member: str = ""
    """Empty: sizes are only called sizes."""
    title: str = ""
    """Empty: the title names the root and says that it is about groups by size."""

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, getattr(self, field.name), required=field.name == "group")

    def say(self, text: str) -> str:
        """Return a text about groups in these words."""
        return text if self.group == "group" else _SAID.sub(self._replace, text)

    def _replace(self, found: re.Match[str]) -> str:
        if found["group"] is None:  # a name in quotes
            return found[0]
        one, many = _split(self.group)
        return _put(many if found["more"] else one, found["article"], found["group"])

    def name_people(self, text: str) -> str:
        """Return a text about people in the name of the members, where sizes count people.

        >>> Words(member="employee").name_people("What is known of a person, and of two people")
        'What is known of an employee, and of two employees'
        """
        if not self.member:
            return text
        one, many = _split(self.member)
        return _OF_PEOPLE.sub(
            lambda found: _put(
                one if found["name"].endswith("son") else many, found["article"], found["name"]
            ),
            text,
        )

    @property
    def size_axis(self) -> str:
        """What sizes count, for the axis of a picture."""
        if not self.member:
            return self.say("Size of the group")
        return _capitalize(f"{_split(self.member)[1]} per {_split(self.group)[0]}")

    @property
    def mean(self) -> str:
        """What the mean size is called."""
        return self.size_axis if self.member else "Mean size"

    @property
    def mean_least(self) -> str:
        """What the least is called that the mean size can be."""
        return f"{self.mean}, at least"

    def state(self) -> dict[str, dict[str, str]]:
        """Return the words as facts for a file, which :func:`read_words` reads; none for the usual ones."""
        return {} if self == PLAIN else {"words": asdict(self)}


def read_words(facts: Mapping[str, Any]) -> Words:
    """Return the words that a file states."""
    stated = facts.get("words")
    if stated is None:
        return PLAIN
    if not isinstance(stated, dict) or stated.keys() != {field.name for field in fields(Words)}:
        raise InputError("The words are not those of a release.")
    return Words(**stated)


def _check(name: str, value: object, *, required: bool) -> None:
    most = MOST_TITLE if name == "title" else MOST_NAME
    what = "The title" if name == "title" else f"The name of a {name}"
    if not isinstance(value, str) or not value.isprintable() or value != value.strip():
        raise InputError(f"{what} must be plain text on one line.")
    if len(value) > most:
        raise InputError(f"{what} has more than {most} characters: {show(value)}.")
    if required and not value:
        raise InputError(f"{what} is empty.")
    parts = value.split("/")
    if (
        name != "title"
        and value
        and (len(parts) > 2 or not all(part.strip() == part != "" for part in parts))
    ):
        raise InputError(f"{what} is a word, or a word and its plural, such as person/people: {show(value)}.")


def _split(name: str) -> tuple[str, str]:
    """The singular and the plural of a name."""
    one, slash, many = name.partition("/")
    if slash:
        return one, many
    if re.search("[^aeiou]y$", one):
        return one, f"{one[:-1]}ies"
    return one, f"{one}es" if re.search("(s|x|z|ch|sh)$", one) else f"{one}s"


def _put(name: str, article: str | None, instead_of: str) -> str:
    """Return a name with the article, or as capital as the word, that it stands in place of."""
    if article:
        own = "an" if name[0].lower() in "aeiou" else "a"
        return f"{own.capitalize() if article == 'A' else own} {name}"
    return _capitalize(name) if instead_of[0].isupper() else name


def _capitalize(name: str) -> str:
    return name[:1].upper() + name[1:]


PLAIN = Words()
"""The usual words."""
