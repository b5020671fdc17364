"""The address of a fleet: what is taken, what is refused, and that no password is shown."""

import pytest

from tests.errors import refused
from theodolite.app.fleet.address import VARIABLE, Address, mask
from theodolite.engine.errors import UserError


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known from outside."""
    for name in (VARIABLE, "PGHOST", "PGHOSTADDR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://lab@localhost/fleet",
        "postgresql://lab@127.0.0.1:5433/fleet",
        "postgresql://lab@[::1]/fleet",
        "postgresql:///fleet?host=%2Ftmp%2Fsocket&user=lab",
        "postgresql:///fleet",
    ],
)
def test_this_machine_needs_no_tls(given: str) -> None:
    """A socket and loopback addresses."""
    assert Address.parse(given).url == given


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://lab@db.lab.org/fleet",
        "postgres://lab@10.0.0.7:5433/fleet",
        "postgresql://lab@localhost,db.lab.org/fleet",
        "postgresql://lab@localhost/fleet?hostaddr=10.0.0.7",
        "postgresql://lab@localhost/fleet?host=db.lab.org",
    ],
)
def test_other_machines_are_reached_by_tls(given: str) -> None:
    """Asked for where it was not said, and never left out."""
    assert "sslmode=require" in Address.parse(given).url
    mark = "&" if "?" in given else "?"
    assert "sslmode=verify-full" in Address.parse(f"{given}{mark}sslmode=verify-full").url
    for weak in ("disable", "allow", "prefer"):
        with refused("invalid", "sslmode=require"):
            Address.parse(f"{given}{mark}sslmode={weak}")


def test_a_host_in_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As libpq takes it."""
    monkeypatch.setenv("PGHOST", "db.lab.org")
    assert "sslmode=require" in Address.parse("postgresql:///fleet").url


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given goes before it."""
    monkeypatch.setenv(VARIABLE, "postgresql://one@localhost/fleet")
    assert str(Address.parse(None)) == "postgresql://one@localhost/fleet"
    assert str(Address.parse("postgresql://two@localhost/x")) == "postgresql://two@localhost/x"


@pytest.mark.parametrize(
    "given",
    [
        "",
        "mysql://lab@localhost/fleet",
        "postgresql://lab@localhost",
        "fleet",
        "postgresql:///fleet?service=other",
        "postgresql:///fleet?passfile=/etc/shadow",
        "postgresql://lab@localhost:port/fleet",
        "postgresql:///fleet?host",
    ],
)
def test_what_is_no_address(given: str) -> None:
    """Refused in words that say how to write one."""
    with pytest.raises(UserError, match=r"postgresql://user@host/database"):
        Address.parse(given)


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://lab:s3cr%40t@localhost/fleet",
        "postgresql://lab@localhost/fleet?password=s3cr%40t",
        "postgresql://lab@localhost/fleet?sslpassword=s3cr%40t&sslmode=require",
    ],
)
def test_a_password_is_never_shown(given: str) -> None:
    """Neither by what is printed, nor in what an error says."""
    address = Address.parse(given)
    assert address.has_password and "s3cr" in address.url
    assert "s3cr" not in f"{address} {address!r} {mask(given)}"
    assert "***" in str(address)
    assert not Address.parse("postgresql://lab@localhost/fleet").has_password
    host_forgotten = "postgresql://lab:s3cret/fleet"
    for wrong in (given.replace("postgresql:", "mysql:"), host_forgotten):
        with pytest.raises(UserError) as caught:
            Address.parse(wrong)
        assert "s3cr" not in str(caught.value)
