"""python.py MODULE PACKAGE: tells how to install a Python library that is not there.

PACKAGE is Debian's, for Debian's Python. With PYTHON=python3 in the environment the cards take another, with what
pip has installed there.
"""

import importlib.util
import sys

module, package = sys.argv[1:]
if importlib.util.find_spec(module) is None:
    debian = f"apt-get install {package}"
    sys.exit(f"{sys.executable} has no module {module}: {debian}, or PYTHON=python3 and pip install {module}")
