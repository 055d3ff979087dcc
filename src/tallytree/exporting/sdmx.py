"""SDMX: a folder with the counts as SDMX-CSV 2.0, and their structure as SDMX-ML 3.0.

Each region has a code that is valid in SDMX; the list of codes has its name and the region above it.

- SDMX-CSV 2.0: https://github.com/sdmx-twg/sdmx-csv/blob/v2.0.0/data-message/docs/sdmx-csv-field-guide.md
- SDMX-ML 3.0: https://github.com/sdmx-twg/sdmx-ml/tree/v3.0.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from tallytree.exporting.published_tables import (
    ABOUT,
    Kind,
    find_kind,
    find_places,
    get_cell_schema,
    tabulate_cell_parts,
)
from tallytree.exporting.release_facts import describe_in_short, make_slug, name_release
from tallytree.hierarchy import Hierarchy
from tallytree.path_trees import Names
from tallytree.releases.released import Released
from tallytree.sizes import Sizes, count_sizes, name_size

DATA, STRUCTURE = "data.csv", "structure.xml"
AGENCY, VERSION = "TALLYTREE", "1.0.0"
ACTION = "I"
"""Information: neither adds to what a database has, nor replaces it."""

SCHEMAS = "http://www.sdmx.org/resources/sdmxml/schemas/v3_0/"
MODEL = "urn:sdmx:org.sdmx.infomodel."
REGIONS, SIZES, CONCEPTS = "CL_REGION", "CL_SIZE", "CS_GROUPS"
DIMENSIONS = {
    "REGION": (REGIONS, "Region"),
    "SIZE": (SIZES, "Size of the group"),
}
TYPES: dict[Kind, str] = {"integer": "Long", "number": "Double", "boolean": "Boolean", "text": "String"}

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def write_sdmx(release: Released, folder: Path) -> int:
    """Write data and structure; return the number of observations."""
    codes = make_region_codes(release.hierarchy)
    with (folder / STRUCTURE).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_write_structure(release, codes))
    return _write_data(release, codes, folder / DATA)


def make_region_codes(hierarchy: Hierarchy) -> list[Names]:
    """Return the codes of each level's regions: the names below the root, as SDMX allows them.

    Numbers take their place, for all regions, where two would be the same, or one would be empty.

    >>> regions = Hierarchy.from_paths(["nation", "state"], [("US", "Georgia"), ("US", "New York")])
    >>> [codes.to_pylist() for codes in make_region_codes(regions)]
    [['US'], ['GEORGIA', 'NEW_YORK']]
    """
    codes: list[Names] = []
    for level in range(len(hierarchy.levels)):
        own: Any = _spell(hierarchy.names(level))
        if level > 1:
            above = codes[-1].take(hierarchy.parents(level))
            own = pc.binary_join_element_wise(above, own, pa.scalar("_", pa.large_string()))
        codes.append(own)
    every = pa.concat_arrays(codes)
    if pc.count_distinct(every).as_py() == len(every) and not _has_gaps(every):
        return codes
    counts = hierarchy.region_counts
    return [
        pa.array([f"L{level}_{place}" for place in range(1, count + 1)], pa.large_string())
        for level, count in enumerate(counts, 1)
    ]


def _spell(names: Names) -> Any:
    """Return names in capital letters without accents, digits and underscores."""
    parted = pc.call_function("utf8_normalize", [names], pc.Utf8NormalizeOptions("NFKD"))
    plain: Any = pc.replace_substring_regex(parted, r"\p{M}+", "")
    spelt: Any = pc.replace_substring_regex(pc.utf8_upper(plain), "[^A-Z0-9]+", "_")
    return pc.utf8_trim(spelt, characters="_")


def _has_gaps(codes: Names) -> bool:
    return bool(pc.any(pc.match_substring_regex(codes, "^$|^_|_$|__")).as_py())


def make_size_code(sizes: Sizes, place: int) -> str:
    """Return the code of a size or class: 3, 5-9, or GE50 for 50 and more."""
    name = name_size(sizes, place)
    return f"GE{name[:-1]}" if name.endswith("+") else name


def _write_data(release: Released, codes: list[Names], path: Path) -> int:
    hierarchy, sizes = release.hierarchy, release.sizes
    parents = [hierarchy.parents(level) for level in range(len(codes))]
    coded = Hierarchy.from_arrays(hierarchy.levels, codes, parents)
    size_codes = pa.array([make_size_code(sizes, place) for place in range(count_sizes(sizes))])
    measures = list_measures(release)
    text = [(name, pa.string()) for name in ("STRUCTURE", "STRUCTURE_ID", "ACTION", *DIMENSIONS)]
    schema = pa.schema([*text, *((field.name, field.type) for field in measures.values())])
    constants = ("dataflow", f"{AGENCY}:{name_artefact('DF', release)}({VERSION})", ACTION)
    rows = 0
    with pa_csv.CSVWriter(path, schema) as writer:
        for part in tabulate_cell_parts(release, coded):
            if part.num_rows == 0:
                continue
            level = part["level"][0].as_py()  # that of all its rows
            columns: list[Any] = [pa.repeat(constant, part.num_rows) for constant in constants]
            columns += [part[level].cast(pa.string()), size_codes.take(find_places(part, release))]
            columns += [part[name].cast(field.type) for name, field in measures.items()]
            writer.write_table(pa.table(columns, schema=schema))
            rows += part.num_rows
    return rows


def list_measures(release: Released) -> dict[str, pa.Field[Any]]:
    """Return what is observed, by the column of the release: the number of groups, and its interval."""
    schema = get_cell_schema(release)
    names = schema.names[schema.names.index("groups") :]
    found = {}
    for name in names:
        own = "VALUE" if name == "groups" else make_slug(name.removeprefix("groups_"), "_").upper()
        kind = schema.field(name).type
        found[name] = pa.field(f"OBS_{own}", kind if pa.types.is_primitive(kind) else pa.string())
    return found


def name_artefact(kind: str, release: Released) -> str:
    """Return the identifier of a part of the structure, such as its dataflow (DF), made of the title."""
    return f"{kind}_{make_slug(name_release(release), '_').upper()}"


def _write_structure(release: Released, codes: list[Names]) -> Iterator[str]:
    """Yield the parts of the structure file."""
    flow, title = name_artefact("DF", release), name_release(release)
    regions, sizes = name_artefact(REGIONS, release), name_artefact(SIZES, release)
    spaces = [
        f'xmlns:{short}="{SCHEMAS}{name}"' for short, name in (("mes", "message"), ("str", "structure"))
    ]
    spaces.append(f'xmlns:com="{SCHEMAS}common"')
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<mes:Structure {" ".join(spaces)}>\n'
    yield (
        f"<mes:Header><mes:ID>{flow}</mes:ID><mes:Test>false</mes:Test>"
        f'<mes:Prepared>{release.manifest["created"]}</mes:Prepared><mes:Sender id="{AGENCY}"/>'
        f"</mes:Header>\n<mes:Structures>\n<str:Dataflows>{_begin('Dataflow', flow)}{_name(title)}"
        f'<com:Description xml:lang="en">{_write(describe_in_short(release))}</com:Description>'
        f"<str:Structure>{_refer('datastructure.DataStructure', name_artefact('DSD', release))}"
        f"</str:Structure></str:Dataflow></str:Dataflows>\n<str:Codelists>\n"
    )
    yield f"{_begin('Codelist', regions)}{_name('Regions')}\n"
    yield from _write_regions(release.hierarchy, codes)
    yield f"</str:Codelist>\n{_begin('Codelist', sizes)}{_name(release.words.size_axis)}\n"
    for place in range(count_sizes(release.sizes)):
        yield _write_code(make_size_code(release.sizes, place), name_size(release.sizes, place))
    yield "</str:Codelist>\n</str:Codelists>\n"
    yield from _write_components(release)
    yield "</mes:Structures>\n</mes:Structure>\n"


def _write_regions(hierarchy: Hierarchy, codes: list[Names]) -> Iterator[str]:
    for level in range(len(codes)):
        names, own = map(_list_texts, (hierarchy.names(level), codes[level]))
        if level == 0:
            yield _write_code(own[0], names[0])
            continue
        above = _list_texts(codes[level - 1].take(hierarchy.parents(level)))
        for code, name, parent in zip(own, names, above, strict=True):
            yield _write_code(code, name, f"<str:Parent>{parent}</str:Parent>")


def _list_texts(names: Names) -> list[str]:
    return [str(name) for name in names.to_pylist()]


def _write_components(release: Released) -> Iterator[str]:
    """Yield the concepts and the data structure definition."""
    say, measures, scheme = release.words.say, list_measures(release), name_artefact(CONCEPTS, release)
    concepts = {name: (say(about), "String") for name, (_, about) in DIMENSIONS.items()}
    for column, field in measures.items():
        concepts[field.name] = (say(ABOUT.get(column, column)), TYPES[find_kind(field.type)])
    yield f"<str:ConceptSchemes>{_begin('ConceptScheme', scheme)}{_name('Concepts')}\n"
    for name, (about, kind) in concepts.items():
        core = f'<str:CoreRepresentation><str:TextFormat textType="{kind}"/></str:CoreRepresentation>'
        yield f'<str:Concept id="{name}">{_name(about)}{core}</str:Concept>\n'
    yield "</str:ConceptScheme></str:ConceptSchemes>\n"
    value, *others = (field.name for field in measures.values())
    yield (
        f"<str:DataStructures>{_begin('DataStructure', name_artefact('DSD', release))}"
        f"{_name(name_release(release))}<str:DataStructureComponents>\n"
        '<str:DimensionList id="DimensionDescriptor">\n'
    )
    for position, (name, (codelist, _)) in enumerate(DIMENSIONS.items(), 1):
        listed = _refer("codelist.Codelist", name_artefact(codelist, release))
        yield (
            f'<str:Dimension id="{name}" position="{position}">{_identify(scheme, name)}'
            f"<str:LocalRepresentation><str:Enumeration>{listed}</str:Enumeration></str:LocalRepresentation>"
            "</str:Dimension>\n"
        )
    yield "</str:DimensionList>\n"
    if others:
        yield '<str:AttributeList id="AttributeDescriptor">\n'
        for name in others:
            yield (
                f'<str:Attribute id="{name}" usage="optional">{_identify(scheme, name)}'
                "<str:AttributeRelationship><str:Observation/></str:AttributeRelationship><str:MeasureRelationship>"
                f"<str:Measure>{value}</str:Measure></str:MeasureRelationship></str:Attribute>\n"
            )
        yield "</str:AttributeList>\n"
    yield (
        f'<str:MeasureList id="MeasureDescriptor"><str:Measure id="{value}" usage="mandatory">'
        f"{_identify(scheme, value)}</str:Measure></str:MeasureList>\n"
        "</str:DataStructureComponents></str:DataStructure></str:DataStructures>\n"
    )


def _begin(kind: str, name: str) -> str:
    return f'<str:{kind} id="{name}" agencyID="{AGENCY}" version="{VERSION}">'


def _name(text: str) -> str:
    return f'<com:Name xml:lang="en">{_write(text)}</com:Name>'


def _write(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text), {"\r": "&#13;"})


def _write_code(code: str, name: str, parent: str = "") -> str:
    return f'<str:Code id="{code}">{_name(name)}{parent}</str:Code>\n'


def _refer(kind: str, name: str) -> str:
    return f"{MODEL}{kind}={AGENCY}:{name}({VERSION})"


def _identify(scheme: str, name: str) -> str:
    concept = f"{_refer('conceptscheme.Concept', scheme)}.{name}"
    return f"<str:ConceptIdentity>{concept}</str:ConceptIdentity>"
