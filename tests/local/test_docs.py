"""What the README and the quickstart show is run here, as it stands, in a home of its own."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.local.conftest import Cli

ROOT = Path(__file__).parents[2]


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def _commands(page: str, language: str) -> list[str]:
    lines = [line for block in _blocks(page, language) for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.removeprefix("$ ").startswith("forklake ")]


def _run(home: Path, command: str) -> str:
    environment = {**os.environ, "FORKLAKE_HOME": str(home), "NO_COLOR": "1"}
    arguments = [sys.executable, "-m", "forklake.cli", *shlex.split(command)[1:]]
    done = subprocess.run(arguments, cwd=ROOT, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


@pytest.fixture
def run_home(fresh: Cli) -> Path:
    return fresh.home


def test_the_readmes_commands_show_what_it_says(run_home: Path) -> None:
    outputs = {command: _run(run_home, command) for command in _commands("README.md", "console")}
    shown = [out for command, out in outputs.items() if "SELECT count" in command]
    counts = [int(number) for out in shown for number in re.findall(r"│ +(\d+) │", out)]
    assert counts == [10, 1_000_000]
    assert "agent-1" in next(out for command, out in outputs.items() if command == "forklake tree")


def test_the_quickstart_runs_from_top_to_bottom(run_home: Path) -> None:
    commands = _commands("docs/quickstart.md", "sh")
    assert len(commands) >= 12
    stop = commands.index("forklake delete catalogfork experiment")
    for command in commands[:stop]:
        _run(run_home, command)
    for script in _blocks("docs/quickstart.md", "python"):
        done = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "FORKLAKE_HOME": str(run_home)}, text=True, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout.strip()) == (0, "[(0,)]"), done.stderr
    assert "yesterday" in _run(run_home, "forklake tree")
    for command in commands[stop:]:
        _run(run_home, command)
    _run(run_home, "forklake up")


def test_every_example_is_a_valid_resource(run_home: Path) -> None:
    _run(run_home, "forklake up")
    out = _run(run_home, "forklake apply -f examples/lakecatalog.yaml -f examples/fork.yaml -f examples/maintenance.yaml")
    assert out


def test_links_between_the_pages_lead_somewhere() -> None:
    broken = [
        (page.name, target)
        for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []
