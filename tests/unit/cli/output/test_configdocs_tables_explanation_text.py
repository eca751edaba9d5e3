"""An explanation on a terminal."""

import json

from shipyard_api.cli.output.configdocs_tables import explanation

PLACE = {"schema": "a/B/v1", "layer": "site", "collection": "design", "number": 2, "revision": 4, "line": 12}


def test_an_explanation_names_what_each_value_was_made_from() -> None:
    values = [
        {
            **PLACE,
            "name": "n1",
            "path": "/data/x",
            "secret": False,
            "value": 2,
            "steps": [
                {"kind": "parent", "path": "/m", "line": 5, "detail": "", "from": 1, "value": 1},
                {"kind": "action", "path": "/m", "line": 8, "detail": "merge .", "from": None, "value": 2},
                {"kind": "substitution", "path": "/m", "line": 9, "detail": "URL", "from": 2},
            ],
        },
        {**PLACE, "name": "g", "path": "/data", "secret": True, "steps": [{"kind": "action", "line": 3, "detail": ""}]},
    ]

    assert explanation(json.dumps({"values": values})) == (
        "[1] a/B/v1 n1 /data/x: 2\n"
        "    layer site, collection design, document 2, line 12, unchanged since revision 4\n"
        "  - line 5: parent from [2]: 1\n"
        "  - line 8: action merge .: 2\n"
        "  - line 9: substitution, pattern URL from [3]: gone, or too long to show\n"
        "\n"
        "[2] a/B/v1 g /data: secret\n"
        "    layer site, collection design, document 2, line 12, unchanged since revision 4\n"
        "  - line 3: action: secret"
    )
