"""`python -m model_export` is `model-export`."""

import sys

OURS = ("model_export", "edge_agent")


def main() -> int:
    """Run the command line; on a gateway, which has no trainer, name the missing package."""
    try:
        from model_export.cli.main import main as run  # noqa: PLC0415 - its packages may be missing

        return run()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in OURS or "--debug" in sys.argv:
            raise
        words = f"the package {missing} is not installed"
        print(f"model-export: {words}; pip install -c constraints.txt -e '.[export]'", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
