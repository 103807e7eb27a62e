"""The files that GitHub and pre-commit read: nobody runs them here, so we read them."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

each_workflow = pytest.mark.parametrize("file", WORKFLOWS, ids=lambda f: f.name)


def read(file):
    return yaml.safe_load(file.read_text("utf-8"))


def jobs():
    return [job for file in WORKFLOWS for job in read(file)["jobs"].values()]


def steps():
    return [step for job in jobs() for step in job.get("steps", [])]


@each_workflow
def test_a_workflow_may_read_and_no_more_unless_a_job_says_so(file):
    workflow = read(file)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow.keys() == {"name", True, "permissions", "jobs"} | (
        workflow.keys() & {"concurrency"}  # True is how YAML 1.1 reads `on`
    )


def test_only_the_job_that_publishes_may_ask_for_an_identity():
    asked = {
        (file.name, name): job["permissions"]
        for file in WORKFLOWS
        for name, job in read(file)["jobs"].items()
        if "permissions" in job
    }
    assert asked == {("release.yml", "publish"): {"id-token": "write"}}


def test_every_job_has_a_machine_and_an_end_or_is_a_workflow_of_ours():
    for job in jobs():
        called = job.get("uses", "")
        assert {"runs-on", "timeout-minutes", "steps"} <= job.keys() or (
            ROOT / called
        ).is_file()


def test_every_action_is_a_commit():
    """Whoever owns an action can move its tags; a comment says which version it is."""
    text = "".join(file.read_text("utf-8") for file in WORKFLOWS)
    used = re.findall(r"^ *(?:- )?uses: (.*)$", text, re.MULTILINE)
    actions = [line for line in used if not line.startswith("./")]
    assert {"actions/checkout", "pypa/cibuildwheel"} <= {
        a.split("@")[0] for a in actions
    }
    for line in actions:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}  # v\d+(\.\d+){2}", line)
    assert len(set(actions)) == len({line.split("@")[0] for line in actions})


def test_what_builds_a_release_is_locked():
    """The wheel that is tried out is the exception: it takes what users would get."""
    wheels = read(ROOT / ".github/workflows/wheels.yml")["jobs"]
    (build,) = [s for s in wheels["wheel"]["steps"] if "cibuildwheel" in str(s)]
    locked = "pip install --require-hashes --no-deps --only-binary :all: -r"
    before = build["env"]["CIBW_BEFORE_BUILD"]
    assert before == f"{locked} {{project}}/requirements/build.txt"
    assert build["env"]["CIBW_BUILD_FRONTEND"] == "build; args: --no-isolation"
    lines = "\n".join(step.get("run", "") for step in steps())
    installs = re.findall(r".*pip install.*", lines)
    assert sorted(installs) == [
        "clean/bin/pip install dist/*.whl",
        f"{locked} requirements/build.txt",
    ]
    uploaded, tried = (
        next(i for i, s in enumerate(wheels["wheel"]["steps"]) if word in str(s))
        for word in ("upload-artifact", "clean/bin/pip")
    )
    assert uploaded < tried


def test_every_target_that_a_workflow_makes_is_in_the_makefile():
    lines = [step.get("run", "") for step in steps()]
    made = {t for line in lines for t in re.findall(r"^make ([a-z-]+)", line)}
    of_matrix = {
        target
        for job in jobs()
        for target in job.get("strategy", {}).get("matrix", {}).get("target", [])
    }
    assert {"check", "test", "test-oldest", "reproduce"} <= made
    assert made | of_matrix <= TARGETS


def test_ci_tests_the_oldest_python_that_is_supported_and_a_newer_one():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    test = read(ROOT / ".github/workflows/ci.yml")["jobs"]["test"]
    first, *newer = test["strategy"]["matrix"]["python"]
    assert project["requires-python"] == f">={first}"
    assert newer


def test_the_scripts_that_a_workflow_runs_exist():
    lines = " ".join(step.get("run", "") for step in steps())
    scripts = re.findall(r"scripts/\w+\.py", lines)
    assert scripts
    assert all((ROOT / name).is_file() for name in scripts)


@pytest.mark.parametrize("file", FORMS, ids=lambda f: f.name)
def test_an_issue_form_can_be_read(file):
    form = read(file)
    fields = form.get("body", [])
    assert form.keys() == {"blank_issues_enabled"} or {"name", "description"} < set(
        form
    )
    assert all(field["attributes"]["label"] for field in fields)


def test_the_hooks_call_the_tools_that_make_check_calls():
    (local,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    check = re.search(r"^check:.*?\n\n", (ROOT / "Makefile").read_text(), re.M | re.S)
    called = set(re.findall(r"\$\(BIN\)/([\w-]+)", check[0])) - {"python"}
    hooks = {hook["entry"].split()[0] for hook in local["hooks"]}
    assert hooks == {f".venv/bin/{tool}" for tool in called}
