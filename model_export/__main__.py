"""`python -m model_export` is `model-export`."""

import sys

OURS = ("model_export", "edge_agent")


def main() -> int:
    """Run the command line; on a gateway's install, which has no trainer, say what is missing."""
    try:
        from model_export.cli.main import main as run  # noqa: PLC0415 - its packages may be missing

        return run()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in OURS or "--debug" in sys.argv:
            raise
        words = f"expected the packages of the trainer, got no {missing}"
        print(f"model-export: {words}; pip install -c constraints.txt -e '.[export]'", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
