"""Examine a distributed lock from the tests of the program that uses it.

    import lockchaos

    @lockchaos.exam(service="redis", validity="from_invocation", confirms=["release"])
    def orders(nodes, ttl, key):
        return my_program.lock(nodes[0], key, ttl)

pytest makes a test of each attack. See docs/frameworks.md of lockchaos.
"""

import difflib
import inspect

__all__ = ["Busy", "NotHeld", "exam"]

# The claims of a hello (docs/protocol.md, Declaration), by the protocol's own words.
CLAIMS = (
    "name", "validity", "token", "confirms", "can", "lost_grace_ms", "notices", "tolerates", "identity", "abandons_ms", "lease_ms",
    "fair", "permits", "permits_per_acquire", "multi_key", "no_expiry", "reentrant", "read_write",
)  # fmt: skip


class Busy(Exception):
    """Another client holds the key, and nothing of this acquire is left at the service."""


class NotHeld(Exception):
    """The service says that the key is no longer this client's."""


class Exam:
    """What is to be examined, and how."""

    def __init__(self, function, service, ttl, attacks, short, budget, inherent, busy, not_held, claims):
        self.function, self.service, self.ttl, self.budget = function, service, ttl, budget
        self.attacks, self.short, self.inherent = attacks, short, inherent
        self.busy, self.not_held, self.claims = several(busy), several(not_held), claims


def several(value):
    """Makes a tuple of one value or of several."""
    return tuple(value) if isinstance(value, (tuple, list, set)) else (value,)


def exam(*, service, ttl=None, attacks=None, short=False, budget=None, inherent=False, busy=(), not_held=(), **claims):
    """Has lockchaos examine the lock that the function returns. Each attack is a test.

    service   what the lock needs: "redis", "etcd", … (lockchaos list services), or "none"
    ttl       the lease, in seconds; lockchaos chooses one if it is left out
    attacks   the names of the attacks to make; all that make sense if it is left out
    short     make the most telling third of the attacks
    budget    make what fits into this time, such as "10m"
    inherent  fail also by what no lease prevents
    busy      what of acquire says that another client holds the key, and that nothing of the attempt is
              left: False, or an exception, or several. Anything else that is no success leaves it open
    not_held  the exceptions that say that the key is no longer this client's
    claims    what the lock promises, in the words of the protocol: validity="from_invocation",
              token="fencing", confirms=["release"], …
    """
    for claim in claims:
        if claim not in CLAIMS:
            near = difflib.get_close_matches(claim, CLAIMS, 1)
            raise TypeError(
                f"lockchaos.exam: there is no claim {claim!r}"
                + (f"; did you mean {near[0]}?" if near else f" (there are {', '.join(CLAIMS)})")
            )

    def decorate(function):
        if not inspect.isroutine(function):
            raise TypeError("lockchaos.exam decorates a function that returns a lock")
        function.__lockchaos__ = Exam(
            function, service, ttl, attacks and several(attacks), short, budget, inherent, busy, not_held, claims
        )
        return function

    return decorate
