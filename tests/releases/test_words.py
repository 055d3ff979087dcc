"""What groups are called: the same words in everything that is said about a release."""

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import InputError
from tallytree.words import PLAIN, Words, read_words
from tests.commands import Run

REGIONS = tt.Hierarchy.from_paths(["nation", "age group"], [("US", "a group"), ("US", "b")])
FIRMS = tt.Words(group="firm", member="employee", title="Firms of Wonderland")
GROUP = re.compile(r"\bgroups?\b", re.IGNORECASE)


def make(words: Words, **options: object) -> tt.Release:
    counts = tt.GroupCounts(REGIONS, tt.SizeClasses([1, 5, 10]), np.array([[40, 30, 20], [60, 20, 10]]))
    return tt.release(counts, epsilon=1, words=words, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("firm", "Groups of a group; one group, or groups.", "Firms of a firm; one firm, or firms."),
        ("agency", "A group, a group", "An agency, an agency"),
        ("person/people", "groups and a group", "people and a person"),
        ("box", "groups", "boxes"),
        ("day", "groups", "days"),
        ("firm", "a level 'age group' of groups, by group-by", "a level 'age group' of firms, by group-by"),
        ("group", "Groups", "Groups"),
    ],
)
def test_texts_are_said_in_other_words(name: str, text: str, said: str) -> None:
    assert Words(group=name).say(text) == said


@given(st.text(max_size=80))
def test_the_usual_words_change_nothing(text: str) -> None:
    assert PLAIN.say(text) == text


@given(st.text(alphabet=st.characters(categories=["L", "N", "P"]), min_size=1, max_size=60))
def test_words_come_back_from_a_file(text: str) -> None:
    try:
        words = Words(group=text, member=text, title=text)
    except InputError:
        assert "/" in text or len(text) > 60 or not text.isprintable()
        return
    facts = json.loads(json.dumps(words.state()))
    assert read_words(facts) == words
    assert text.partition("/")[0] in words.say("group")


@pytest.mark.parametrize("words", [{}, {"group": "firm"}, "firm", {"group": 1, "member": "", "title": ""}])
def test_damaged_words_are_refused(words: object) -> None:
    with pytest.raises(InputError):
        read_words({"words": words})


@pytest.mark.parametrize(
    "bad",
    [
        {"group": ""},
        {"group": " firm"},
        {"group": "fi\nrm"},
        {"group": "\x1b[31m"},
        {"group": "a/b/c"},
        {"group": "firm/"},
        {"group": "f" * 61},
        {"member": 3},
        {"title": "t" * 201},
        {"title": None},
    ],
)
def test_words_that_are_none_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"name of a|title"):
        Words(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("protect", ["person", "group"])
@pytest.mark.parametrize("total", ["public", "private"])
def test_a_release_is_told_in_its_words_everywhere(protect: str, total: str, tmp_path: Path) -> None:
    made = make(FIRMS, protect=protect, total=total)
    made.save(tmp_path / "out")
    again = tt.load(tmp_path / "out")
    assert again.words == FIRMS
    assert again.verify()
    privacy = again.manifest["privacy"]
    told = [privacy["statement"], privacy["neighbours"], *privacy["public"]]
    page = (tmp_path / "out" / "report.html").read_text()
    region = again.region("US")
    told += [read_text(page), again._repr_html_(), region._repr_html_(), region.plot().svg]
    for text in told:
        # But for the names of levels and regions, which are the users' own.
        rest = re.sub(r"age group|a group|role=.group|data-\w+=.groups|--group", "", unescape(text))
        assert not GROUP.search(rest), GROUP.search(rest)
    assert "Firms of Wonderland" in page
    assert "employees per firm" in region.plot().svg.lower()


def read_text(page: str) -> str:
    """What a page shows, without its scripts and styles; the notes are the counts' own."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"<h3>Notes</h3><ul>.*?</ul>", "", bare, flags=re.DOTALL)


def test_other_words_in_a_manifest_are_found(tmp_path: Path) -> None:
    make(FIRMS).save(tmp_path / "out", replicates=0)
    path = tmp_path / "out" / "manifest.json"
    path.write_text(path.read_text().replace('"group": "firm"', '"group": "shop"'))
    failed = {check.name for check in tt.load(tmp_path / "out").verify().checks if check.failed}
    assert {"manifest", "statement"} <= failed


def test_a_hostile_name_stays_a_name(tmp_path: Path) -> None:
    words = Words(group="<img src=x onerror=alert(1)>", title="</title><b>{{data}}")
    make(words).save(tmp_path / "out", replicates=0)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<img src=x" not in page
    assert "</title><b>" not in page


def test_words_from_the_command_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text("state,size,groups\nGA,1,10\nGA,2,20\nNY,1,30\n")
    flags = ["release", "counts.csv", "--region", "state", "--sizes", "1:2", "--epsilon", "1"]
    words = ["--group-name", "firm", "--member-name", "employee", "--title", "Firms"]
    done = run(*flags, *words, "--out", "out")
    assert done.code == 0
    assert " firms " in done.out
    assert tt.load(tmp_path / "out").words == Words(group="firm", member="employee", title="Firms")
    done = run(*flags, "--group-name", "a/b/c", "--out", "bad")
    assert done.code == 2
    assert "such as person/people" in done.err


def test_words_must_be_words() -> None:
    with pytest.raises(InputError, match=r"must be a tallytree\.Words"):
        make({"group": "firm"})  # type: ignore[arg-type]
