"""The command line: `raquo`, or `python -m raquo`. What it stands on may be missing, which is said in one line."""

from raquo.mutators.errors import RaquoError


def main() -> None:
    """What the console script calls."""
    try:
        from raquo.distributor.cli import app
    except ModuleNotFoundError as error:
        raise SystemExit(f'raquo: the command line needs {error.name}: pip install "raquo[distributor]"') from None
    except RaquoError as error:  # a pika that was not tested
        raise SystemExit(f"raquo: {error}") from None
    app()


if __name__ == "__main__":
    main()
