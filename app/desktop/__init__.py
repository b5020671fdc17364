"""The app as a desktop program: a window of its own and an entry in the menu."""
