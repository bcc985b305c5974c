"""`python -m raquo`: the command line."""

try:
    from raquo.distributor.cli import main
except ModuleNotFoundError as error:
    raise SystemExit(f'raquo: the command line needs {error.name}: pip install "raquo[distributor]"') from None

main()
