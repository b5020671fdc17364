"""Puts the folders of the checkout into one package: `app` is installed as `theodolite.app`."""

from setuptools import find_packages, setup

OURS = ("app", "engine", "store")

setup(
    packages=[
        "theodolite",
        "theodolite.docs",
        *(f"theodolite.{name}" for name in find_packages(include=[f"{one}*" for one in OURS])),
    ],
    package_dir={f"theodolite.{one}": one for one in (*OURS, "docs")},
)
