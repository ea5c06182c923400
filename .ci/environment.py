"""Create a virtual environment, also where Python came without the means to (as on Debian)."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path


def main() -> None:
    if sys.version_info < (3, 11):
        sys.exit(f"Tamis needs Python 3.11 or later; this is {sys.version.split()[0]}")
    target = Path(sys.argv[1])
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder]
            if subprocess.run([*pip, "virtualenv"]).returncode:
                sys.exit("This Python has neither ensurepip nor pip: apt-get install python3-venv")
            command = [sys.executable, "-m", "virtualenv", "--quiet", str(target)]
            subprocess.run(command, check=True, env={"PYTHONPATH": folder})
        return
    venv.create(target, with_pip=True, clear=target.exists())


main()
