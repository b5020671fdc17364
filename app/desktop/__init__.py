"""The app as a program of the desktop: a window of its own and a place in the menu."""
