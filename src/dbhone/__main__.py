"""``python -m dbhone`` is the command ``hone``."""

from dbhone.cli.main import main

if __name__ == "__main__":
    main()
