"""`python -m model_export` is `model-export`."""

import sys

from model_export.cli import main

if __name__ == "__main__":
    sys.exit(main())
