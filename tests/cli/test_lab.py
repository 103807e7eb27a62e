"""`acprop lab …` as a user or a script calls it."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from acprop.cli.app import app, run
from acprop.records import from_json, read


def acprop(*words):
    return CliRunner().invoke(app, ["lab", *words])


def lines(result):
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


REGION = (
    "region --problem dense --optimizer acprop-paper,adam --beta1 0.9 --periods 3,5,10 "
    "--beta2 0.5,0.9,0.99 --steps 10000 --convention paper --json"
)


def test_a_region_is_one_record_for_each_optimizer():
    acp, adam = lines(acprop(*REGION.split()))
    assert (acp["optimizer"], adam["optimizer"]) == ("acprop-paper", "adam")
    assert acp["steps"] == 10_000
    assert [(c["period"], c["beta2"]) for c in acp["cells"]] == [
        (P, b) for P in (3, 5, 10) for b in (0.5, 0.9, 0.99)
    ]
    assert {c["finite"] for c in acp["cells"]} == {"converged"}
    wrong = [c for c in adam["cells"] if c["asymptotic"] == "diverges"]
    assert [(c["period"], c["beta2"], c["finite"]) for c in wrong] == [
        (10, 0.5, "not converged")
    ]


def test_a_region_on_the_terminal_names_cells_that_converge_against_their_drift():
    words = "region --problem sparse --optimizer adashift --periods 20 --beta2 0.43"
    result = acprop(*words.split())
    assert "P = 20, β2 = 0.43 has converged against its drift" in result.output


def test_several_beta1_and_conventions_are_records_of_their_own():
    words = "region --beta1 0.5,0.9 --convention paper,guarded --periods 3 --json"
    found = lines(acprop(*words.split(), "--steps", "100"))
    assert [(r["beta1"], r["convention"]) for r in found] == [
        (0.5, "paper"),
        (0.5, "guarded"),
        (0.9, "paper"),
        (0.9, "guarded"),
    ]


def test_a_boundary_has_its_pocket():
    (found,) = lines(acprop("boundary", "--periods", "10", "--json"))
    (crossing,) = found["crossings"]
    assert crossing["lowest"] == "converges"
    assert crossing["beta2"] == pytest.approx([0.06488464, 0.77465687], abs=1e-7)


def test_limits_prints_derived_and_printed_values():
    words = "limits --problem dense --period 10 --beta1 0.9 --beta2 0.99 --json"
    (found,) = lines(acprop(*words.split()))
    assert found["derived"]["kP"]["s"] == pytest.approx(9.307673990407364)
    assert found["printed"]["kP"]["s"] == pytest.approx(9.307673990407364 / 0.81)
    assert found["derived"]["kP"]["m"] == pytest.approx(found["printed"]["kP"]["m"])


def test_a_trajectory_ends_where_it_should():
    words = "trajectory --optimizer acprop-paper,adam --beta1 0.5 --beta2 0.5 --json"
    (found,) = lines(acprop(*words.split()))
    ends = {line["label"]: line["y"][-1] for line in found["lines"]}
    assert ends["acprop-paper"] < -0.95
    assert ends["adam"] > 0.95


def test_the_printed_theorem_is_broken_by_its_counterexample():
    words = "bound --problem cosine --alpha0 0.01 --eta 0.5 --steps 100 --eps 1 --json"
    (found,) = lines(acprop(*words.split()))
    assert found["alpha0_is_allowed"]
    assert not found["printed_holds"]
    assert found["corrected_holds"]
    assert found["measured"]["average"] > 50 * found["printed"]


def test_the_momentum_theorem_promises_less_than_nothing():
    words = "bound --theorem momentum --problem waves --eta 0.6 --alpha0 0.5"
    result = acprop(*words.split())
    assert result.exit_code == 0, result.output
    assert "printed" in result.output
    assert "corrected" in result.output


PLOTS = [
    "region --periods 3,10 --beta2 0.5,0.9 --steps 1000",
    "boundary --periods 8,10",
    "trajectory --steps 50",
    "limits --beta2 0.5",
    "bound --steps 50",
]


@pytest.mark.parametrize("words", PLOTS)
def test_every_command_draws(words, tmp_path):
    file = tmp_path / "figure.png"
    result = acprop(*words.split(), "--plot", str(file))
    assert result.exit_code == 0, result.output
    assert file.read_bytes().startswith(b"\x89PNG")


def test_figures_leave_their_records_beside_them(tmp_path):
    words = ("figures", "periods-dense", "--out", str(tmp_path), "--format", "svg")
    result = acprop(*words)
    assert result.exit_code == 0, result.output
    assert "<svg" in (tmp_path / "periods-dense.svg").read_text("utf-8")
    about, *records = read(tmp_path / "records" / "periods-dense.jsonl")
    assert (about.record, about.name) == ("figure", "periods-dense")
    assert [r.title for r in records] == ["five periods", "one period"]


def test_verify_prints_evidence_and_its_place(tmp_path):
    file = tmp_path / "verdicts.jsonl"
    result = acprop("verify", "lemma-3.4", "sparse-ratio", "--out", str(file))
    assert result.exit_code == 0, result.output
    assert "holds     lemma-3.4 (the paper's, central, Lemma 3.4)" in result.output
    assert "2 of the paper's claims: 1 holds, 1 fails, 0 undecided" in result.output
    assert "  central: 1 holds, 0 fail, 0 undecided" in result.output
    assert "  proof step: 0 hold, 1 fails, 0 undecided" in result.output
    assert "wording" not in result.output
    assert [v.verdict for v in read(file)] == ["holds", "fails"]


def test_verify_prints_json_lines():
    (found,) = lines(acprop("verify", "lemma-3.4", "--json"))
    verdict = from_json(json.dumps(found))
    assert (verdict.claim, verdict.verdict) == ("lemma-3.4", "holds")


def test_a_failing_claim_of_ours_is_exit_code_1(monkeypatch):
    from acprop.lab.claims import CLAIMS
    from acprop.lab.claims.claim import Claim, Finding

    def check():
        return Finding("fails", "seen to fail", {})

    for owner, code in (("ours", 1), ("paper", 0)):
        claim = Claim("probe", owner, "central", "here", "it is so", check)
        monkeypatch.setitem(CLAIMS, "probe", claim)
        assert acprop("verify", "probe").exit_code == code


BAD = [
    ("region --periods 2", "period must be 3 or more on the dense problem, got 2"),
    ("region --problem sparse --periods 3", "period must be 4 or more on the sparse"),
    ("region --beta2 0.5,1", "beta2 must be between 0 and 1, got 1"),
    ("region --beta1 0", "beta1 must be between 0 and 1, got 0"),
    ("region --x0 3", "x0 must be in [-1, 1], got 3"),
    ("region --optimizer foo", "optimizer must be one of acprop, acprop-paper"),
    ("region --periods 3,x", "periods must be whole numbers with commas"),
    ("region --beta2 a", "beta2 must be numbers with commas"),
    ("region --beta2 nan", "beta2 must be numbers with commas"),
    ("region --periods 3,,4", "periods must be a list with commas between"),
    ("region --periods 3,3", "periods must not repeat a value"),
    ("region --steps 0", "steps must be 1 or more, got 0"),
    ("region --alpha0 0", "alpha0 must be finite and above 0, got 0.0"),
    ("region --convention mine", "convention must be one of guarded"),
    ("region --problem cosine", "problem must be one of dense, sparse, got 'cosine'"),
    ("region --delay 2 --optimizer adam", "delay must be left out for adam"),
    ("boundary --beta1 1", "beta1 must be between 0 and 1, got 1"),
    ("trajectory --beta2 2", "beta2 must be between 0 and 1, got 2"),
    ("limits --periods 1", "period must be 3 or more"),
    ("limits --problem foo", "problem must be one of dense, sparse, got 'foo'"),
    ("bound --theorem 5", "theorem must be one of 4.1, momentum, got '5'"),
    ("bound --problem foo", "problem must be one of"),
    ("bound --theorem momentum", "eta must be in (0.5, 1] for theorem momentum"),
    ("verify lemma-9", "claim must be one of"),
    ("figures foo", "figure must be one of"),
    ("figures --format gif", "format must be one of png, svg, pdf, got 'gif'"),
    ("trajectory --steps 5 --plot figure.gif", "path must end in"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(words, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["acprop", "lab", *words.split()])
    with pytest.raises(SystemExit) as end:
        run()
    said = capsys.readouterr()
    assert end.value.code == 2
    assert said.err.startswith("error: ")
    assert message in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_the_command_is_installed_and_does_not_load_torch():
    code = (
        "import sys; from acprop.cli.app import app; "
        "sys.exit('torch' in sys.modules or 'matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    said = subprocess.run(
        [sys.executable, "-m", "acprop", "--version"],
        capture_output=True,
        text=True,
    )
    assert said.stdout.startswith("acprop 0.")


def test_an_install_without_the_extra_says_what_to_do():
    code = (
        "import sys; sys.modules['typer'] = None; from acprop.cli import main; main()"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.returncode == 1
    assert "pip install 'acprop[lab]' (typer is missing)" in said.stderr
