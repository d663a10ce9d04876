"""What no Python linter reads: workflow, forms and scripts, by tools that are installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORMS = ROOT / ".github" / "ISSUE_TEMPLATE"
#: What a file is checked against: schemas that check-jsonschema brings along.
SCHEMAS = {
    "vendor.github-workflows": [ROOT / ".github" / "workflows" / "tests.yml"],
    "vendor.github-issue-forms": [FORMS / "bug.yml", FORMS / "idea.yml"],
    "vendor.github-issue-config": [FORMS / "config.yml"],
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
}
YAML = [*(path for paths in SCHEMAS.values() for path in paths), ROOT / ".pre-commit-config.yaml"]
#: Lines may be as long as a sentence.
RULES = "{extends: relaxed, rules: {line-length: disable}}"


def check(name: str, *words: str | Path) -> None:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"needs {name}")
    ended = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_slurm_script_passes_shellcheck(tmp_path: Path) -> None:
    blocks = re.findall(r"```(?:bash)?\n(.*?)```", (ROOT / "docs/scale.md").read_text(), re.DOTALL)
    (script,) = (block for block in blocks if "#SBATCH" in block)
    (tmp_path / "job.sh").write_text(script)
    check("shellcheck", tmp_path / "job.sh")


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_of_the_repository_follow_their_schemas(schema: str) -> None:
    check("check-jsonschema", "--builtin-schema", schema, *SCHEMAS[schema])


def test_yaml_is_clean() -> None:
    check("yamllint", "--strict", "-d", RULES, *YAML)
