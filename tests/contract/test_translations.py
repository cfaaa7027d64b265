"""The front end's translations: current, complete, and where JupyterLab looks for them."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import translations
from babel.messages.catalog import Catalog
from jupyterlab_server.translation_utils import get_installed_packages_locale

import nbtools
from nbtools.cards import phrases

PHRASES = {
    *(
        phrases.CHECKING,
        phrases.QUEUED,
        phrases.NEEDS_ANSWER,
        phrases.RUNNING,
        phrases.DONE,
        phrases.ANSWERED,
    ),
    *(phrases.DENIED, phrases.SKIPPED, phrases.CANCELLED, phrases.UNDONE, *phrases.FAILED.values()),
}


@pytest.fixture(scope="module")
def strings():
    return translations.extract()


def test_template_and_translations_are_current_and_complete():
    assert translations.stale() == []


def test_every_fixed_text_of_a_card_can_be_translated(strings):
    assert {one["id"] for one in strings} >= PHRASES


def test_a_missing_or_wrong_translation_is_found():
    good, bad = Catalog(locale="de_DE"), Catalog(locale="de_DE")
    for catalog, one, other in ((good, "%1 öffnen", "%2 Zeilen"), (bad, "öffnen", "%3 Zeilen")):
        catalog.add("Open %1", one)
        catalog.add(("%1 line", "%2 lines"), ("%1 Zeile", other))
    assert list(translations.problems(good)) == []
    bad.add("Stop", "")
    assert len(list(translations.problems(bad))) == 3


def test_jupyterlab_finds_the_translation():
    """Returns where the installed nbtools is of this version:
    an entry point is only known after an installation.
    """
    assert [one.load() for one in entry_points(group="jupyterlab.locale", name="nbtools_agent")] == [nbtools]
    found, message = get_installed_packages_locale("de_DE")
    assert found["nbtools_agent"]["Cancel"] == ["Abbrechen"]
    assert "nbtools" not in message
    built = Path(nbtools.__file__).parent / "locale" / "de_DE" / "LC_MESSAGES" / "nbtools_agent.json"
    assert json.loads(built.read_text(encoding="utf-8")) == found["nbtools_agent"]
