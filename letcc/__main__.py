"""The script `letcc`: ``python -m letcc``."""

from letcc.cli import main

if __name__ == "__main__":
    main()
