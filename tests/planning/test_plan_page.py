"""The page for choosing epsilon, as a file: what it holds, and what it is refused for."""

from __future__ import annotations

import json
import re
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest

import tallytree as tt
from tallytree.errors import CountsError, FolderError, SpecError
from tallytree.planning.plan_page import draw_page, list_facts
from tallytree.planning.release_settings import list_flags, list_settings, write_spec
from tallytree.privacy.beliefs import parse_risk
from tallytree.privacy.zcdp import find_rho
from tests.commands import Run
from tests.planning.plan_page_support import (
    SOURCE,
    make_advice,
    make_known_landscape,
    make_landscape,
    make_stand_in,
)


def draw(**changes: Any) -> str:
    advice = make_advice()
    given = {"source": SOURCE, "settings": list_settings(advice.stand_in), **changes}
    return draw_page(advice, make_known_landscape(), **given)


def read_facts(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="facts">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_page_says_what_it_was_made_from() -> None:
    page = draw()
    assert page.count(SOURCE) >= 2
    assert "Made from public data alone" in page
    assert "were not opened, and no budget was spent" in page
    assert "48 at level" in page
    assert len(page) < 3_000_000
    assert not re.search(r'(src|href)="(?!#|data:)', page)
    assert draw(source="<b>&amp;").count("&lt;b&gt;&amp;amp;") >= 2


def test_its_data_are_those_of_the_plan() -> None:
    advice = make_advice()
    facts = read_facts(draw())
    assert facts["planned"]["mechanism"] == "cumulative-joint"
    assert facts["planned"]["split"] == list(advice.planned.budget.values())
    assert facts["epsilons"][facts["planned"]["epsilon"]]["text"] == "1"
    values = [each["value"] for each in facts["epsilons"]]
    assert values == sorted(set(values))
    assert (values[0], values[-1]) == (0.1, 10)
    assert facts["goal"] == {
        "text": "county<=10%", "metric": "l1", "level": 2, "limit": 0.1, "limited": "relative"
    }  # fmt: skip
    for level in facts["levels"]:
        for typical in level["typical"]:
            assert len(typical["bars"]) == len(typical["groups"])


def test_an_epsilon_of_any_kind_can_be_chosen() -> None:
    advice = tt.advise(make_stand_in(), epsilon="1/3", mechanism="direct-dp")
    landscape = make_known_landscape()
    facts = list_facts(advice, landscape, source=SOURCE, settings={"source": "x", "out": "y"})
    texts = [each["text"] for each in facts["epsilons"]]
    assert texts[facts["planned"]["epsilon"]] == "1/3"
    assert {"0.1", "0.25", "1.2", "10"} <= set(texts)


def test_whole_groups_are_given_away_as_the_noise_has_it() -> None:
    families = {(each["mechanism"], each["total"]): each["groups"] for each in read_facts(draw())["families"]}
    joint = {each["name"]: each["times"] for each in families["cumulative-joint", "private"]["person"]}
    assert joint["one person"] == 1
    assert joint["two people together"] == 2
    assert [joint[f"a whole group of size {size}"] for size in (1, 2, 5)] == [1, 2, 5]
    direct = {each["name"]: each["times"] for each in families["direct-dp", "private"]["person"]}
    assert direct["a whole group of size 5"] == 1  # noise for a person who moves a group protects its size
    # A group of a private list that changes its size is one less and one more.
    assert [each["times"] for each in families["direct-dp", "private"]["group"]] == [1, 2, 2]
    assert [each["times"] for each in families["direct-dp", "public"]["group"]] == [1, 2]


def test_the_flags_are_those_of_the_settings() -> None:
    settings = list_settings(make_stand_in(), data="people.csv", columns={"groups": "n", "size": "size"})
    assert settings["groups"] == "n"
    assert "size" not in settings
    words = list_flags({**settings, "classes": [1, 5]})
    assert words[0] == "people.csv"
    assert words[words.index("--classes") + 1] == "1,5"
    assert words[words.index("--sizes") + 1] == "1:6"
    assert [words[i + 1] for i, word in enumerate(words) if word == "--region"] == ["state", "county"]


def make_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate little: the page is about something else."""
    monkeypatch.setattr("tallytree.planning.landscapes.SETTINGS", 4)
    monkeypatch.setattr("tallytree.planning.landscapes.MOST_RUNS", 1)


def test_gaussian_noise_is_described_by_its_rho(monkeypatch: pytest.MonkeyPatch) -> None:
    make_few(monkeypatch)
    delta = Fraction(1, 10**9)
    advice = tt.advise(make_stand_in(), epsilon="1", mechanism="cumulative-joint", delta=delta)
    page = draw_page(advice, make_landscape(advice), source=SOURCE, settings=list_settings(advice.stand_in))
    facts = read_facts(page)
    assert facts["noise"]["isGaussian"]
    assert facts["delta"]["text"] == "1e-9"
    assert facts["delta"]["doubt"] == pytest.approx(20.723, abs=1e-3)
    for each in facts["epsilons"][::5]:
        assert each["loss"] == pytest.approx(float(find_rho(Fraction(each["text"]), delta)))
    families = {(each["mechanism"], each["total"]): each["groups"] for each in facts["families"]}
    joint = {each["name"]: each["times"] for each in families["cumulative-joint", "private"]["person"]}
    assert joint["two people together"] == 4  # of a rho
    assert [round(joint[f"a whole group of size {size}"], 3) for size in (1, 2, 5)] == [1, 2, 5]
    assert 'delta = "1e-9"' in facts["settings"]["public"]
    assert "--delta 1e-9" in facts["settings"]["command"]
    assert "bounded but for that probability" in page
    assert "bounded but for that probability" not in draw()


def test_a_risk_stands_in_place_of_an_epsilon(run: Run, tmp_path: Path) -> None:
    (tmp_path / "earlier.csv").write_text("state,size,groups\nGA,1,5\nNY,2,7\n")
    words = ["plan", "earlier.csv", "--region", "state", "--sizes", "1:3"]
    for more in ([], ["--epsilon", "1", "--risk", "50:75"]):
        code, _, err = run(*words, *more)
        assert code == 2
        assert "either --epsilon or --risk" in err
    code, out, _ = run(*words, "--risk", "50:75", "--delta", "1e-9", "--mechanism", "direct-dp", "--json")
    assert code == 0
    assert Fraction(json.loads(out)["epsilon"]) == parse_risk("50:75", Fraction(1, 10**9))


def test_a_plan_is_told_and_kept_in_the_words_of_the_release(run: Run, tmp_path: Path) -> None:
    (tmp_path / "earlier.csv").write_text("state,size,groups\nGA,1,5\nNY,2,7\n")
    words = ["plan", "earlier.csv", "--region", "state", "--sizes", "1:3", "--epsilon", "1"]
    words += ["--mechanism", "direct-dp", "--out", "release.toml", "--member-name", "employee"]
    code, out, _ = run(*words, "--group-name", "company/companies", "--title", "Companies by size")
    assert code == 0
    assert "to protect employees" in " ".join(out.split())
    assert "a public list of companies" in " ".join(out.split())
    kept = tomllib.loads((tmp_path / "release.toml").read_text())
    assert (kept["group_name"], kept["member_name"]) == ("company/companies", "employee")
    assert kept["title"] == "Companies by size"
    code, _, err = run(*words, "--group-name", "")
    assert code == 2
    assert "The name of a group is empty" in err


def test_the_page_speaks_the_words_of_the_release() -> None:
    words = tt.Words(group="firm", member="employee", title="Firms <b>of</b> {{data}}")
    settings = list_settings(make_stand_in(), words=words)
    assert settings["group_name"] == "firm"
    page = draw(settings=settings)
    assert "A whole firm</button>" in page
    assert "An employee</button>" in page
    assert "how many firms the counts" in page
    assert "A plan for <bdi>Firms &lt;b&gt;of&lt;/b&gt; {{data}}</bdi>" in page
    text = re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert not re.search(r"\b([Gg]roups?|[Pp]erson|[Pp]eople)\b", text)
    facts = read_facts(page)
    assert facts["words"]["People"] == "Employees"
    assert facts["words"]["size"] == "Employees per firm"
    names = {each["name"] for family in facts["families"] for each in family["groups"].get("person", [])}
    assert {"one employee", "two employees together", "a whole firm of size 5"} <= names
    assert 'group_name = "firm"' in facts["settings"]["head"]
    assert "--group-name firm --member-name employee" in facts["settings"]["command"]


def test_members_are_not_people_where_sizes_count_something_else() -> None:
    stand_in = make_stand_in()
    bounds = tt.Bounds(max_quantity=3)
    advice = tt.advise(stand_in, epsilon="1", mechanism="direct-dp", bounds=bounds)
    settings = list_settings(stand_in, words=tt.Words(group="taxi/taxis", member="pickup"))
    facts = list_facts(advice, make_known_landscape(), source=SOURCE, settings=settings)
    assert facts["words"]["People"] == "Pickups"
    assert facts["words"]["people"] == "people"
    assert "a certain person" in facts["words"]["wonder"]["person"]
    plain = list_facts(advice, make_known_landscape(), source=SOURCE, settings=list_settings(stand_in))
    assert plain["words"]["People"] == "Sum of sizes"


def test_the_command_writes_the_page_and_the_settings(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_few(monkeypatch)
    rows = ["state,size,groups"]
    rows += [
        f"{state},{size},{100 * place // size}" for place, state in enumerate("ABC", 1) for size in (1, 2, 3)
    ]
    (tmp_path / "earlier.csv").write_text("\n".join(rows))
    words = ["plan", "earlier.csv", "--region", "state", "--sizes", "1:3", "--data", "counts.csv"]
    code, out, _ = run(
        *words, "--risk", "50:75", "--goal", "state<=5%", "--out", "release.toml", "--page", "plan.html"
    )
    assert code == 0
    assert "epsilon 1.09861" in " ".join(out.split())
    assert "Planned on the table earlier.csv." in " ".join(out.split())
    spec = (tmp_path / "release.toml").read_text()
    assert tomllib.loads(spec)["epsilon"] == "1.09861"
    page = (tmp_path / "plan.html").read_text()
    assert "the table earlier.csv" in page
    facts = read_facts(page)
    assert spec.startswith("\n".join(facts["settings"]["head"]))
    assert Fraction(facts["epsilons"][facts["planned"]["epsilon"]]["text"]) == Fraction("1.09861")
    code, _, err = run(*words, "--epsilon", "1", "--mechanism", "direct-dp", "--page", "no/where.html")
    assert code == 2
    assert "cannot be written" in err


def test_the_planner_has_a_public_door(tmp_path: Path) -> None:
    stand_in = make_stand_in()
    advice = make_advice()
    assert isinstance(advice, tt.Advice)
    assert advice.is_met
    assert advice.stand_in.total == stand_in.total
    assert 'mechanism = "cumulative-joint"' in write_spec(advice, list_settings(stand_in))
    with pytest.raises(CountsError, match="must be a tallytree"):
        tt.advise(cast(Any, "counts.csv"), epsilon=1)
    with pytest.raises(SpecError, match="There is no level 'town'"):
        tt.advise(stand_in, epsilon=1, goal="town<=5%")
    with pytest.raises(FolderError, match="cannot be written"):
        advice.write_page(tmp_path / "no" / "plan.html", source=SOURCE)
