"""How many of the places where Pallas raises have a rule, and what another JAX changed.

python -m tests.raise_sites                     # the JAX of this environment
python -m tests.raise_sites --against FOLDER    # and what is new since the package in FOLDER
python -m tests.raise_sites --list tpu          # the sites of one back end without a rule
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import jax

from pallas_magic.rules._unrecognised.kinds import kind_of
from tests.raise_sites.known import Known, all_known
from tests.raise_sites.sites import BACK_ENDS, Site, read_sites


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.raise_sites")
    parser.add_argument("--against", type=Path, help="the package folder `jax` of another release")
    parser.add_argument("--list", choices=sorted(BACK_ENDS), help="what has no rule, line by line")
    options = parser.parse_args()
    here, known = list(read_sites(Path(jax.__file__).parent)), all_known()
    if options.list:
        _list([site for site in here if site.back_end == options.list], known)
        return
    print(f"JAX {jax.__version__}")
    _table(here, known)
    if options.against is not None:
        before = set(read_sites(options.against))
        print(f"\nJAX in {options.against.name}, compared with")
        _table(before, known)
        _changes(before, set(here), known)


def _table(sites: Iterable[Site], known: tuple[Known, ...]) -> None:
    counts = Counter((site.back_end, _kind(site, known)) for site in sites)
    columns = ("a rule", "yours", "unsupported", "fault")
    print(f"{'back end':16}{'sites':>8}" + "".join(f"{name:>14}" for name in columns))
    for back_end in BACK_ENDS:
        row = [counts[back_end, column] for column in columns]
        print(f"{back_end:16}{sum(row):8}" + "".join(f"{number:14}" for number in row))


def _kind(site: Site, known: tuple[Known, ...]) -> str:
    if any(one.claims(site) for one in known):
        return "a rule"
    return kind_of(site.error, site.text)


def _list(sites: Iterable[Site], known: tuple[Known, ...]) -> None:
    for site in sorted(sites):
        if (kind := _kind(site, known)) != "a rule":
            print(f"{kind:12} {site.error} in {site.raised_in}: {_line(site)}")


def _changes(before: set[Site], after: set[Site], known: tuple[Known, ...]) -> None:
    gone, new = _texts(before) - _texts(after), _texts(after) - _texts(before)
    print(f"\n{len(new)} messages are new, {len(gone)} are gone")
    for one in known:
        for text in sorted(gone):
            site = Site("", "", "", "", text)
            if any(site.fits(pattern) for pattern in one.texts):
                print(f"  gone, and known to {one.module}: {_line(site)}")


def _texts(sites: Iterable[Site]) -> set[str]:
    return {site.text for site in sites}


def _line(site: Site) -> str:
    return site.text.replace("\n", " ")[:100]


main()
