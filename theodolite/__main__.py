"""`python -m theodolite`: the command, where its folder is not on the path."""

from theodolite.app.__main__ import main

if __name__ == "__main__":
    main()
